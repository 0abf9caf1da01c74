#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes error_bands.json from published measurements and what Headroom says of them.

    presets/make_error_bands.py --cli build/release/bin/headroom-cli MEASURED.jsonl ... [--check]

A line of MEASURED.jsonl is one measured peak: {"regime", "plan", "expect": {"metric", "bytes", "when"}, "assumed": [...]}.
With --check nothing is written; the exit status is 1 where the file is not what this script would write.

error_bands.json: {"format": 1, "bands": [{
    "regime":    method and engine: "lora-single", "full-zero3",
    "allocated", "reserved", "device": null, or {
        "p90":   the error, relative to what was measured, that nine in ten of the cases stay within,
        "cases": how many there are,
        "of":    the regime that they are of, or the engine alone ("single") where fewer than LEAST_CASES are of this one }}]}

Left out are cases that Headroom refuses, and those whose source says that the lengths of the batches varied: a plan has one
length, and what varying lengths add to the cache is no error of its prediction (docs/known-gaps.md).
"""
import argparse
import json
import pathlib
import subprocess
import sys

LEAST_CASES = 3
METRICS = ("allocated", "reserved", "device")
BANDS = pathlib.Path(__file__).resolve().parent / "error_bands.json"


def lengths_vary(case):
    return any(text.startswith("batch.sequence_length: batches vary") for text in case["assumed"])


def predicted(estimate, expect):
    steady, first = estimate["peak"][expect["metric"]], estimate["first_step"][expect["metric"]]
    return {"steady": steady, "first_step": first}.get(expect.get("when"), max(steady, first))


def errors_by_regime(cli, cases):
    plans = "".join(json.dumps(case["plan"]) + "\n" for case in cases)
    run = subprocess.run([cli, "estimate", "--jsonl", "-"], input=plans, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    if len(answers) != len(cases):
        sys.exit(f"{cli} answered {len(answers)} of {len(cases)} plans")
    errors = {}
    for case, answer in zip(cases, answers):
        if "error" not in answer:
            expect = case["expect"]
            error = abs(predicted(answer, expect) - expect["bytes"]) / expect["bytes"]
            errors.setdefault((case["regime"], expect["metric"]), []).append(error)
    return errors


def band(errors, regime, metric):
    engine = regime.split("-", 1)[1]
    of, values = regime, errors.get((regime, metric), [])
    if len(values) < LEAST_CASES:
        of = engine
        values = [v for (other, m), found in errors.items() if other.split("-", 1)[1] == engine and m == metric for v in found]
    if len(values) < LEAST_CASES:
        return None
    p90 = sorted(values)[min(len(values) - 1, int(0.9 * len(values)))]
    return {"p90": round(p90, 4), "cases": len(values), "of": of}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cli", required=True)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("measured", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    cases = [json.loads(line) for path in args.measured for line in path.read_text(encoding="utf-8").splitlines()]
    errors = errors_by_regime(args.cli, [case for case in cases if not lengths_vary(case)])
    bands = []
    for regime in sorted({regime for regime, _ in errors}):
        figures = {metric: band(errors, regime, metric) for metric in METRICS}
        if any(figures.values()):
            bands.append({"regime": regime, **figures})
    lines = ",\n".join("  " + json.dumps(entry) for entry in bands)
    text = f'{{"format": 1, "bands": [\n{lines}\n]}}\n'
    if not args.check:
        BANDS.write_text(text, encoding="utf-8")
        return 0
    if BANDS.read_text(encoding="utf-8") == text:
        return 0
    print(f"{BANDS.name} is not what the engine gives now; run this script without --check. It would write:\n{text}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
