# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is seen to before PyTorch is imported: libraries, environment variables, and the driver's library."""

import ctypes
import pathlib
import subprocess
import sys
from unittest import mock

import support
from headroom_probe import environment
from headroom_probe.errors import EnvironmentFault
from headroom_probe.gpu import nvml
from headroom_probe.plan import read_plan


class Environment(support.TestCase):
    def plan(self, **changes):
        return read_plan(self.write("plan.json", support.tiny_plan(**changes)))

    def test_nothing_but_what_the_plan_needs_is_asked_for(self):
        self.assertEqual(set(environment.needs(self.plan(), False)), {"torch", "transformers"})
        self.assertEqual(
            set(environment.needs(self.plan(method__kind="qlora", loss="fused-linear", attention="flash-attention-2"), False)),
            {"torch", "transformers", "peft", "bitsandbytes", "liger-kernel", "flash-attn"},
        )
        self.assertNotIn("flash-attn", environment.needs(self.plan(attention="flash-attention-2"), True))
        self.assertIn("bitsandbytes", environment.needs(self.plan(optimizer__kind="lion"), False))
        self.assertIn("deepspeed", environment.needs(self.plan(precision__recipe="bf16-master"), False))

    def test_one_message_names_all_that_is_missing_or_old(self):
        versions = {"torch": "2.3.1+cu121", "peft": "0.21.2"}
        with mock.patch.object(environment, "version_of", versions.get), mock.patch("importlib.util.find_spec"):
            with self.assertRaises(EnvironmentFault) as caught:
                environment.check_libraries(self.plan(method__kind="lora"), False)
        self.assertIn(
            "torch >= 2.4 (for everything) is needed, 2.3.1+cu121 is installed; transformers >= 4.48 (for the model) is missing",
            str(caught.exception),
        )
        self.assertNotIn("peft", str(caught.exception))
        self.assertEqual(caught.exception.status, 3)

    def test_the_plan_decides_the_allocator_s_options(self):
        plan = self.plan(runtime__expandable_segments=True, runtime__max_split_size_mb=128)
        self.assertEqual(
            environment.variables(plan, False, (2, 13))["PYTORCH_ALLOC_CONF"], "expandable_segments:True,max_split_size_mb:128"
        )
        old = environment.variables(plan, False, (2, 8))
        self.assertEqual(
            (old["PYTORCH_ALLOC_CONF"], old["PYTORCH_CUDA_ALLOC_CONF"]), (None, "expandable_segments:True,max_split_size_mb:128")
        )
        with mock.patch.dict("os.environ", {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:21", "CUBLAS_WORKSPACE_CONFIG": ":1:1"}):
            environment.apply_variables(environment.variables(self.plan(), False, (2, 13)))
            self.assertNotIn("PYTORCH_CUDA_ALLOC_CONF", environment.os.environ)
            self.assertEqual(environment.os.environ["CUBLAS_WORKSPACE_CONFIG"], ":1:1", "the plan says nothing of it")

    def test_the_workspace_only_where_the_plan_says_so(self):
        for given, wanted in ((0, ":0:0"), (8519680, ":8320:1"), (1, ":1:1")):
            self.assertEqual(
                environment.variables(self.plan(runtime__cublas_workspace_bytes=given), False, (2, 13))["CUBLAS_WORKSPACE_CONFIG"], wanted
            )
        self.assertNotIn("CUBLAS_WORKSPACE_CONFIG", environment.variables(self.plan(), False, (2, 13)))

    def test_no_network_and_in_a_dry_run_no_gpu(self):
        made = environment.variables(self.plan(), True, (2, 13))
        self.assertEqual((made["HF_HUB_OFFLINE"], made["TRANSFORMERS_OFFLINE"], made["CUDA_VISIBLE_DEVICES"]), ("1", "1", ""))

    def test_other_versions_than_planned_are_noted(self):
        with mock.patch.object(environment, "version_of", {"torch": "2.13.0+cpu", "transformers": "4.57.1"}.get):
            self.assertEqual(environment.notes_of(self.plan()), ["the plan says transformers 5.24, 4.57.1 ran"])

    def test_most_of_the_package_needs_no_pytorch(self):
        """In a Python that refuses to import it."""
        program = (
            "import sys; sys.modules.update(dict.fromkeys(('torch', 'transformers', 'peft', 'bitsandbytes', 'deepspeed')))\n"
            "import headroom_probe.cli, headroom_probe.environment, headroom_probe.run, headroom_probe.snapshot, headroom_probe.scope\n"
            "import headroom_probe.phases, headroom_probe.output, headroom_probe.precision, headroom_probe.gpu.nvml"
        )
        done = subprocess.run([sys.executable, "-c", program], cwd=support.PROBE, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_no_module_fetches_or_installs(self):
        for path in pathlib.Path(support.PROBE).rglob("*.py"):
            text = path.read_text()
            for name in (
                "urllib",
                "requests",
                "http.client",
                "from_pretrained(",
                "snapshot_download",
                "hf_hub_download",
                "pip install",
                "eval(",
                "exec(",
                "trust_remote_code=True",
                "shell=True",
            ):
                self.assertNotIn(name, text, path.name)


class FakeNvml:
    """NVIDIA's library with two GPUs."""

    def __init__(self, used=(300 << 20, 5 << 30), init=0, memory=0):
        self.used, self.init, self.memory, self.ended = used, init, memory, False

    def nvmlInit_v2(self):
        return self.init

    def nvmlShutdown(self):
        self.ended = True

    def nvmlSystemGetDriverVersion(self, buffer, length):
        buffer.value = b"580.65.06"
        return 0

    def nvmlDeviceGetCount_v2(self, count):
        count._obj.value = len(self.used)
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index, handle):
        handle._obj.value = index + 1
        return 0

    def nvmlDeviceGetUUID(self, handle, buffer, length):
        buffer.value = b"GPU-0000-%d" % (handle.value - 1)
        return 0

    def nvmlDeviceGetMemoryInfo(self, handle, memory):
        memory._obj.used = self.used[handle.value - 1]
        return self.memory


class Driver(support.TestCase):
    def test_used_memory_by_uuid(self):
        library = FakeNvml()
        opened = nvml.Nvml.open(lambda name: library)
        self.assertEqual(opened.driver(), "580.65.06")
        self.assertEqual(
            {uuid: opened.used(handle) for uuid, handle in opened.devices().items()}, {"GPU-0000-0": 300 << 20, "GPU-0000-1": 5 << 30}
        )
        opened.close()
        self.assertTrue(library.ended)

    def test_a_library_that_is_absent_or_answers_nothing(self):
        def absent(name):
            raise OSError("no such file")

        self.assertIsNone(nvml.Nvml.open(absent))
        self.assertIsNone(nvml.Nvml.open(lambda name: FakeNvml(init=9)), "no driver is running")
        self.assertIsNone(nvml.Nvml.open(lambda name: object()), "another library of that name")
        self.assertIsNone(nvml.Nvml(FakeNvml(memory=3)).used(ctypes.c_void_p(1)))


if __name__ == "__main__":
    support.main()
