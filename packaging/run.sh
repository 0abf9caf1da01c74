#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Builds Headroom and opens it on a plan:  packaging/run.sh [PLAN]
# Installs what is missing first. Without a display: prints the plan's estimate and writes its report as PDF.
set -euo pipefail
cd "$(dirname "$0")/.."
source packaging/setup.sh

example=presets/examples/qwen3-8b-lora-24gb.headroom.json
case "${1:-}" in
-h | --help)
    sed -n '5,6s/^# //p' "$0"
    exit 0
    ;;
-*) stop "unknown option $1 (packaging/run.sh [PLAN])" ;;
esac
plan=${1:-$example}
[ -f "$plan" ] || stop "there is no plan named $plan"

install_packages "$build_packages"
check_cmake
mkdir -p build
build release -- --target headroom headroom-cli

bin=build/release/bin
if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
    say "Opening $plan"
    exec "$bin/headroom" "$plan"
fi
say "No display: this is the estimate of $plan"
"$bin/headroom-cli" estimate "$plan"
report=build/$(basename "$plan" .headroom.json).pdf
"$bin/headroom" --export "$report" "$plan"
say "Its report: $report"
