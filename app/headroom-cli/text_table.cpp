// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-cli/text_table.h"

#include <algorithm>
#include <vector>

namespace headroom::cli {

namespace {

/// Characters of UTF-8 text: bytes that do not continue one.
std::size_t columns(std::string_view text)
{
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

} // namespace

std::string formatTable(const ReportTable &table)
{
    std::vector<std::size_t> widths;
    for (const std::string &heading : table.headings)
        widths.push_back(columns(heading));
    for (const std::vector<std::string> &row : table.rows)
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], columns(row[i]));

    std::string out;
    const auto writeRow = [&](const std::vector<std::string> &row) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string padding(widths[i] - columns(row[i]), ' ');
            line += "  ";
            line += table.numeric[i] ? padding + row[i] : row[i] + padding;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + '\n';
    };
    writeRow(table.headings);
    for (const std::vector<std::string> &row : table.rows)
        writeRow(row);
    return out;
}

std::string wrapped(std::string_view text, std::string_view indent, std::size_t width)
{
    std::string out;
    std::size_t column = 0;
    while (!text.empty()) {
        const std::size_t length = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, length);
        text.remove_prefix(std::min(length + 1, text.size()));
        if (word.empty())
            continue;
        if (column > 0 && column + 1 + columns(word) > width) {
            out.append(1, '\n').append(indent);
            column = columns(indent);
        } else if (column > 0) {
            out += ' ';
            ++column;
        }
        out += word;
        column += columns(word);
    }
    return out;
}

} // namespace headroom::cli
