// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-probe/python_side.h"

#include "app/headroom-probe/messages.h"
#include "core/units/strict_json.h"
#include "core/units/text.h"

#include <fmt/format.h>

#include <cctype>
#include <cstring>
#include <system_error>
#include <utility>

namespace headroom::probe {

namespace {

constexpr std::size_t largestProbe = std::size_t{16} << 20;

std::string withNames(std::string_view line, const std::vector<FileName> &names)
{
    std::string text;
    while (!line.empty()) {
        const FileName *found = nullptr;
        for (const FileName &name : names)
            if (found == nullptr && line.starts_with(name.ours))
                found = &name;
        if (found == nullptr) {
            text += line.front();
            line.remove_prefix(1);
            continue;
        }
        text += found->theirs;
        line.remove_prefix(found->ours.size());
        if (!found->isPlan || !line.starts_with(':'))
            continue;
        std::size_t digits = 1;
        while (digits < line.size() && std::isdigit(static_cast<unsigned char>(line[digits])) != 0)
            ++digits;
        if (digits > 1)
            line.remove_prefix(digits);
    }
    return text;
}

/// Takes out what torchrun says of itself. A traceback is held back until its last line says whose it is.
class LauncherFilter
{
public:
    /// The lines that are to be shown now.
    std::vector<std::string> take(std::string_view line)
    {
        if (line.starts_with('{') || line.starts_with("headroom_probe: "))
            return {std::string(line)};
        const bool isOwn = line.find(" torch/distributed/elastic/") != std::string_view::npos ||
                           line.starts_with("Setting OMP_NUM_THREADS") || line.find_first_not_of('*') == std::string_view::npos;
        if (m_isOver || isOwn)
            return {};
        if (line.starts_with("Traceback ") || (!m_held.empty() && line.starts_with(' '))) {
            m_held.emplace_back(line);
            return {};
        }
        std::vector<std::string> shown = std::exchange(m_held, {});
        // Its report ends what it writes; the ranks have ended before.
        m_isOver = !shown.empty() && line.starts_with("torch.distributed.elastic.");
        if (m_isOver)
            return {};
        shown.emplace_back(line);
        return shown;
    }

private:
    std::vector<std::string> m_held;
    bool m_isOver = false;
};

void show(std::string_view line, const std::vector<FileName> &names)
{
    if (line.starts_with('{')) {
        const Result<JsonValue> json = parseJson(line);
        const JsonValue *text = json ? json->find("text") : nullptr;
        if (text != nullptr && text->string() != nullptr) {
            report(withNames(*text->string(), names));
            return;
        }
    }
    if (!line.empty())
        report(withNames(line, names));
}

} // namespace

Result<std::filesystem::path> findPythonSide(const std::string &given)
{
    std::filesystem::path file = given;
    std::error_code error;
    if (given.empty())
        file = std::filesystem::read_symlink("/proc/self/exe", error).parent_path().parent_path() / "share/headroom/headroom_probe.pyz";
    if (!std::filesystem::is_regular_file(file, error))
        return Issue{
            file.string(),
            0,
            {},
            std::filesystem::exists(file, error) ? "is no file" : "no such file",
            "the Python side of the probe comes with Headroom, in share/headroom: install Headroom again, or name the file with --probe"};
    return file;
}

Result<std::string> readPythonSide(const std::filesystem::path &file) { return readTextFile(file, largestProbe); }

std::function<void(std::string_view)> showLines(std::vector<FileName> names, bool isSeveral)
{
    if (!isSeveral)
        return [names = std::move(names)](std::string_view line) { show(line, names); };
    return [names = std::move(names), filter = LauncherFilter()](std::string_view line) mutable {
        for (const std::string &shown : filter.take(line))
            show(shown, names);
    };
}

int conclude(const ChildEnd &end, const std::string &program, bool hasWritten)
{
    if (end.interrupted) {
        complain("interrupted; nothing was written");
        return Interrupted;
    }
    const int without = hasWritten ? Failed : NotAvailable;
    if (end.signal != 0) {
        complain(fmt::format("{} was ended by signal {} ({}){}", program, end.signal, strsignal(end.signal),
                             end.signal == 9 ? ": does the machine's main memory suffice?" : ""));
        return without;
    }
    if (end.status == BadInput || end.status == NotAvailable || end.status == Interrupted)
        return end.status;
    if (!hasWritten)
        complain(fmt::format("{} ended with status {} and wrote no result (is it a Python 3.10 or newer? What it said stands above)",
                             program, end.status));
    else if (end.status > Failed)
        complain(fmt::format("{} ended with status {}", program, end.status));
    return hasWritten && end.status == Success ? Success : without;
}

} // namespace headroom::probe
