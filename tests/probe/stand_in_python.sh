#!/bin/sh
# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Stands in for a Python that runs the probe: PROBE run PLAN --output FILE ... What it does is in STAND_IN_PYTHON.
echo "$@" >"${STAND_IN_ARGUMENTS:-/dev/null}"
[ "$2" = run ] || { echo "not asked to run" >&2; exit 2; }
plan=$3
while [ $# -gt 0 ] && [ "$1" != --output ]; do shift; done
output=$2
[ -z "$STAND_IN_PLAN" ] || cp "$plan" "$STAND_IN_PLAN"
echo '{"step": null, "phase": null, "text": "importing libraries"}' >&2
case $STAND_IN_PYTHON in
hang) trap 'exit 130' TERM INT; sleep 60 & wait ;;
deaf) trap '' TERM INT; sleep 60 ;;
garbage) head -c 300000 /dev/urandom >&2; echo >&2; echo '{"step": [[[[', >&2; cp "$STAND_IN_RESULT" "$output" ;;
killed) kill -KILL $$ ;;
nothing) exit 0 ;;
broken) echo '{"headroom_probe": 1' >"$output" ;;
missing) echo "headroom_probe: torch >= 2.4 (for everything) is missing" >&2; exit 3 ;;
failed) cp "$STAND_IN_RESULT" "$output"; exit 1 ;;
*) echo '{"step": 0, "phase": "forward", "text": "step 1 of 3: forward"}' >&2; cp "$STAND_IN_RESULT" "$output" ;;
esac
