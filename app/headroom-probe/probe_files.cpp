// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-probe/probe_files.h"

#include "app/headroom-probe/messages.h"
#include "app/output_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include <unistd.h>

namespace headroom::probe {
namespace {

/// Also where TMPDIR names no folder.
std::filesystem::path folderForTemporaries()
{
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
    return error ? std::filesystem::path("/tmp") : folder;
}

} // namespace

Result<TemporaryFolder> TemporaryFolder::make()
{
    std::string name = (folderForTemporaries() / "headroom-probe.XXXXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
        return Issue{name, 0, {}, fmt::format("cannot be made: {}", std::strerror(errno)), "set TMPDIR to a folder that can be written"};
    return TemporaryFolder(name);
}

TemporaryFolder::~TemporaryFolder()
{
    std::error_code ignored;
    if (!m_path.empty())
        std::filesystem::remove_all(m_path, ignored);
}

void keepElsewhere(std::string_view text)
{
    std::string kept = (folderForTemporaries() / "result-XXXXXX.headroom-probe.json").string();
    const int opened = mkstemps(kept.data(), static_cast<int>(std::string_view(".headroom-probe.json").size()));
    if (opened < 0)
        return;
    close(opened);
    if (!writeFile(kept, text))
        complain(fmt::format("the result is kept as {}", kept));
}

std::filesystem::path fileOfRank(const std::filesystem::path &file, int rank)
{
    if (rank == 0)
        return file;
    const std::string name = file.filename().string();
    std::string ending = ".headroom-probe.json";
    if (!name.ends_with(ending))
        ending = file.extension().string();
    return file.parent_path() / fmt::format("{}.rank{}{}", name.substr(0, name.size() - ending.size()), rank, ending);
}

} // namespace headroom::probe
