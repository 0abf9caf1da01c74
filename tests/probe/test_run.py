# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run from the command line to its file, with a stand-in for PyTorch: figures, exit statuses, and what is left when it ends early."""

import json
import os
import pathlib
import signal
import stat
import subprocess
import sys
import time

import support
from headroom_probe import output
from headroom_probe.errors import EnvironmentFault

STAND_IN = pathlib.Path(__file__).with_name("stand_in_run.py")


class Runs(support.TestCase):
    def setUp(self):
        super().setUp()
        self.plan = self.write("plan.headroom.json", support.tiny_plan())
        self.result = self.folder / "r.headroom-probe.json"

    def start(self, *arguments, program=STAND_IN, **variables):
        # A group of its own, so that a test's Ctrl-C reaches nobody else.
        return subprocess.Popen(
            [sys.executable, str(program), *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **variables},
            start_new_session=True,
        )

    def run_probe(self, *arguments, **options):
        started = self.start(*arguments, **options)
        out, err = started.communicate(timeout=60)
        return started.returncode, out, err

    def run_plan(self, *more, **options):
        return self.run_probe("run", self.plan, "--output", self.result, *more, **options)

    def read(self, path=None):
        return json.loads((path or self.result).read_text())

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_a_result_has_each_step_and_phase(self):
        status, out, err = self.run_plan("--steps", "4")
        self.assertEqual((status, out), (0, "closed\n"), err)
        result = self.read()
        self.assertEqual(
            (result["headroom_probe"], result["how"], result["rank"], result["ranks"], result["error"]), (1, "gpu", 0, 1, None)
        )
        self.assertEqual(result["load"]["allocated"], 1500)
        self.assertEqual([step["allocated"] for step in result["steps"]], [1400, 1350, 1350, 1350])
        phases = {phase["name"]: phase["allocated"] for phase in result["steps"][2]["phases"]}
        # The second micro-batch's forward is the higher one; idle is what lives at that moment.
        self.assertEqual(phases, {"forward": 1101, "loss": 1350, "backward": 1250, "optimizer": 1010, "idle": 1000})
        self.assertEqual(result["steps"][0]["phases"][0]["reserved"], 2202)
        self.assertIsNone(result["steps"][0]["device"])
        self.assertGreater(result["steps"][0]["tokens_per_second"], 0)
        self.assertEqual(result["plan"]["batch"], {"micro_batch": 2, "sequence_length": 32, "gradient_accumulation": 1})
        self.assertEqual(self.files(), ["plan.headroom.json", "r.headroom-probe.json"])
        self.assertEqual(stat.S_IMODE(self.result.stat().st_mode), 0o666 & ~_umask())

    def test_progress_is_one_json_object_a_line(self):
        _, _, err = self.run_plan()
        lines = [json.loads(line) for line in err.splitlines()]
        self.assertTrue(all(set(line) == {"step", "phase", "text"} for line in lines))
        self.assertIn({"step": 2, "phase": "backward", "text": "step 3 of 3: backward"}, lines)

    def test_the_command_may_be_left_out(self):
        self.assertEqual(self.run_probe(self.plan, "--output", self.result)[0], 0)

    def test_out_of_memory_is_a_result(self):
        status, _, err = self.run_plan(HEADROOM_STAND_IN="oom")
        self.assertEqual(status, 0, err)
        result = self.read()
        self.assertEqual(
            {k: result["error"][k] for k in ("kind", "message", "step", "phase")},
            {"kind": "out-of-memory", "message": "CUDA out of memory. Tried to allocate 2.00 GiB.", "step": 1, "phase": "backward"},
        )
        self.assertEqual(
            result["error"]["alive"], {"weights": 1000, "gradients": 0, "optimizer": 0, "allocated": 1050}
        )
        self.assertEqual(len(result["steps"]), 2, "the first step and what was seen of the second")
        self.assertEqual([phase["name"] for phase in result["steps"][1]["phases"]], ["forward", "loss", "backward"])
        self.assertIsNone(result["steps"][1]["seconds"])

    def test_another_error_is_a_result_and_a_failure(self):
        status, _, err = self.run_plan(HEADROOM_STAND_IN="fail")
        self.assertEqual(status, 1)
        self.assertIn("ZeroDivisionError: a fault", err)
        error = self.read()["error"]
        self.assertEqual((error["kind"], error["message"]), ("failed", "ZeroDivisionError: a fault"))
        self.assertIn("in happen", error["place"])

    def interrupted(self, number, before=None, **variables):
        if before is not None:
            self.result.write_text(before)
        started = self.start("run", self.plan, "--output", self.result, HEADROOM_STAND_IN="wait", **variables)
        for line in started.stderr:
            if '"step": 1, "phase": "backward"' in line:
                break
        time.sleep(0.2)
        os.kill(started.pid, number)
        _, err = started.communicate(timeout=30)
        return started.returncode, err

    def test_ctrl_c_ends_with_130_and_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            status, err = self.interrupted(number)
            self.assertEqual(status, 130)
            self.assertNotIn("Traceback", err)
            self.assertEqual(self.files(), ["plan.headroom.json"])

    def test_ctrl_c_ends_a_rank_too(self):
        self.plan = self.write("plan.headroom.json", support.tiny_plan(parallel__engine="ddp", parallel__data=2))
        status, err = self.interrupted(signal.SIGINT, RANK="0", WORLD_SIZE="2", LOCAL_RANK="0")
        self.assertEqual(status, 130)
        self.assertIn("interrupted; nothing was written", err)

    def test_a_killed_run_leaves_the_old_result(self):
        status, _ = self.interrupted(signal.SIGKILL, before="old")
        self.assertEqual(status, -signal.SIGKILL)
        self.assertEqual(self.result.read_text(), "old")
        self.assertEqual(self.files(), ["plan.headroom.json", "r.headroom-probe.json"])

    def test_one_rank_speaks_and_each_names_itself(self):
        plan = self.write("two.headroom.json", support.tiny_plan(parallel__engine="ddp", parallel__data=2))
        for rank in ("0", "1"):
            _, _, err = self.run_probe(
                "run", plan, "--output", self.result, RANK=rank, WORLD_SIZE="2", LOCAL_RANK=rank, HEADROOM_STAND_IN="fail"
            )
            self.assertEqual("importing libraries" in err, rank == "0")
            self.assertIn(f"headroom_probe: rank {rank}: the run broke off", err)

    def test_a_plan_is_checked_against_the_gpus(self):
        plan = self.write("two.headroom.json", support.tiny_plan(parallel__engine="ddp", parallel__data=2))
        for gpus, status, says in ((2, 0, ""), (1, 3, "needs 2 GPUs, one a rank, and this machine shows 1"), (0, 3, "shows none")):
            ended, out, err = self.run_probe("check", plan, STAND_IN_GPUS=str(gpus))
            self.assertEqual((ended, out), (status, ""), err)
            self.assertIn(says, err)
        refused = self.write("pipeline.headroom.json", support.tiny_plan(parallel__engine="megatron", parallel__pipeline=2))
        self.assertEqual(self.run_probe("check", refused, STAND_IN_GPUS="2")[0], 2)

    def test_every_rank_has_its_file(self):
        plan = self.write("two.json", support.tiny_plan(parallel__engine="ddp", parallel__data=2))
        for rank in ("0", "1"):
            status, _, err = self.run_probe(
                "run", plan, "--output", self.result, "--snapshot", self.folder / "s.pickle", RANK=rank, WORLD_SIZE="2", LOCAL_RANK=rank
            )
            self.assertEqual(status, 0, err)
        self.assertEqual(self.read(self.folder / "r.rank1.headroom-probe.json")["rank"], 1)
        self.assertEqual((self.read()["rank"], self.read()["ranks"]), (0, 2))
        self.assertIn("s.rank1.pickle", self.files())
        self.assertEqual(
            self.run_probe("run", plan, "--output", self.result, RANK="1", WORLD_SIZE="2", HEADROOM_STAND_IN="oom")[0],
            1,
            "torchrun must end the rank that waits for this one",
        )
        status, _, err = self.run_probe("run", plan, "--output", self.result)
        self.assertEqual(status, 2)
        self.assertIn("torchrun --nproc-per-node 2", err)

    def test_what_cannot_be_written_is_said_before_the_run(self):
        folder = self.folder / "folder"
        folder.mkdir()
        for target in (folder, self.folder / "nowhere" / "r.json", "/dev/null", self.folder / ("x" * 300)):
            with self.subTest(target):
                status, out, err = self.run_probe("run", self.plan, "--output", target)
                self.assertEqual((status, out), (3, ""), err)
                self.assertIn(str(target), err)
                self.assertNotIn("Traceback", err)

    def test_bad_command_lines(self):
        for arguments in (
            (),
            ("run",),
            ("run", self.plan),
            ("run", self.plan, "--output", self.result, "--steps", "2"),
            ("run", self.plan, "--output", self.result, "--steps", "x"),
            ("run", self.plan, "--output", self.result, "--history"),
            ("run", self.plan, "--output", self.result, "--dry-run", "--snapshot", "s"),
            ("--nothing",),
            ("run", self.folder / "absent.json", "--output", self.result),
            ("snapshot", self.plan, "--output", self.result),
        ):
            with self.subTest(arguments):
                status, _, err = self.run_probe(*arguments)
                self.assertEqual(status, 2)
                self.assertTrue(err.startswith("headroom_probe: "), err)
                self.assertNotIn("Traceback", err)
        self.assertEqual(self.files(), ["plan.headroom.json"])

    def test_help_states_the_exit_statuses(self):
        status, out, _ = self.run_probe("run", "--help")
        self.assertEqual(status, 0)
        self.assertRegex(out, r"(?s)exit status:.*130  interrupted")


class SingleFile(Runs):
    """The archive that the build makes, as a user starts it: with this Python, which may have no PyTorch."""

    def setUp(self):
        super().setUp()
        self.archive = os.environ.get("HEADROOM_PROBE_ARCHIVE")
        if not self.archive:
            self.skipTest("HEADROOM_PROBE_ARCHIVE names no headroom_probe.pyz")

    def start(self, *arguments, program=None, **variables):
        # In a folder of its own, without what lies beside the package in the source tree.
        variables.pop("HEADROOM_STAND_IN", None)
        return super().start(*arguments, program=self.archive, **variables)

    # What is inherited runs with the stand-in; here the program itself is asked.
    test_a_result_has_each_step_and_phase = test_progress_is_one_json_object_a_line = test_the_command_may_be_left_out = None
    test_out_of_memory_is_a_result = test_another_error_is_a_result_and_a_failure = test_ctrl_c_ends_with_130_and_leaves_nothing = None
    test_a_killed_run_leaves_the_old_result = test_ctrl_c_ends_a_rank_too = test_every_rank_has_its_file = None
    test_one_rank_speaks_and_each_names_itself = test_a_plan_is_checked_against_the_gpus = None

    def test_missing_libraries_are_named_at_once(self):
        plan = self.write("q.json", support.tiny_plan(method__kind="qlora", kernels="liger"))
        # Without site-packages no Python has PyTorch.
        done = subprocess.run(
            [sys.executable, "-S", "-E", self.archive, "run", str(plan), "--output", str(self.result), "--dry-run"],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 3, done.stderr)
        for name in ("torch >= ", "transformers >= ", "peft >= ", "bitsandbytes >= ", "liger-kernel >= "):
            self.assertIn(name, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertFalse(self.result.exists())


class Files(support.TestCase):
    def test_names_of_ranks(self):
        for name, rank, wanted in (
            ("a.headroom-probe.json", 0, "a.headroom-probe.json"),
            ("a.headroom-probe.json", 3, "a.rank3.headroom-probe.json"),
            ("a.json", 1, "a.rank1.json"),
            ("a", 1, "a.rank1"),
            ("a.b.pickle", 2, "a.b.rank2.pickle"),
        ):
            self.assertEqual(output.path_of_rank(pathlib.Path("/x") / name, rank), pathlib.Path("/x") / wanted)

    def test_no_half_written_file(self):
        with self.assertRaises(ValueError):
            output.write_json(self.folder / "r.json", {"a": float("nan")})
        with self.assertRaises(EnvironmentFault):
            output.write_json(self.folder, {})
        self.assertEqual(list(self.folder.iterdir()), [])


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


if __name__ == "__main__":
    support.main()
