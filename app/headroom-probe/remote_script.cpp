// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-probe/remote_script.h"

#include "core/units/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace headroom::probe {

namespace {

constexpr std::string_view marker = "HEADROOM-FILE ";
constexpr std::size_t mostFiles = 2048; // two of each rank

bool hasControlCharacter(std::string_view text)
{
    return std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

} // namespace

std::string shellWord(std::string_view text)
{
    std::string word = "'";
    for (const char c : text)
        word += c == '\'' ? std::string(R"('"'"')") : std::string(1, c);
    return word + '\'';
}

std::optional<Issue> checkHost(std::string_view host)
{
    const auto wrong = [&](std::string what) {
        return Issue{{},
                     0,
                     fmt::format("--ssh {}", excerpt(host)),
                     std::move(what),
                     "write a host as for ssh: name, user@name, or an alias of ~/.ssh/config"};
    };
    if (host.empty())
        return wrong("the host's name is empty");
    if (host.front() == '-')
        return wrong("begins with \"-\", which ssh would take for an option");
    if (const std::size_t at = host.rfind('@'); at == 0 || at + 1 == host.size())
        return wrong(at == 0 ? "names no user before \"@\"" : "names no machine after \"@\"");
    if (hasControlCharacter(host) || host.find(' ') != std::string_view::npos)
        return wrong("holds characters that no host's name has");
    return std::nullopt;
}

std::optional<Issue> checkRemotePath(std::string_view option, std::string_view path)
{
    const auto wrong = [&](std::string what) {
        return Issue{{},
                     0,
                     fmt::format("{} {}", option, excerpt(path)),
                     std::move(what),
                     "choose another path on that machine, for example by a link"};
    };
    if (path.empty())
        return wrong("is empty");
    if (path.front() == '-')
        return wrong("begins with \"-\"");
    if (hasControlCharacter(path))
        return wrong("holds control characters");
    if (path.find('\\') != std::string_view::npos)
        return wrong("holds a backslash, which shells read in different ways");
    return std::nullopt;
}

std::string remoteCommand(const RemoteRun &run)
{
    std::string options, launcher, check;
    for (const std::string &option : run.options)
        options += ' ' + shellWord(option);
    for (const std::string &word : run.launcher)
        launcher += ' ' + shellWord(word);
    if (!run.launcher.empty())
        check = shellWord(run.python) + " headroom_probe.pyz check plan.headroom.json </dev/null >&2 || exit $?; ";
    // In a script's background, standard input is /dev/null and SIGINT is ignored: hence descriptor 3, and SIGTERM.
    const std::string script = fmt::format(
        R"sh(d=$(mktemp -d "${{TMPDIR:-/tmp}}/headroom-probe.XXXXXXXX") || exit 3; )sh"
        R"sh(trap 'rm -rf "$d"' EXIT; trap 'exit 130' INT TERM HUP; cd "$d" || exit 3; )sh"
        R"sh(dd bs=1 count={} of=headroom_probe.pyz 2>/dev/null; dd bs=1 count={} of=plan.headroom.json 2>/dev/null; )sh"
        R"sh([ "$(wc -c <plan.headroom.json)" -eq {} ] || exit 130; )sh"
        R"sh(command -v {} >/dev/null 2>&1 || {{ echo "there is no Python called "{}" on that machine" >&2; exit 3; }}; )sh"
        R"sh({}exec 3<&0; {}{} headroom_probe.pyz run plan.headroom.json --output result.headroom-probe.json{} </dev/null >&2 & p=$!; )sh"
        R"sh({{ cat <&3; kill -TERM $p; sleep 10 3<&-; kill -KILL $p; }} >/dev/null 2>&1 & c=$!; wait $p; s=$?; kill $c 2>/dev/null; )sh"
        R"sh(for f in result*.headroom-probe.json snapshot*.pickle; do [ -f "$f" ] || continue; )sh"
        R"sh(n=$(wc -c <"$f"); echo; echo {}"$f" $((n)); cat "$f"; done; exit $s)sh",
        run.probeBytes, run.planBytes, run.planBytes, shellWord(run.python), shellWord(run.python), check, shellWord(run.python), launcher,
        options, shellWord(marker));
    return "exec sh -c " + shellWord(script);
}

std::vector<RemoteFile> remoteFiles(std::string_view output)
{
    std::vector<RemoteFile> files;
    while (files.size() < mostFiles) {
        const std::size_t at = output.find(std::string("\n").append(marker));
        if (at == std::string_view::npos)
            break;
        output.remove_prefix(at + 1 + marker.size());
        const std::size_t end = output.find('\n');
        const std::size_t space = output.substr(0, end).rfind(' ');
        if (end == std::string_view::npos || space == std::string_view::npos)
            break;
        std::size_t bytes = 0;
        const auto [rest, error] = std::from_chars(output.data() + space + 1, output.data() + end, bytes);
        if (error != std::errc() || rest != output.data() + end || output.size() - end - 1 < bytes)
            break;
        files.push_back({std::string(output.substr(0, space)), std::string(output.substr(end + 1, bytes))});
        output.remove_prefix(end + 1 + bytes);
    }
    return files;
}

} // namespace headroom::probe
