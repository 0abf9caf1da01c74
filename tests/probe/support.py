# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the probe's tests share. Each test file is a program that ctest runs."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import sys
import tempfile
import unittest

SOURCE_DIR = pathlib.Path(__file__).resolve().parents[2]
PROBE = SOURCE_DIR / "resources" / "probe"
SKIPPED = 77
sys.path.insert(0, str(PROBE))

TINY_CONFIG = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 256,
    "max_position_embeddings": 128,
    "tie_word_embeddings": True,
}


def tiny_plan(**changes) -> dict:
    """A plan of a very small model; a change is a field's path with _ for the dot, as in batch__micro_batch=2."""
    plan: dict = {"headroom_plan": 1, "model": {"config": dict(TINY_CONFIG)}, "batch": {"micro_batch": 2, "sequence_length": 32}}
    for path, value in changes.items():
        group, _, key = path.rpartition("__")
        (plan.setdefault(group, {}) if group else plan)[key] = value
    return plan


class TestCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name: str, content) -> pathlib.Path:
        path = self.folder / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path


def missing(*modules: str) -> list[str]:
    return [module for module in modules if importlib.util.find_spec(module) is None]


def main(*needed: str, loader=unittest.defaultTestLoader) -> None:
    """Runs the tests of the calling file.

    Where a needed module is missing they are skipped, visibly; with HEADROOM_REQUIRE_PYTORCH in the environment they fail.
    """
    absent = missing(*needed)
    if absent:
        print(
            f"SKIPPED: this Python ({sys.executable}) has no {', '.join(absent)}: packaging/test.sh makes one that has, "
            "-DHEADROOM_PROBE_PYTHON=... names another"
        )
        sys.exit(1 if os.environ.get("HEADROOM_REQUIRE_PYTORCH") else SKIPPED)
    unittest.main(verbosity=2, testLoader=loader)
