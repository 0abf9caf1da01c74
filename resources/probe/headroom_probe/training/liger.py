# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Liger's kernels and fused loss on one model. Imported only where a plan has them."""

from __future__ import annotations

import contextlib
import sys

from liger_kernel.ops.fused_linear_cross_entropy import LigerFusedLinearCrossEntropyFunction
from liger_kernel.transformers import monkey_patch

from ..errors import Unsupported
from ..plan import Plan


@contextlib.contextmanager
def applied(plan: Plan, model, begin_loss):
    """Applies Liger to the model, as the Trainer's use_liger_kernel does; at the end takes back what is patched in modules."""
    kind, layers, loss = model.config.model_type, plan["kernels"] == "liger", plan["loss"] == "fused-linear"
    if kind not in monkey_patch.MODEL_TYPE_TO_APPLY_LIGER_FN:
        raise Unsupported(
            "kernels" if layers else "loss", f"Liger has no patch for model_type {kind}", 'set kernels to "eager" and loss to "logits"'
        )
    modelling = vars(sys.modules[type(model).__module__])
    before, forward = dict(modelling), LigerFusedLinearCrossEntropyFunction.forward

    def loss_phase(*args, **kwargs):
        begin_loss()
        return forward(*args, **kwargs)

    try:
        LigerFusedLinearCrossEntropyFunction.forward = staticmethod(loss_phase)
        monkey_patch._apply_liger_kernel_to_instance(
            model, rope=layers, rms_norm=layers, swiglu=layers, geglu=layers, cross_entropy=False, fused_linear_cross_entropy=loss
        )
        yield
    finally:
        LigerFusedLinearCrossEntropyFunction.forward = staticmethod(forward)
        modelling.update(before)
