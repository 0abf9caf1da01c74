# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Sourced by run.sh and test.sh: installs what building needs and is missing, on Debian and its relatives.

say() { printf '== %s\n' "$*"; }

# The one clear line with which a script stops.
stop() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# Each word: what provides it, "?" and the test whether it is there already. A command is looked for on PATH (a newer CMake
# beside the system's is as good), everything else among the installed packages. "a|b": the first that this release has.
build_packages="g++?command cmake?command ninja-build?ninja ccache?command qt6-base-dev qt6-svg-dev qt6-svg-plugins|libqt6svg6
    qt6-tools-dev qt6-tools-dev-tools qt6-l10n-tools libqcustomplot-dev nlohmann-json3-dev libfmt-dev libcli11-dev
    fontconfig fonts-dejavu-core"
test_packages="poppler-utils?pdftotext"
thorough_packages="clang?clang++ clang-tidy?command"

is_installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# missing_packages LIST: prints the packages of the list that are missing.
missing_packages() {
    local item names check name
    for item in $1; do
        names=${item%%\?*}
        check=${item#"$names"}
        check=${check#\?}
        [ "$check" = command ] && check=$names
        if [ -n "$check" ]; then
            command -v "$check" >/dev/null 2>&1 || echo "$names"
            continue
        fi
        for name in ${names//|/ }; do
            is_installed "$name" && continue 2
        done
        echo "$names"
    done
}

# install_packages LIST: does nothing where all of them are there.
install_packages() {
    local missing chosen=() as_root=() names name
    command -v dpkg-query >/dev/null 2>&1 || {
        say "Not a Debian system: expecting a C++20 compiler, CMake 3.25, Ninja, Qt 6.4, QCustomPlot, nlohmann_json, fmt and CLI11"
        return 0
    }
    missing=$(missing_packages "$1")
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null 2>&1 || stop "missing packages, and neither root nor sudo to install them: $(echo $missing)"
        as_root=(sudo)
    fi
    say "Installing what is missing: $(echo $missing)"
    "${as_root[@]}" apt-get update -qq || stop "the package lists could not be read (apt-get update); is there a network?"
    for names in $missing; do
        for name in ${names//|/ }; do
            if apt-cache show "$name" >/dev/null 2>&1; then
                chosen+=("$name")
                continue 2
            fi
        done
        stop "this system has no package named ${names//|/ or }; Debian 12, Debian 13 and Ubuntu 24.04 have it (on Ubuntu in 'universe')"
    done
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${chosen[@]}" >/dev/null ||
        stop "these packages could not be installed: ${chosen[*]}"
}

check_cmake() {
    local version
    version=$(cmake --version | sed -n '1s/[^0-9]*//p')
    [ "$(printf '%s\n' 3.25 "$version" | sort -V | head -n 1)" = 3.25 ] || stop "CMake 3.25 or newer is needed; this one is $version"
}

# build PRESET [CMAKE ARGUMENT...] [-- BUILD ARGUMENT...]
build() {
    local preset=$1 configure=()
    shift
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        configure+=("$1")
        shift
    done
    [ $# -gt 0 ] && shift
    say "Building preset $preset in build/$preset"
    cmake --preset "$preset" "${configure[@]}" >"build/$preset.log" 2>&1 || {
        cat "build/$preset.log" >&2
        stop "preset $preset could not be configured; the reason stands above"
    }
    cmake --build --preset "$preset" "$@" || stop "preset $preset could not be built; the reason stands above"
}
