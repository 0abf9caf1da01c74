// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/report/report.h"

#include <algorithm>
#include <string_view>

namespace headroom {

namespace {

bool isWordCharacter(std::string_view text, std::size_t at)
{
    const auto c = at < text.size() ? static_cast<unsigned char>(text[at]) : static_cast<unsigned char>(' ');
    return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/// The text as CommonMark and GitHub's tables show it unchanged: what could be markup is escaped, line breaks become
/// spaces (a table's row is one line, a heading too). Underscores inside words are none, so that field names stay readable.
std::string escaped(std::string_view text)
{
    std::string out;
    out.reserve(text.size() + 8);
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '\n' || c == '\r' || c == '\t') {
            out += ' ';
            continue;
        }
        const bool insideWord = c == '_' && i > 0 && isWordCharacter(text, i - 1) && isWordCharacter(text, i + 1);
        if (!insideWord && std::string_view("\\`*_[<|~$&").find(c) != std::string_view::npos)
            out += '\\';
        out += c;
    }
    return out;
}

/// At the beginning of a paragraph "1." and "-", "+", "=", "#", ">" would begin a list, a heading or a quotation.
std::string escapedParagraph(std::string_view text)
{
    std::string out = escaped(text);
    const std::size_t digits = std::min(out.find_first_not_of("0123456789"), out.size());
    if (digits > 0 && digits < out.size() && (out[digits] == '.' || out[digits] == ')'))
        out.insert(digits, 1, '\\');
    else if (!out.empty() && std::string_view("-+=#>").find(out.front()) != std::string_view::npos)
        out.insert(0, 1, '\\');
    return out;
}

void writeRow(std::string &out, const std::vector<std::string> &cells)
{
    out += '|';
    for (const std::string &cell : cells)
        out += ' ' + escaped(cell) + " |";
    out += '\n';
}

void writeTable(std::string &out, const ReportTable &table)
{
    if (!table.title.empty())
        out += "### " + escaped(table.title) + "\n\n";
    writeRow(out, table.headings);
    out += '|';
    for (std::size_t i = 0; i < table.headings.size(); ++i)
        out += i < table.numeric.size() && table.numeric[i] ? " ---: |" : " --- |";
    out += '\n';
    for (const std::vector<std::string> &row : table.rows)
        writeRow(out, row);
    out += '\n';
}

/// A fence longer than any run of backticks inside.
void writeListing(std::string &out, std::string_view text)
{
    std::size_t longest = 0, run = 0;
    for (char c : text) {
        run = c == '`' ? run + 1 : 0;
        longest = std::max(longest, run);
    }
    const std::string fence(std::max<std::size_t>(3, longest + 1), '`');
    out += fence + '\n';
    out += text;
    if (!text.empty() && text.back() != '\n')
        out += '\n';
    out += fence + "\n\n";
}

std::string_view chartText(ReportChart chart)
{
    switch (chart) {
    case ReportChart::None: break;
    case ReportChart::MemoryBars: return "The PDF and the window draw the table below as stacked bars against each GPU's capacity.";
    case ReportChart::Timeline: return "The PDF and the window draw the step as a timeline; the table below has its highest points.";
    }
    return {};
}

} // namespace

std::string writeMarkdown(const Report &report)
{
    std::string out = "# " + escaped(report.title) + "\n\n";
    if (!report.subtitle.empty())
        out += "**" + escaped(report.subtitle) + "**\n\n";
    for (const ReportSection &section : report.sections) {
        out += "## " + escaped(section.heading) + "\n\n";
        for (const std::string &paragraph : section.paragraphs)
            out += escapedParagraph(paragraph) + "\n\n";
        if (const std::string_view text = chartText(section.chart); !text.empty())
            out.append(text).append("\n\n");
        for (const ReportTable &table : section.tables)
            writeTable(out, table);
        for (const std::string &listing : section.listings)
            writeListing(out, listing);
    }
    if (out.size() >= 2 && out.ends_with("\n\n"))
        out.pop_back();
    return out;
}

} // namespace headroom
