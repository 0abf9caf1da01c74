#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Builds Headroom with warnings as errors and runs all tests; core and command line also under the address and
# undefined-behaviour sanitizers:  packaging/test.sh [--thorough]
# Installs what is missing first. --thorough adds clang++, clang-tidy and long fuzzing. The probe's tests get a Python with
# PyTorch in build/python; where none can be had, those that need it are skipped, unless HEADROOM_REQUIRE_PYTORCH is set.
set -euo pipefail
cd "$(dirname "$0")/.."
source packaging/setup.sh

thorough=false
for argument in "$@"; do
    case "$argument" in
    --thorough) thorough=true ;;
    -h | --help)
        sed -n '5,9s/^# //p' "$0"
        exit 0
        ;;
    *) stop "unknown option $argument (packaging/test.sh [--thorough])" ;;
    esac
done

install_packages "$build_packages $test_packages"
$thorough && install_packages "$thorough_packages"
check_cmake
mkdir -p build
jobs=$(nproc)

if $thorough; then
    export HEADROOM_FUZZ_SECONDS=${HEADROOM_FUZZ_SECONDS:-300}
fi
probe_python
build release -DHEADROOM_WERROR=ON "-DHEADROOM_PROBE_PYTHON=$HEADROOM_PROBE_PYTHON"
build asan "-DHEADROOM_PROBE_PYTHON=$HEADROOM_PROBE_PYTHON"
if $thorough; then
    build tidy "-DHEADROOM_PROBE_PYTHON=$HEADROOM_PROBE_PYTHON" # clang++, with clang-tidy beside it
    say "Testing the build of clang++"
    ctest --preset tidy -j "$jobs"
fi
say "Testing core and command line under the sanitizers"
ctest --preset asan -j "$jobs"
# Last, so that the summary of all tests is what this script ends with.
say "Testing everything"
ctest --preset release -j "$jobs"
