// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-probe/messages.h"

#include "core/units/text.h"

#include <fmt/format.h>

#include <cstdio>

namespace headroom::probe {

void complain(std::string_view text)
{
    const std::string line = fmt::format("headroom-probe: {}\n", excerpt(text, 4000));
    std::fwrite(line.data(), 1, line.size(), stderr);
}

void report(std::string_view text)
{
    const std::string line = excerpt(text, 1000) + '\n';
    std::fwrite(line.data(), 1, line.size(), stderr);
    std::fflush(stderr);
}

bool print(std::string_view text)
{
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
        return true;
    complain("cannot write to standard output");
    return false;
}

} // namespace headroom::probe
