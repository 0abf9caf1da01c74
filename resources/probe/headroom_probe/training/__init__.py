# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan's model, optimizer and loop in PyTorch: the same code on a GPU and on fake tensors."""
