# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiles and loads fake_cuda_guard.cpp, without which PyTorch's autograd engine asks the CUDA driver for streams.

PyTorch's own stand-in (torch._C._ensureCUDADeviceGuardSet) is not enough: the engine also asks the hooks whether there is
an accelerator, and those can only be registered in C++. So a dry run needs a C++ compiler once for each PyTorch; the
library is kept in the user's cache folder.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import importlib.util
import os
import pathlib
import pkgutil
import shutil
import subprocess
import sys
import tempfile

from ..errors import EnvironmentFault

_COMPILERS = ("c++", "g++", "clang++")
_SECONDS = 300


def load() -> None:
    """Loads the library and then PyTorch, in this order."""
    if "torch" in sys.modules:
        if not hasattr(sys.modules["torch"], "_headroom_fake_cuda"):
            raise RuntimeError("the fake CUDA guard must be loaded before torch is imported")
        return
    folder = pathlib.Path(importlib.util.find_spec("torch").origin).parent
    ctypes.CDLL(str(folder / "lib" / "libtorch_cpu.so"))
    library = ctypes.CDLL(str(_library(folder)))
    import torch

    library.headroom_use_fake_cuda_guard()
    torch._headroom_fake_cuda = library


def _library(torch_folder: pathlib.Path) -> pathlib.Path:
    source = pkgutil.get_data(__package__, "fake_cuda_guard.cpp")
    version = (torch_folder / "version.py").read_bytes()
    key = hashlib.sha256(b"\0".join((source, version, str(torch_folder).encode()))).hexdigest()[:16]
    folder = _cache_folder()
    made = folder / f"fake_cuda_guard-{key}.so"
    if not made.exists():
        _compile(source, torch_folder, made)
    return made


def _cache_folder() -> pathlib.Path:
    """The user's cache, or a folder of its own where that cannot be written."""
    try:
        root = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "headroom-probe"
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = root.stat()
        # What lies in it is loaded as code: nobody else may have put it there.
        if found.st_uid == os.getuid() and not found.st_mode & 0o022 and os.access(root, os.W_OK):
            return root
    except (OSError, RuntimeError):
        pass
    made = pathlib.Path(tempfile.mkdtemp(prefix="headroom-probe-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def _compile(source: bytes, torch_folder: pathlib.Path, made: pathlib.Path) -> None:
    compiler = next((found for name in (os.environ.get("CXX"), *_COMPILERS) if name and (found := shutil.which(name))), None)
    if compiler is None:
        raise EnvironmentFault(
            "",
            "a dry run needs a C++ compiler, once: neither $CXX nor " + ", ".join(_COMPILERS) + " is there",
            "install g++ or clang++, or run on a GPU",
        )
    include = torch_folder / "include"
    with tempfile.TemporaryDirectory(dir=made.parent) as folder:
        text, partial = pathlib.Path(folder) / "guard.cpp", pathlib.Path(folder) / "guard.so"
        text.write_bytes(source)
        command = [
            compiler,
            "-std=c++20",
            "-O1",
            "-shared",
            "-fPIC",
            f"-I{include}",
            f"-I{include}/torch/csrc/api/include",
            str(text),
            f"-L{torch_folder}/lib",
            "-lc10",
            "-ltorch_cpu",
            "-o",
            str(partial),
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=_SECONDS, stdin=subprocess.DEVNULL, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise EnvironmentFault("", f"the C++ compiler {compiler} does not run: {error}", "set CXX to another") from error
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines() or [""]
            raise EnvironmentFault(
                "",
                f"{compiler} cannot compile what a dry run needs from PyTorch: {lines[0].strip()[:300]}",
                "a compiler of C++20 and a PyTorch with its headers are needed",
            )
        os.replace(partial, made)
