// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-probe/probe_files.h"

#include "app/headroom-probe/messages.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace headroom::probe {

Result<TemporaryFolder> TemporaryFolder::make()
{
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    std::string name = ((error ? std::filesystem::path("/tmp") : parent) / "headroom-probe.XXXXXXXX").string();
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

std::optional<Issue> writeFile(const std::filesystem::path &file, std::string_view text)
{
    std::string partial = file.string() + ".XXXXXX";
    const int descriptor = mkstemp(partial.data());
    const auto failed = [&] {
        const Issue issue{file.string(),
                          0,
                          {},
                          fmt::format("cannot be written: {}", std::strerror(errno)),
                          "choose a folder that exists and can be written"};
        if (descriptor >= 0) {
            ::close(descriptor);
            ::unlink(partial.c_str());
        }
        return issue;
    };
    if (descriptor < 0)
        return failed();
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written > 0)
            text.remove_prefix(static_cast<std::size_t>(written));
        else if (errno != EINTR)
            return failed();
    }
    const mode_t mask = ::umask(0);
    ::umask(mask);
    if (::fchmod(descriptor, 0666 & ~mask) != 0 || ::rename(partial.c_str(), file.c_str()) != 0)
        return failed();
    ::close(descriptor);
    return std::nullopt;
}

std::optional<Issue> checkWritable(const std::filesystem::path &file)
{
    std::error_code ignored;
    if (const auto status = std::filesystem::status(file, ignored); std::filesystem::exists(status) && !is_regular_file(status))
        return Issue{file.string(), 0, {}, is_directory(status) ? "is a folder" : "is no regular file", "name a file"};
    std::string beside = file.string() + ".XXXXXX";
    const int opened = mkstemp(beside.data());
    if (opened < 0)
        return Issue{file.string(), 0, {}, fmt::format("cannot be written ({})", std::strerror(errno)), "name a file in a folder of yours"};
    close(opened);
    unlink(beside.c_str());
    return std::nullopt;
}

std::string throughLink(const std::string &file)
{
    std::error_code error;
    if (!std::filesystem::is_symlink(file, error))
        return file;
    const auto target = std::filesystem::weakly_canonical(file, error);
    return error ? file : target.string();
}

void keepElsewhere(std::string_view text)
{
    std::string kept = (std::filesystem::temp_directory_path() / "result-XXXXXX.headroom-probe.json").string();
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
