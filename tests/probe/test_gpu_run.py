# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs on a GPU, all but torch.cuda's own calls: real tensors on the host, whose storages the stand-in device counts."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import unittest

import support
from headroom_probe import environment, output, progress, scope
from headroom_probe.plan import read_plan
from headroom_probe.run import Options, run

if not support.missing("torch"):
    environment.apply_variables({"HF_HUB_OFFLINE": "1"})
    import torch
    from headroom_probe.gpu import cuda_device, engines, workload
    from headroom_probe.training import one_device
    from stand_in_device import StandInDevice


def run_on(device, plan, target: pathlib.Path, **options) -> dict:
    rank, ranks, local = scope.ranks_of_run(plan)
    made = Options(target, rank=rank, ranks=ranks, local_rank=local, **options)
    with open(os.devnull, "w", encoding="utf-8") as nowhere, device:
        status = run(plan, made, lambda plan, options: workload.GpuRun(plan, options, device), progress.Progress(nowhere))
    assert status == 0, target.read_text()
    return json.loads(output.path_of_rank(target, rank).read_text())


class OneDevice(support.TestCase):
    def run_plan(self, capacity=None, options=None, **changes):
        self.device = StandInDevice(capacity)
        plan = read_plan(self.write("plan.json", support.tiny_plan(**changes)))
        return run_on(self.device, plan, self.folder / "r.headroom-probe.json", **(options or {}))

    def phases(self, result, step=2):
        return {phase["name"]: phase["allocated"] for phase in result["steps"][step]["phases"]}

    def test_full_fine_tuning(self):
        result = self.run_plan()
        elements = 256 * 64 + 2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 160 + 2 * 64) + 64
        self.assertEqual(result["parameters"], {"total": elements, "trainable": elements})
        # Blocks of 512 bytes: norms of 64 elements take one each, inv_freq and its copy too.
        steady = result["steady"]
        self.assertEqual(steady["weights"], 2 * (elements - 5 * 64) + 5 * 512 + 2 * 512)
        self.assertEqual((steady["gradients"], steady["allocated"]), (0, steady["weights"] + steady["optimizer"] + 2 * 512))
        phases, first = self.phases(result), self.phases(result, 0)
        self.assertEqual(list(phases), ["forward", "loss", "backward", "optimizer", "idle"])
        self.assertEqual(phases["idle"], steady["allocated"])
        self.assertLess(first["forward"], phases["forward"], "no optimizer state yet")
        self.assertGreaterEqual(result["load"]["allocated"], steady["weights"])
        self.assertGreater(result["saved_activations"], 0)
        self.assertEqual(result["steps"][2]["allocated"], max(v for k, v in phases.items() if k != "idle"))
        self.assertTrue(all(step["seconds"] > 0 and step["tokens_per_second"] > 0 for step in result["steps"]))
        self.assertEqual([mark["phase"] for mark in result["marks"]], ["load"] + 3 * ["forward", "loss", "backward", "optimizer", "idle"])

    def test_each_phase_is_synchronised_and_begins_with_fresh_peaks(self):
        self.run_plan()
        calls = self.device.calls
        self.assertEqual(calls[:5], ["reset_peaks", "synchronize", "peaks", "reset_peaks", "synchronize"])
        self.assertEqual(calls.count("reset_peaks"), 1 + 3 * 4)
        self.assertEqual(calls[-1], "close")

    def test_checkpointing_saves_less_and_accumulation_keeps_gradients(self):
        plain, checkpointed = self.run_plan(), self.run_plan(checkpointing="full")
        self.assertLess(checkpointed["saved_activations"], plain["saved_activations"] / 3)
        self.assertLess(self.phases(checkpointed)["forward"], self.phases(plain)["forward"])
        half = self.run_plan(checkpointing="selective", selective={"every": 2})["saved_activations"]
        self.assertTrue(checkpointed["saved_activations"] < half < plain["saved_activations"], "one layer of two")
        twice = self.run_plan(batch__gradient_accumulation=2)
        self.assertEqual(self.phases(twice)["forward"] - self.phases(plain)["forward"], plain["steady"]["weights"] - 2 * 512)
        self.assertEqual(self.run_plan(loop__zero_grad="zeros")["steady"]["gradients"], plain["steady"]["weights"] - 2 * 512)

    def test_the_loop_s_fields(self):
        plain = self.phases(self.run_plan())
        held = self.phases(self.run_plan(loop__outputs_held=True))
        self.assertGreaterEqual(held["backward"] - plain["backward"], 2 * 32 * 256 * 2, "the logits")
        self.assertLess(self.phases(self.run_plan(optimizer__in_backward=True))["optimizer"], plain["optimizer"])
        self.assertEqual(self.run_plan(loss="chunked", loop__clip_grad_norm=True)["error"], None)

    def test_adapters_and_quantised_weights(self):
        lora = self.run_plan(method__kind="lora", method__rank=4, precision__autocast="bfloat16")
        self.assertEqual(lora["parameters"]["trainable"], 2 * 4 * (2 * 128 + 2 * 96 + 3 * 224))
        self.assertLess(lora["steady"]["optimizer"], 20 * lora["parameters"]["trainable"])
        whole = self.run_plan(method__kind="lora", method__rank=4, method__dora=True)
        for storage in ("nf4", "nf4-double", "int8"):
            with self.subTest(storage):
                quantised = self.run_plan(
                    method__kind="qlora", method__rank=4, method__quantization=storage, method__kbit_preparation=False
                )
                self.assertEqual(quantised["parameters"], lora["parameters"], "quantised weights count by their elements")
                self.assertLess(quantised["steady"]["weights"], whole["steady"]["weights"])

    def test_every_optimizer(self):
        for kind in ("adam", "sgd", "sgd-momentum", "adafactor", "muon", "adamw-8bit", "lion"):
            with self.subTest(kind):
                result = self.run_plan(optimizer__kind=kind, optimizer__implementation="foreach")
                self.assertEqual(result["error"], None)
                self.assertEqual(result["steady"]["optimizer"] == 0, kind == "sgd")

    def test_out_of_memory_keeps_what_was_seen(self):
        whole = self.run_plan()
        enough_for_the_first = whole["steps"][0]["allocated"]
        result = self.run_plan(capacity=enough_for_the_first)
        error = result["error"]
        self.assertEqual((error["kind"], error["step"]), ("out-of-memory", 1))
        self.assertIn("CUDA out of memory", error["message"])
        self.assertEqual(error["phase"], result["steps"][1]["phases"][-1]["name"])
        self.assertEqual(result["error"]["alive"]["optimizer"], whole["steady"]["optimizer"])
        self.assertEqual((len(result["steps"]), result["steady"]), (2, whole["steady"]))
        result = self.run_plan(capacity=100_000)
        self.assertEqual((result["error"]["phase"], result["error"]["step"], result["steps"], result["steady"]), ("load", None, [], None))
        self.assertLessEqual(result["load"]["allocated"], 100_000)

    def test_the_last_step_s_history(self):
        snapshot = self.folder / "s.pickle"
        self.run_plan(options={"snapshot": snapshot, "history": True})
        self.assertEqual(snapshot.read_bytes(), b"snapshot")
        self.assertEqual(self.device.calls.count("record_history True"), 1)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["plan.json", "r.headroom-probe.json", "s.pickle"])

    def test_a_fault_of_the_model_s_code_is_no_lack_of_memory(self):
        device = StandInDevice()
        plan = read_plan(self.write("plan.json", support.tiny_plan()))
        target = self.folder / "r.json"

        def make(plan, options):
            made = workload.GpuRun(plan, options, device)
            made.step = lambda *_, **__: (_ for _ in ()).throw(RuntimeError("CUDA error: an illegal memory access was encountered"))
            return made

        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            self.assertEqual(run(plan, Options(target), make, progress.Progress(nowhere)), 1)
        self.assertEqual(json.loads(target.read_text())["error"]["kind"], "failed")


class Insides(support.TestCase):
    def test_the_fused_loss_s_gradient_is_no_activation(self):
        device = StandInDevice()
        plan = read_plan(self.write("plan.json", support.tiny_plan()))
        run_ = workload.GpuRun(plan, Options(self.folder / "r"), device)
        run_.load()
        plan._values["loss"] = "fused-linear"
        head = run_._loop.module.get_output_embeddings().weight
        self.assertEqual(run_._gradient_made_in_forward(), head.numel() * 2)
        head.grad = torch.zeros_like(head)
        self.assertEqual(run_._gradient_made_in_forward(), 0, "added to the gradient that is there")

    def test_weights_are_ordinary_numbers(self):
        plan = read_plan(self.write("plan.json", support.tiny_plan()))
        with contextlib.ExitStack() as stack:
            loop = one_device.make_loop(plan, "cpu", stack)
        for name, parameter in loop.module.named_parameters():
            self.assertTrue(torch.isfinite(parameter).all(), name)
        self.assertLess(loop.model(input_ids=loop.input_ids, labels=loop.labels).loss.item(), 20)

    def test_deepspeed_s_configuration(self):
        plan = read_plan(
            self.write(
                "plan.json",
                support.tiny_plan(
                    parallel__engine="deepspeed",
                    parallel__data=8,
                    parallel__zero_stage=3,
                    parallel__bucket_sizes="auto",
                    parallel__overlap_communication=True,
                    parallel__offload="optimizer",
                    precision__recipe="fp16-master",
                    loop__clip_grad_norm=True,
                    batch__gradient_accumulation=4,
                ),
            )
        )
        made = engines.deepspeed_config(plan, 64)
        self.assertEqual((made["fp16"], made["gradient_clipping"], made["gradient_accumulation_steps"]), ({"enabled": True}, 1.0, 4))
        zero = made["zero_optimization"]
        self.assertEqual(
            (zero["stage"], zero["reduce_bucket_size"], zero["stage3_param_persistence_threshold"], zero["overlap_comm"]),
            (3, 4096, 640, True),
        )
        self.assertEqual(zero["offload_optimizer"], {"device": "cpu", "pin_memory": True})

    def test_without_a_gpu_the_reason_is_said(self):
        if torch.cuda.is_available():
            self.skipTest("this machine has a GPU")
        with self.assertRaises(Exception) as caught:
            cuda_device.CudaDevice(0, nvml_open=lambda: None)
        self.assertEqual(caught.exception.status, 3)
        self.assertIn("--dry-run", str(caught.exception))


def run_rank(arguments: list[str]) -> None:
    """One rank of several plans, one after the other: target, then plan and port of each."""
    target, *pairs = arguments
    for index, (plan, port) in enumerate(zip(pairs[::2], pairs[1::2])):
        os.environ["MASTER_PORT"] = port  # of its own: a rank that is ahead must not meet the group before
        run_on(StandInDevice(), read_plan(pathlib.Path(plan)), pathlib.Path(f"{target}{index}.json"))


class Ranks(support.TestCase):
    """Two ranks on the host, which talk over gloo, started with what torchrun puts in the environment."""

    PLANS = (
        {"parallel__engine": "ddp", "parallel__no_sync": True, "batch__gradient_accumulation": 2},
        {"parallel__engine": "fsdp1", "precision__recipe": "bf16-autocast", "loop__clip_grad_norm": True},
        {"parallel__engine": "fsdp2", "precision__recipe": "bf16-autocast", "loop__clip_grad_norm": True},
        {
            "parallel__engine": "fsdp2",
            "precision__recipe": "bf16-autocast",
            "parallel__wrap": "accelerate",
            "parallel__no_sync": True,
            "batch__gradient_accumulation": 2,
        },
    )

    def test_engines(self):
        plans = [
            str(self.write(f"plan{index}.json", support.tiny_plan(parallel__data=2, **changes))) for index, changes in enumerate(self.PLANS)
        ]
        for changes, results in zip(self.PLANS, self.run_ranks(plans)):
            with self.subTest(**changes):
                self.assertEqual([(r["rank"], r["ranks"], r["error"]) for r in results], [(0, 2, None), (1, 2, None)])
                for result in results:
                    (self.ddp if changes["parallel__engine"] == "ddp" else self.fsdp)(result)

    def ddp(self, result: dict) -> None:
        """Every rank keeps everything; the buckets hold a copy of all gradients between steps."""
        steady = result["steady"]
        self.assertGreaterEqual(steady["allocated"], 2 * steady["weights"] + steady["optimizer"] - 4 * 512)
        self.assertGreater(result["saved_activations"], 0)

    def fsdp(self, result: dict) -> None:
        """Each rank keeps its half."""
        whole = 4 * result["parameters"]["total"]
        self.assertAlmostEqual(result["steady"]["weights"], whole / 2, delta=0.05 * whole)
        self.assertAlmostEqual(result["steady"]["optimizer"], whole, delta=0.1 * whole)
        self.assertIsNone(result["saved_activations"])

    def run_ranks(self, plans: list[str]) -> list[list[dict]]:
        program = "import sys; sys.path.insert(0, sys.argv[1]); import test_gpu_run; test_gpu_run.run_rank(sys.argv[2:])"
        with contextlib.ExitStack() as stack:
            free = [stack.enter_context(socket.socket()) for _ in plans]
            for one in free:
                one.bind(("127.0.0.1", 0))
            pairs = [text for plan, one in zip(plans, free) for text in (plan, str(one.getsockname()[1]))]
        started = [
            subprocess.Popen(
                [sys.executable, "-B", "-c", program, str(pathlib.Path(__file__).parent), str(self.folder / "r"), *pairs],
                stderr=subprocess.PIPE,
                text=True,
                env=os.environ | {"RANK": rank, "WORLD_SIZE": "2", "LOCAL_RANK": rank, "MASTER_ADDR": "127.0.0.1", "OMP_NUM_THREADS": "1"},
            )
            for rank in "01"
        ]
        try:
            said = [one.communicate(timeout=200)[1] for one in started]
        finally:
            for one in started:
                one.kill()
        self.assertEqual([one.returncode for one in started], [0, 0], "\n".join(text[-2000:] for text in said))
        return [
            [json.loads(output.path_of_rank(self.folder / f"r{index}.json", rank).read_text()) for rank in range(2)]
            for index in range(len(plans))
        ]


if __name__ == "__main__":
    if support.missing("torch"):  # the classes above are made all the same
        OneDevice = Insides = Ranks = unittest.TestCase
    support.main("torch", "transformers", "peft", "bitsandbytes")
