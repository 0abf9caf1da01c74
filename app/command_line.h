// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Options that the programs without a window have in common.
#pragma once

#include "core/units/bytes.h"
#include "core/units/text.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <string>

namespace headroom {

inline void addUnitOption(CLI::App &command, ByteUnit &unit, const char *description)
{
    const auto set = [&unit](const std::string &text) {
        const std::string given = CLI::detail::to_lower(text);
        if (given != "gib" && given != "gb")
            throw CLI::ValidationError("--unit", fmt::format("there is no unit \"{}\" (write GiB or GB)", excerpt(text)));
        unit = given == "gib" ? ByteUnit::Binary : ByteUnit::Decimal;
    };
    command.add_option_function<std::string>("--unit", set, description)->type_name("GiB|GB");
}

/// For options that take a file, a program or a machine. `what` is how a message calls it: "the name".
inline CLI::Validator isNamed(const char *what)
{
    const auto check = [what](const std::string &text) { return text.empty() ? fmt::format("{} is empty (name a file)", what) : ""; };
    return CLI::Validator(check, "");
}

} // namespace headroom
