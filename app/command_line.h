// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Options that the programs without a window have in common.
#pragma once

#include "core/units/bytes.h"
#include "core/units/text.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// For options that take a file, a program or a machine. `what` is how a message calls it ("the name"), `hint` how it is mended.
inline CLI::Validator isNamed(const char *what, const char *hint = "name a file")
{
    const auto check = [what, hint](const std::string &text) { return text.empty() ? fmt::format("{} is empty ({})", what, hint) : ""; };
    return CLI::Validator(check, "");
}

/// What CLI11 found wrong with the command line, with how to mend it.
inline std::string commandLineError(const CLI::ParseError &error, const CLI::App &app)
{
    const auto chosen = app.get_subcommands();
    std::string what = error.what();
    if (const std::vector<std::string> rest = app.remaining(); chosen.empty() && !rest.empty()) {
        std::vector<std::string> names;
        for (const CLI::App *command : app.get_subcommands(nullptr))
            if (!command->get_group().empty())
                names.push_back(command->get_name());
        const std::vector<std::string_view> known(names.begin(), names.end());
        const std::optional<std::string_view> meant = nearest(rest.front(), known);
        what = rest.front().starts_with('-') ? fmt::format("there is no option \"{}\" before a command", excerpt(rest.front()))
                                             : fmt::format("there is no command \"{}\" ({})", excerpt(rest.front()),
                                                           meant ? fmt::format("did you mean {}?", *meant) : "there are " + orList(known));
    } else if (chosen.empty()) {
        what = "a command is missing";
    }
    if (!what.ends_with(')'))
        what +=
            fmt::format(" ({} {}--help says what is understood)", app.get_name(), chosen.empty() ? "" : chosen.front()->get_name() + " ");
    return "command line: " + what;
}

} // namespace headroom
