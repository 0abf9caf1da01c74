#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a dozen plans with headroom-probe and writes predicted beside measured memory as a Markdown table.

    make_table.py --programs build/release/bin --python PYTHON [--ssh HOST] --output gpu-table.md
    make_table.py --programs build/release/bin --python PYTHON --dry-run --output dry-run-table.md

Full fine-tuning, LoRA and QLoRA, with and without checkpointing, of two model families. Plans and results are kept in the folder of
--keep; a plan whose result is there already is not run again, so that a broken-off table can be continued. Needs nothing but Python's
own library; PyTorch is needed by the Python that --python names. Exit status: 0 all plans ran, 1 some did not, 2 the command line is wrong.
"""
import argparse
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

LORA = {"method": {"kind": "lora"}, "precision": {"autocast": "bfloat16"}}
QLORA = {"method": {"kind": "qlora"}, "precision": {"autocast": "bfloat16"}}
FULL = {}
CHECKPOINTING = {"checkpointing": "full"}
#: name: (preset, what is not default)
PLANS = {
    "llama-1b-full": ("meta-llama/Llama-3.2-1B", FULL),
    "llama-1b-full-checkpointing": ("meta-llama/Llama-3.2-1B", {**FULL, **CHECKPOINTING}),
    "llama-1b-lora": ("meta-llama/Llama-3.2-1B", LORA),
    "llama-1b-lora-checkpointing": ("meta-llama/Llama-3.2-1B", {**LORA, **CHECKPOINTING}),
    "llama-1b-qlora": ("meta-llama/Llama-3.2-1B", QLORA),
    "llama-1b-qlora-checkpointing": ("meta-llama/Llama-3.2-1B", {**QLORA, **CHECKPOINTING}),
    "qwen-0.6b-full": ("Qwen/Qwen3-0.6B", FULL),
    "qwen-0.6b-full-checkpointing": ("Qwen/Qwen3-0.6B", {**FULL, **CHECKPOINTING}),
    "qwen-0.6b-lora": ("Qwen/Qwen3-0.6B", LORA),
    "qwen-0.6b-lora-checkpointing": ("Qwen/Qwen3-0.6B", {**LORA, **CHECKPOINTING}),
    "qwen-0.6b-qlora": ("Qwen/Qwen3-0.6B", QLORA),
    "qwen-0.6b-qlora-checkpointing": ("Qwen/Qwen3-0.6B", {**QLORA, **CHECKPOINTING}),
}
#: How far a prediction may be off (docs/validation/README.md).
TARGETS = {"allocated": 0.02, "reserved": 0.05, "device": 0.06}


def plan_of(name):
    preset, changes = PLANS[name]
    return {"headroom_plan": 1, "name": name, "model": {"preset": preset}, "batch": {"micro_batch": 1, "sequence_length": 1024}, **changes}


def arguments_of():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=pathlib.Path, required=True, metavar="FOLDER", help="where headroom-probe and headroom-cli are")
    parser.add_argument("--output", type=pathlib.Path, required=True, metavar="FILE", help="the table (.md)")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="of plans and results (default: a temporary one)")
    parser.add_argument("--dry-run", action="store_true", help="on fake tensors: allocated memory alone")
    parser.add_argument("--python", metavar="PATH", help="the Python that has PyTorch")
    parser.add_argument("--probe", metavar="FILE", help="the probe's Python side, if not the programs' own")
    parser.add_argument("--ssh", metavar="HOST", help="run the plans on this machine")
    parser.add_argument("--only", action="append", choices=PLANS, metavar="NAME", help="of these plans alone; may be repeated")
    return parser.parse_args()


def run(arguments, name, folder):
    """The rows of headroom-cli compare, or what went wrong."""
    plan, result = folder / f"{name}.headroom.json", folder / f"{name}.headroom-probe.json"
    plan.write_text(json.dumps(plan_of(name), indent=1) + "\n")
    if not result.exists():
        print(f"{name}: running", file=sys.stderr, flush=True)
        command = [arguments.programs / "headroom-probe", "run", plan, "--output", result]
        for option in ("python", "probe", "ssh"):
            if getattr(arguments, option):
                command += [f"--{option}", getattr(arguments, option)]
        if arguments.dry_run:
            command.append("--dry-run")
        ran = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
        if not result.exists():
            return None, (ran.stderr.strip().splitlines() or [f"status {ran.returncode}"])[-1]
    compared = subprocess.run([arguments.programs / "headroom-cli", "compare", plan, result, "--json"], capture_output=True, text=True)
    if compared.returncode != 0:
        return None, compared.stderr.strip()
    document = json.loads(compared.stdout)
    return {row["figure"]: row for row in document["rows"]}, document["results"][0]["ending"]


def gib(value):
    return f"{value / 2**30:.2f}"


def cells(rows, metric):
    """Predicted, measured and error of the higher of first and later steps."""
    found = [rows[figure] for figure in (f"peak.{metric}", f"first_step.{metric}") if figure in rows]
    if not found:
        return ["", "", ""], None
    row = max(found, key=lambda each: each["measured"])
    return [gib(row["predicted"]), gib(row["measured"]), f"{row['error']:+.2%}"], abs(row["error"])


def main():
    arguments = arguments_of()
    names = arguments.only or list(PLANS)
    metrics = ["allocated"] if arguments.dry_run else list(TARGETS)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        lines, worst, failed, about = [], dict.fromkeys(metrics, 0.0), [], ""
        for name in names:
            rows, problem = run(arguments, name, folder)
            if rows is None:
                failed.append(name)
                lines.append(f"| {name} | {problem.replace('|', '/')} |" + " |" * (3 * len(metrics) - 1))
                continue
            result = json.loads((folder / f"{name}.headroom-probe.json").read_text())
            versions = ", ".join(f"{library} {version}" for library, version in result["versions"].items() if version)
            about = (result["gpu"]["name"] if result["gpu"] else "fake tensors") + "; " + versions
            line = []
            for metric in metrics:
                shown, error = cells(rows, metric)
                line += shown
                worst[metric] = max(worst[metric], error or 0.0)
            lines.append("| " + " | ".join([name, *line]) + " |" + (f" {problem}" if problem else ""))
    command = "docs/validation/make_table.py " + " ".join(shlex.quote(argument) for argument in ("--dry-run",) if arguments.dry_run)
    head = [f"{metric}, {what}" for metric in metrics for what in ("predicted", "measured", "error")]
    text = ["<!--", "SPDX-FileCopyrightText: 2026 The Headroom developers", "SPDX-License-Identifier: GPL-3.0-or-later", "-->",
            "# Predicted and measured" + (": dry runs" if arguments.dry_run else ""), "",
            f"Made by `{command.strip()}` on {about or 'nothing that ran'}.",
            "Micro-batch 1, 1024 tokens; GiB of the higher of first and later steps; the error is predicted minus measured, of measured.", "",
            "| plan | " + " | ".join(head) + " |", "| --- |" + " ---: |" * len(head), *lines, "",
            "Furthest off: " + ", ".join(f"{metric} {worst[metric]:.2%} (target {TARGETS[metric]:.0%})" for metric in metrics) + "."]
    if failed:
        text += ["", "Not run: " + ", ".join(failed) + "."]
    arguments.output.write_text("\n".join(text) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
