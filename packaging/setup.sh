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
# beside the system's is as good), "ensurepip" in python3 (any python3), everything else among the installed packages. "a|b": the first that this release has.
build_packages="g++?command cmake?command ninja-build?ninja ccache?command qt6-base-dev qt6-svg-dev qt6-svg-plugins|libqt6svg6
    qt6-tools-dev qt6-tools-dev-tools qt6-l10n-tools libqcustomplot-dev nlohmann-json3-dev libfmt-dev libcli11-dev
    fontconfig fonts-dejavu-core"
test_packages="poppler-utils?pdftotext python3?command python3-venv?ensurepip"
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
        if [ "$check" = ensurepip ]; then
            python3 -c 'import ensurepip, venv' 2>/dev/null || echo "$names"
            continue
        fi
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

# probe_python: makes build/python, a Python with what the probe's tests need (tests/probe/requirements.txt), and sets
# HEADROOM_PROBE_PYTHON to it; to plain python3 where that cannot be had, as without a network. The environment is kept and used
# again until the requirements change. A Python that is named already is left alone.
probe_python() {
    local folder=build/python requirements=tests/probe/requirements.txt mark wanted without_dependencies
    [ -z "${HEADROOM_PROBE_PYTHON:-}" ] || return 0
    HEADROOM_PROBE_PYTHON=$(command -v python3) || { HEADROOM_PROBE_PYTHON= && return 0; }
    wanted=$(python3 -c 'import sys; print(sys.version)' | cat - "$requirements" | cksum)
    mark=$folder/headroom-requirements
    if [ "$(cat "$mark" 2>/dev/null)" != "$wanted" ]; then
        say "Making $folder with PyTorch for the probe's tests (a large download the first time)"
        without_dependencies=$(sed -n 's/^# headroom: --no-deps //p' "$requirements")
        python3 -m venv --clear "$folder" >build/python.log 2>&1 &&
            "$folder/bin/python" -m pip install --retries 1 -r "$requirements" >>build/python.log 2>&1 &&
            "$folder/bin/python" -m pip install --retries 1 --no-deps $without_dependencies >>build/python.log 2>&1 &&
            "$folder/bin/python" -c 'import torch, transformers, peft, bitsandbytes' >>build/python.log 2>&1 || {
            tail -n 3 build/python.log >&2
            [ -z "${HEADROOM_REQUIRE_PYTORCH:-}" ] || stop "$folder could not be made, which HEADROOM_REQUIRE_PYTORCH demands; the reason stands in build/python.log"
            say "No PyTorch could be had (is there a network?): the tests that need it will be skipped"
            return 0
        }
        echo "$wanted" >"$mark"
    fi
    HEADROOM_PROBE_PYTHON=$PWD/$folder/bin/python
}
