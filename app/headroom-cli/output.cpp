// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-cli/output.h"

#include "core/units/text.h"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <unistd.h>

namespace headroom::cli {

Output::Output() { std::signal(SIGPIPE, SIG_IGN); }

bool Output::write(std::string_view text)
{
    while (m_error == 0 && !text.empty()) {
        const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
        if (written >= 0)
            text.remove_prefix(static_cast<std::size_t>(written));
        else if (errno != EINTR)
            m_error = errno;
    }
    return m_error == 0;
}

int Output::finish(int status) const
{
    if (m_error == 0)
        return status;
    if (m_error != EPIPE)
        complain(fmt::format("cannot write to standard output: {}", std::strerror(m_error)));
    return OutputFailed;
}

void complain(std::string_view text)
{
    const std::string line = fmt::format("headroom-cli: {}\n", excerpt(text, 4000));
    std::fwrite(line.data(), 1, line.size(), stderr);
}

std::string shortened(std::string_view text, std::size_t bytes)
{
    if (text.size() <= bytes)
        return std::string(text);
    while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80)
        --bytes;
    return fmt::format("{}...", text.substr(0, bytes));
}

} // namespace headroom::cli
