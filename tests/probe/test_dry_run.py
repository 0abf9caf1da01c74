# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The dry run against traces of PyTorch 2.13 (tests/probe/data/dry_run_cases.jsonl), and Headroom's engine against the dry run.

The traces hold full fine-tuning, LoRA, DoRA and QLoRA, nine optimizers, four precisions, both checkpointings, every loss and
kernel, accumulation and eight families. Every figure must be equal to the byte; the engine's within 0.1 %.
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import support
from headroom_probe import environment, progress
from headroom_probe.errors import BadInput
from headroom_probe.plan import read_plan
from headroom_probe.run import Options, run

CASES = [json.loads(line) for line in (pathlib.Path(__file__).parent / "data" / "dry_run_cases.jsonl").read_text().splitlines()]
TOLERANCE = 0.001
RUNNING = ("forward", "loss", "backward", "optimizer")


def figures_of_result(result: dict) -> dict:
    last, first = result["steps"][2], result["steps"][0]
    made = {f"parameters.{k}": v for k, v in result["parameters"].items()} | {f"steady.{k}": v for k, v in result["steady"].items()}
    made |= {
        "peak": last["allocated"],
        "first_step": first["allocated"],
        "saved_activations": result["saved_activations"],
        "phases.load": result["load"]["allocated"],
    }
    made |= {f"phases.{phase['name']}": phase["allocated"] for phase in last["phases"]}
    return made | {f"first_phases.{phase['name']}": phase["allocated"] for phase in first["phases"] if phase["name"] in RUNNING}


def figures_of_estimate(estimate: dict) -> dict:
    """Of a trace's "expect", or of the engine's answer, which has the same shape."""
    made = {f"{group}.{k}": v for group in ("parameters", "steady") for k, v in estimate[group].items()}
    made |= {
        "peak": estimate["peak"]["allocated"],
        "first_step": estimate["first_step"]["allocated"],
        "saved_activations": estimate["saved_activations"],
    }
    return made | {
        f"{group}.{phase['name']}": phase["allocated"] for group in ("phases", "first_phases") for phase in estimate.get(group, [])
    }


def quiet():
    return progress.Progress(open(os.devnull, "w", encoding="utf-8"))


class DryRun(support.TestCase):
    measured: dict = {}

    def run_plan(self, document: dict, *options) -> dict:
        target = self.folder / "r.headroom-probe.json"
        status = run(
            read_plan(self.write("plan.headroom.json", document), *options),
            Options(target, dry_run=True),
            environment.workload_for,
            quiet(),
        )
        result = json.loads(target.read_text())
        self.assertEqual((status, result["error"]), (0, None))
        return result

    def test_figures_are_those_of_the_traces(self):
        for case in CASES:
            with self.subTest(case["id"]):
                figures = figures_of_result(self.run_plan(case["plan"]))
                DryRun.measured[case["id"]] = figures
                self.assertEqual(figures, figures_of_estimate(case["expect"]))
        self.assertGreaterEqual(len(DryRun.measured), 20)

    def test_the_engine_agrees(self):
        """Compares with what the dry runs gave, which run before it."""
        cli = os.environ.get("HEADROOM_CLI")
        if not cli:
            self.skipTest("HEADROOM_CLI names no headroom-cli")
        self.assertTrue(DryRun.measured, "the dry runs come first")
        cases = [case for case in CASES if case["id"] in DryRun.measured] + [self.every_second_layer()]
        done = subprocess.run(
            [cli, "estimate", "--jsonl", "-", "--json"],
            input="".join(json.dumps(case["plan"]) + "\n" for case in cases),
            capture_output=True,
            text=True,
            check=True,
        )
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(answers), len(cases))
        for case, answer in zip(cases, answers):
            with self.subTest(case["id"]):
                self.assertNotIn("error", answer)
                figures = figures_of_estimate(answer)
                for name, value in DryRun.measured[case["id"]].items():
                    if name in figures:
                        self.assertLessEqual(abs(figures[name] - value), TOLERANCE * value, f"{name}: {figures[name]} for {value}")

    def every_second_layer(self) -> dict:
        """Of what no trace is kept, but both know."""
        plan = json.loads(json.dumps(next(case["plan"] for case in CASES if case["id"] == "llama-3.1-8b-2l-full-ac")))
        plan["model"]["config"]["num_hidden_layers"] = 5
        plan |= {"checkpointing": "selective", "selective": {"every": 2}}
        DryRun.measured["every second layer"] = figures_of_result(self.run_plan(plan))
        return {"id": "every second layer", "plan": plan}

    def test_a_result_says_what_a_dry_run_cannot_know(self):
        config = self.write("config.json", support.TINY_CONFIG)
        result = self.run_plan(
            {"headroom_plan": 1, "model": {"preset": "some/model"}, "batch": {"sequence_length": 16}, "runtime": {"torch": "2.4"}}, config
        )
        self.assertEqual((result["how"], result["gpu"], result["versions"]["driver"]), ("dry-run", None, None))
        self.assertEqual({result["steps"][0][name] for name in ("seconds", "tokens_per_second", "reserved", "device")}, {None})
        self.assertEqual((result["plan"]["model"], result["model_config"]), ({"preset": "some/model"}, support.TINY_CONFIG))
        self.assertEqual(len(result["notes"]), 1, "the plan's PyTorch is another")

    def refused(self, document: dict, where: str, what: str) -> None:
        with self.assertRaises(BadInput) as caught:
            self.run_plan(document)
        self.assertTrue(caught.exception.where.startswith(where), caught.exception)
        self.assertIn(what, str(caught.exception))
        self.assertEqual([path.name for path in self.folder.iterdir()], ["plan.headroom.json"])

    def test_configs_that_transformers_does_not_take(self):
        for change, what in (
            ({"model_type": "nothing"}, "knows no"),
            ({"model_type": "t5"}, "no causal language model"),
            ({"hidden_size": "x"}, ""),
            ({"num_attention_heads": 0}, ""),
            ({"hidden_size": 10**15, "vocab_size": 10**15}, ""),
        ):
            with self.subTest(change):
                self.refused(support.tiny_plan() | {"model": {"config": support.TINY_CONFIG | change}}, "model.config", what)

    def test_modules_that_are_not_there(self):
        self.refused(support.tiny_plan(method__kind="lora", method__targets=["no_such_projection"]), "method", "PEFT refuses it")

    def test_the_single_file_runs_alone(self):
        """As on another machine: started elsewhere, with nothing of the source tree beside it; its GPUs are packed in it."""
        plan = support.tiny_plan(kernels="liger") | {"gpus": ["nvidia-h100-sxm5-80gb"]}
        program = os.environ.get("HEADROOM_PROBE_ARCHIVE") or str(support.PROBE)
        done = subprocess.run(
            [sys.executable, program, "run", str(self.write("plan.json", plan)), "--output", "r.json", "--dry-run"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("132 multiprocessors", json.loads((self.folder / "r.json").read_text())["notes"][0])


class InOrder(unittest.TestLoader):
    def getTestCaseNames(self, case):
        # What the engine is compared with is measured first.
        return sorted(super().getTestCaseNames(case), key=lambda name: (name != "test_figures_are_those_of_the_traces", name))


if __name__ == "__main__":
    support.main("torch", "transformers", "peft", "bitsandbytes", "liger_kernel", loader=InOrder())
