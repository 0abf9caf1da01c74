# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the driver says of a GPU's memory: NVIDIA's management library, which comes with the driver."""

from __future__ import annotations

import ctypes
import sys

_NAMES = ("nvml.dll",) if sys.platform == "win32" else ("libnvidia-ml.so.1", "libnvidia-ml.so")
_LONGEST = 96


class _Memory(ctypes.Structure):
    """nvmlMemory_t (nvml.h)."""

    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Nvml:
    """Opened for the time of a run. Each question is answered with None where the library does not answer it."""

    def __init__(self, library):
        self._library = library

    @staticmethod
    def open(loader=ctypes.CDLL) -> Nvml | None:
        for name in _NAMES:
            try:
                library = loader(name)
                if library.nvmlInit_v2() == 0:
                    return Nvml(library)
            except (OSError, AttributeError):
                continue
        return None

    def close(self) -> None:
        self._library.nvmlShutdown()

    def driver(self) -> str | None:
        return self._text(self._library.nvmlSystemGetDriverVersion)

    def devices(self) -> dict[str, ctypes.c_void_p]:
        """Handles by UUID, such as "GPU-1234..."."""
        count = ctypes.c_uint()
        if self._library.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
            return {}
        found = {}
        for index in range(count.value):
            handle = ctypes.c_void_p()
            if self._library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)) == 0:
                uuid = self._text(self._library.nvmlDeviceGetUUID, handle)
                if uuid:
                    found[uuid] = handle
        return found

    def used(self, handle) -> int | None:
        memory = _Memory()
        if self._library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) != 0:
            return None
        return memory.used

    def _text(self, function, *handle) -> str | None:
        buffer = ctypes.create_string_buffer(_LONGEST)
        if function(*handle, buffer, _LONGEST) != 0:
            return None
        return buffer.value.decode("ascii", "replace")
