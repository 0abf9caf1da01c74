# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The PyTorch side of Headroom's probe: runs a plan's training steps and writes down the memory that they take.

Where to look:

- `cli`: the command line. `errors`: exit statuses. `plan`: the plan, strictly read. `scope`: what can be run of it.
- `run`: one run from plan to result file. `phases`: the peaks of each phase. `result`, `progress`: what is written.
- `environment`: libraries and environment variables, before PyTorch is imported.
- `training`: the model, its optimizer and the loop, in PyTorch; the same code for both ways of running.
- `gpu`: on a GPU, one rank or several. `dry_run`: on fake CUDA tensors, without one.
- `snapshot`: memory snapshots of PyTorch, as a timeline.

Only `training`, `gpu` and `dry_run` import PyTorch.
"""

__version__ = "0.1.0"

#: Number of the result files' format (docs/plan-format.md).
RESULT_FORMAT = 1
