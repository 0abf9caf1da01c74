# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The probe's program with a workload that needs no PyTorch. HEADROOM_STAND_IN says what happens in it:

"" nothing, "oom" memory runs out in the second step's backward, "fail" another error there, "wait" it hangs there.
"""

import os
import time

import support  # noqa: F401
from headroom_probe import environment
from headroom_probe.cli import end, main


class Gauge:
    timed = True

    def __init__(self):
        self.live, self.peak, self.calls = 1000, 1000, []

    def synchronize(self):
        self.calls.append("synchronize")

    def reset_peaks(self):
        self.peak = self.live

    def peaks(self):
        return {"allocated": self.peak, "active": self.peak, "reserved": 2 * self.peak, "device": None}

    def now(self):
        return {"allocated": self.live, "active": self.live, "reserved": 2 * self.peak, "device": None}


class Workload:
    def __init__(self, plan, options):
        self.gauge, self.options, self.steady = Gauge(), options, None

    def describe(self):
        return {"versions": {"torch": None}, "gpu": None, "notes": []}

    def load(self):
        self.use(500)

    def use(self, size: int, kept: int = 0):
        self.gauge.peak = max(self.gauge.peak, self.gauge.live + size)
        self.gauge.live += kept

    def step(self, step, meter, last):
        for micro in range(2):
            meter.enter("forward")
            self.use(100 + micro, kept=50)
            meter.enter("loss")
            self.use(300)
            meter.enter("backward")
            if step == 1:
                self.happen(os.environ.get("HEADROOM_STAND_IN", ""))
            self.use(200, kept=-50)
        meter.enter("optimizer")
        self.use(400 if step == 0 else 10)
        meter.enter("idle")

    def happen(self, what: str):
        if what == "oom":
            raise MemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        if what == "fail":
            raise ZeroDivisionError("a fault")
        if what == "wait":
            time.sleep(120)

    def after_step(self):
        self.steady = self.alive()

    def alive(self):
        return {"weights": 1000, "gradients": 0, "optimizer": 0, "allocated": self.gauge.live}

    def figures(self):
        return {"parameters": {"total": 1, "trainable": 1}, "steady": self.steady, "saved_activations": 50}

    def is_out_of_memory(self, error):
        return isinstance(error, MemoryError)

    def write_snapshot(self, path):
        path.write_bytes(b"snapshot")

    def close(self, failed):
        print("closed")


environment.check_libraries = lambda plan, dry_run: None  # there is no PyTorch to look for
end(main(make_workload=Workload, count_gpus=lambda: int(os.environ["STAND_IN_GPUS"])))
