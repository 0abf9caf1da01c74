# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""The chunked loss, which no library has for transformers' models, and the beginning of the loss phase."""

from __future__ import annotations

import types

import torch
import torch.nn.functional as F

CHUNKS = 8


class Backpropagated(torch.autograd.Function):
    """A loss whose gradient with respect to the hidden states is known already."""

    @staticmethod
    def forward(ctx, hidden, gradient, loss):
        ctx.save_for_backward(gradient)
        return loss.clone()

    @staticmethod
    def backward(ctx, grad_loss):
        (gradient,) = ctx.saved_tensors
        return gradient * grad_loss.to(gradient.dtype), None, None


def chunked_loss(head, hidden, labels):
    """Head and cross-entropy one eighth of the tokens at a time, each with its backward at once.

    As torchtitan's ChunkedLossWrapper (torchtitan/components/loss.py): contiguous detached chunks, fp32 logits, an fp32
    buffer for the gradient of the hidden states.
    """
    flat, labels = hidden.reshape(-1, hidden.shape[-1]), F.pad(labels, (0, 1), value=-100)[..., 1:].reshape(-1)
    size = flat.shape[0] // CHUNKS
    pieces = [chunk.contiguous().detach().requires_grad_(True) for chunk in torch.split(flat, size)]
    targets = [chunk.contiguous() for chunk in torch.split(labels, size)]
    gradient = torch.zeros_like(flat, dtype=torch.float32)
    total = torch.zeros((), dtype=torch.float32, device=hidden.device)
    for k in range(CHUNKS):
        logits = head(pieces[k])
        loss = F.cross_entropy(logits.float(), targets[k], reduction="sum", ignore_index=-100) / labels.numel()
        total = total + loss.detach()
        loss.backward()
        gradient[k * size : (k + 1) * size] = pieces[k].grad.to(torch.float32)
        pieces[k].grad = None
    return Backpropagated.apply(flat, gradient.to(hidden.dtype), total)


def use_chunked_loss(model, begin_loss) -> None:
    """Makes the causal language model compute chunked_loss instead of logits."""
    body, head = getattr(model, model.base_model_prefix), model.get_output_embeddings

    def forward(input_ids=None, labels=None, **kwargs):
        hidden = body(input_ids=input_ids, **kwargs).last_hidden_state
        begin_loss()
        return types.SimpleNamespace(loss=chunked_loss(head(), hidden, labels))

    model.forward = forward


def watch_head(model, begin_loss) -> None:
    """The loss phase begins where the output head is called."""
    head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    if head is not None:
        head.register_forward_pre_hook(lambda module, arguments: begin_loss())
