// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/output_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace headroom {

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

} // namespace headroom
