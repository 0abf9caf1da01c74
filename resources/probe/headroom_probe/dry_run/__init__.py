# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs on fake CUDA tensors (a shape, a dtype and a device, no data), without a GPU.

PyTorch's own dispatcher, autograd engine, checkpointing and optimizers run, and transformers, PEFT, bitsandbytes and Liger
with them. Every storage that an operator makes is counted by `ledger`, and so is its end; what CUDA kernels allocate
inside one operator is added by `kernel_buffers`. The other modules stand in for what needs a GPU.
"""
