# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line."""

from __future__ import annotations

import argparse
import os
import pathlib
import signal
import sys

from . import __version__, environment, parent, scope
from .errors import BAD_INPUT, INTERRUPTED, OK, BadInput, EnvironmentFault, ProbeError
from .plan import read_plan
from .progress import Progress
from .run import Options, run

DESCRIPTION = """Runs the training steps of a Headroom plan and writes down the memory that they take.

  run PLAN --output FILE        on this machine's GPU, or with --dry-run on PyTorch's fake tensors without one
  check PLAN                    says whether the plan could be run on this machine's GPUs, and nothing if it could
  snapshot PICKLE --output FILE turns what torch.cuda.memory._dump_snapshot wrote into a JSON timeline

Several ranks: torchrun --nproc-per-node 4 PROBE run PLAN --output FILE; rank 0 writes FILE, rank 3 FILE.rank3 (before
the ending). Nothing is installed and nothing is downloaded: the model gets random weights from its config."""

EXIT_STATUSES = """exit status:
  0    a result was written; out of memory is a result too (its "error" says so)
  1    the run broke off; the result has what was measured until then, and the reason. Of several ranks also where
       memory ran out, so that torchrun ends the others
  2    the command line, the plan or the snapshot is wrong, or the probe does not run such a plan
  3    a library or the GPU is missing, or the result cannot be written
  130  interrupted; nothing was written

Progress goes to standard error, one JSON object a line: {"step": 0, "phase": "forward", "text": "..."}; other lines
there are messages."""

COMMANDS = ("run", "check", "snapshot")


class Parser(argparse.ArgumentParser):
    def error(self, message: str):
        raise BadInput("command line", message, f"see {self.prog} --help")


def parser() -> argparse.ArgumentParser:
    top = Parser(prog="headroom_probe", description=DESCRIPTION, epilog=EXIT_STATUSES, formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--version", action="version", version=f"headroom_probe {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    style = {"epilog": EXIT_STATUSES, "formatter_class": argparse.RawDescriptionHelpFormatter}
    one = commands.add_parser("run", help="run a plan (the default command)", description="Runs a plan.", **style)
    one.add_argument("plan", type=pathlib.Path, metavar="PLAN", help="a .headroom.json file")
    one.add_argument("--output", type=pathlib.Path, required=True, metavar="FILE", help="the result: a .headroom-probe.json file")
    one.add_argument("--dry-run", action="store_true", help="on fake CUDA tensors: allocated memory only, no GPU needed")
    one.add_argument("--steps", type=_steps, default=3, metavar="N", help="optimizer steps, at least 3 (default: 3)")
    one.add_argument("--config", type=pathlib.Path, metavar="FILE", help="the config.json of the preset that the plan names")
    one.add_argument(
        "--snapshot", type=pathlib.Path, metavar="FILE", help="record the last step's allocations into a PyTorch memory snapshot"
    )
    one.add_argument("--history", action="store_true", help="with --snapshot: the Python stack of every allocation too")
    two = commands.add_parser(
        "check", help="find out whether a plan could be run", description="Finds out whether a plan could be run: libraries, GPUs.", **style
    )
    two.add_argument("plan", type=pathlib.Path, metavar="PLAN", help="a .headroom.json file")
    two.add_argument("--config", type=pathlib.Path, metavar="FILE", help="the config.json of the preset that the plan names")
    three = commands.add_parser(
        "snapshot", help="convert a PyTorch memory snapshot", description="Converts a PyTorch memory snapshot.", **style
    )
    three.add_argument("pickle", type=pathlib.Path, metavar="PICKLE", help="a file that torch.cuda.memory._dump_snapshot wrote")
    three.add_argument("--output", type=pathlib.Path, required=True, metavar="FILE", help="the timeline: a .json file")
    three.add_argument("--device", type=int, default=None, metavar="N", help="the GPU whose timeline is wanted (default: the busiest)")
    return top


def _steps(text: str) -> int:
    try:
        steps = int(text)
    except ValueError:
        steps = 0
    if not 3 <= steps <= 1000:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number from 3 to 1000")
    return steps


def main(arguments: list[str] | None = None, make_workload=None, count_gpus=None) -> int:
    """Runs the program and returns its exit status. `make_workload` and `count_gpus` stand in for PyTorch in tests."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments and arguments[0] not in COMMANDS and not arguments[0].startswith("-"):
        arguments.insert(0, "run")
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        parent.end_with_parent()
        options = parser().parse_args(arguments)
        if options.command == "snapshot":
            return _snapshot(options)
        return _check(options, count_gpus or environment.count_gpus) if options.command == "check" else _run(options, make_workload)
    except ProbeError as error:
        print(f"headroom_probe: {_rank()}{error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print(f"headroom_probe: {_rank()}interrupted; nothing was written", file=sys.stderr)
        return INTERRUPTED
    except SystemExit as ended:  # --help, --version
        return OK if not ended.code else BAD_INPUT


def end(status: int) -> None:
    """Ends the process. Of several ranks, one that failed must not wait for the others, as an orderly end of NCCL does."""
    if status != OK and os.environ.get("WORLD_SIZE", "1") != "1":
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def _interrupt(_signal, _frame):
    raise KeyboardInterrupt


def _rank() -> str:
    """Which of several ranks is speaking."""
    return f"rank {os.environ.get('RANK', '?')[:9]}: " if os.environ.get("WORLD_SIZE", "1") != "1" else ""


def _check(arguments, count_gpus) -> int:
    plan = read_plan(arguments.plan, arguments.config)
    scope.check(plan, dry_run=False)
    environment.check_libraries(plan, dry_run=False)
    found = count_gpus()
    if found < plan.ranks:
        raise EnvironmentFault(
            "",
            f"the plan needs {plan.ranks} GPUs, one a rank, and this machine shows {found or 'none'}",
            "run it where there are as many, or set parallel.data to what there is",
        )
    return OK


def _run(arguments, make_workload) -> int:
    if arguments.history and not arguments.snapshot:
        raise BadInput("--history", "needs a file for what it records", "add --snapshot FILE")
    if arguments.dry_run and arguments.snapshot:
        raise BadInput("--snapshot", "a dry run has no allocator to record", "run on a GPU, or leave it out")
    plan = read_plan(arguments.plan, arguments.config)
    rank, ranks, local_rank = (0, 1, 0) if arguments.dry_run else scope.ranks_of_run(plan)
    options = Options(arguments.output, arguments.dry_run, arguments.steps, arguments.snapshot, arguments.history, rank, ranks, local_rank)
    try:
        return run(plan, options, make_workload or environment.workload_for, Progress(silent=rank > 0))
    except BadInput as error:  # of the plan, found only when it is run
        error.file = error.file or str(arguments.plan)
        raise


def _snapshot(arguments) -> int:
    from . import output, snapshot

    output.check_writable(arguments.output)
    output.write_json(arguments.output, snapshot.timeline_of_file(arguments.pickle, arguments.device), indent=None)
    return OK
