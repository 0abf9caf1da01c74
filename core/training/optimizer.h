// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/tape.h"
#include "core/plan/training_plan.h"

#include <memory>
#include <vector>

namespace headroom::training {

/// torch.optim: state that lives between steps and what a step allocates meanwhile.
class Optimizer
{
public:
    virtual ~Optimizer() = default;

    /// One step over `parameters`, each with its gradient. State is made at a parameter's first step, as PyTorch does.
    /// The same parameters in the same order at every call.
    virtual void step(const std::vector<autograd::Tensor> &parameters) = 0;
    /// Whether it was given this parameter; the others keep their gradients, which nobody drops.
    virtual bool takes(const autograd::Tensor &) const { return true; }
};

/// The plan's optimizer: adamw, adam, sgd, sgd-momentum in fused, foreach and for-loop form (torch 2.13, torch/optim).
std::unique_ptr<Optimizer> makeOptimizer(autograd::Tape &tape, const OptimizerChoice &choice);

/// Bytes of a parameter's state that are in managed memory: outside the device's figures, paged in when a step needs them.
std::int64_t pagedStateBytes(OptimizerKind kind, std::int64_t elements);

/// optimizer.zero_grad(): drops the gradients; with zeros they stay as they are.
void zeroGrad(const std::vector<autograd::Tensor> &parameters, ZeroGrad how);

/// torch.nn.utils.clip_grad_norm_(parameters, 1.0) in its foreach form. `counts`: how many tensors each parameter stands for, more
/// than one where the run stands for a deeper model's. `kernelBuffers`: with what the norms' kernel allocates on a GPU, which traces
/// on fake tensors do not show: for each tensor as many fp32 sums as the largest has chunks of 65,536 elements
/// (ATen/native/cuda/ForeachReduceOp.cu, foreach_tensor_norm_cuda, which PyTorch 2.13's ATen/ops/_foreach_norm_native.h names;
/// MultiTensorApply.cuh: kChunkSize).
void clipGradNorm(autograd::Tape &tape, const std::vector<autograd::Tensor> &parameters, const std::vector<std::int64_t> &counts,
                  bool kernelBuffers);

} // namespace headroom::training
