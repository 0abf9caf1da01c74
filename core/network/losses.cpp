// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/network/losses.h"

#include "core/autograd/module_hooks.h"

#include <algorithm>
#include <bit>

namespace headroom::network {

using namespace autograd;

namespace {

Tensor rowsOf(const Tensor &hidden) { return reshape(hidden, {hidden.sizes().leading().elements(), hidden.size(-1)}); }

void dropGradient(const Tensor &leaf)
{
    if (TensorImpl *gradient = std::exchange(leaf->grad, nullptr)) {
        const Tensor dropped(gradient);
        --gradient->references; // the leaf's own
    }
}

/// A gradient that is known before backward runs.
void backpropagatedBackward(BackwardCall &call)
{
    const Tensor gradient = call.unpack(0);
    const Tensor scale = to(call.grad, gradient.dtype());
    call.give(0, unary(gradient, "aten.mul.Tensor"));
}
constexpr Operator backpropagated{"BackpropagatedBackward", backpropagatedBackward};

/// What Liger's forward computes and keeps.
struct FusedGradients {
    Tensor loss, hidden, weight;
};

/// fused_linear_cross_entropy_forward
FusedGradients fusedForward(const Tensor &input, const Tensor &weight, const GpuProperties &gpu, std::int64_t budget)
{
    Tape &tape = *input->tape;
    const std::int64_t tokens = input.size(0), width = input.size(1), words = weight.size(0);
    const std::int64_t budgeted = checkedMultiply(budget, width), factor = (words + budgeted - 1) / budgeted;
    const auto wanted = static_cast<std::uint64_t>((tokens + factor - 1) / factor);
    const std::int64_t chunk = std::min(static_cast<std::int64_t>(std::bit_ceil(wanted)), tokens);

    FusedGradients out;
    out.hidden = tape.empty(input.sizes(), input.dtype(), "aten.zeros_like.default");
    if (input.requiresGrad() && weight.requiresGrad())
        out.weight = tape.empty(weight.sizes(), weight.dtype(), "aten.zeros_like.default");
    const Tensor losses = tape.empty({tokens}, DType::Float32, "aten.zeros.default");
    const Tensor mask = tape.empty({tokens}, DType::Bool, "aten.ne.Scalar");
    {
        const Tensor count = tape.empty({}, DType::Int64, "aten.sum.default");
    }

    Tape::NoGrad inFunction(tape);
    const DType compute = tape.autocast().value_or(input.dtype());
    const bool intoStorage = input.dtype() == weight.dtype() && compute == input.dtype(); // torch.mm(..., out=)
    {
        Tensor storage = intoStorage ? tape.empty({chunk, words}, input.dtype()) : Tensor();
        for (std::int64_t from = 0; from < tokens; from += chunk) {
            const std::int64_t rows = std::min(chunk, tokens - from);
            const Tensor part = tape.view(input, {rows, width}, contiguousStrides({rows, width}));
            Tensor logits = storage;
            if (intoStorage)
                tape.countFlops(2.0 * static_cast<double>(rows * width) * static_cast<double>(words));
            else
                logits = matmul(part, transposed2d(weight));
            tape.useBlas();
            if (input.requiresGrad() && !intoStorage)
                const Tensor product = matmul(logits, weight);
            if (!out.weight)
                continue;
            const bool addsInPlace = gpu.computeMajor >= 8 && isHalf(logits.dtype()) &&
                                     (out.weight.dtype() == DType::Float32 || out.weight.dtype() == logits.dtype());
            if (addsInPlace) {
                const Tensor cast = to(part, logits.dtype()); // addmm(grad_weight, ..., out=grad_weight)
            } else {
                const Tensor product = mm(transposed2d(logits), tape.autocastCast(part));
                const Tensor upcast = to(product, DType::Float32);
            }
        }
    }
    out.loss = tape.empty({}, DType::Float32, "aten.sum.default");
    return out;
}

void fusedBackward(BackwardCall &call)
{
    const Tensor one = call.tape.empty({}, DType::Float32, "aten._to_copy.default");
    if (call.needs(0))
        call.give(0, call.unpack(0));
    if (call.needs(1))
        call.give(1, call.unpack(1));
}
constexpr Operator fusedLinearCrossEntropy{"LigerFusedLinearCrossEntropyFunctionBackward", fusedBackward};

} // namespace

Tensor chunkedLoss(const Linear &head, const Tensor &hidden, const Tensor &labels)
{
    Tape &tape = *hidden->tape;
    tape.mark(TracePhase::Loss);
    const Tensor flat = rowsOf(hidden);
    const std::int64_t batch = labels.size(0), length = labels.size(1), tokens = flat.size(0), rows = tokens / lossChunks;
    Tensor targets = tape.empty({batch, length + 1}, DType::Int64, "aten.constant_pad_nd.default");
    targets = contiguous(tape.view(targets, {batch, length}, contiguousStrides({batch, length + 1})));
    const Tensor buffer = tape.empty(flat.sizes(), DType::Float32, "aten.zeros_like.default");
    Tensor total = tape.empty({}, DType::Float32, "aten.zeros.default");
    const Dims chunk{rows, flat.size(1)};
    Tensor logits, loss; // bound anew by the next chunk, and alive to the end
    for (std::int64_t k = 0; k < lossChunks; ++k) {
        const Tensor piece = tape.detach(flat);
        piece->sizes = chunk;
        piece->strides = contiguousStrides(chunk);
        piece->requiresGrad = true;
        logits = head.forward(piece);
        Tensor sum = nllLoss(logSoftmax(to(logits, DType::Float32)), tape.view(targets, {rows}, {1}));
        loss = divNumber(sum);
        sum.reset();
        total = unary(total, "aten.add.Tensor");
        tape.backward(loss);
        {
            const Tensor copied = to(Tensor(piece->grad), DType::Float32);
        }
        dropGradient(piece);
    }
    Node *node = tape.record(backpropagated, {&flat});
    const Tensor gradient = to(buffer, hidden.dtype());
    tape.save(node, 0, gradient);
    Tensor result = unary(total, "aten.clone.default");
    tape.attach(node, result);
    return result;
}

Tensor fusedLinearLoss(const Linear &head, const Tensor &hidden, const Tensor &labels, const GpuProperties &gpu, std::int64_t budget)
{
    Tape &tape = *hidden->tape;
    const Tensor &weight = head.saved ? head.saved : head.weight;
    if (ModuleHooks *hooks = tape.moduleHooks())
        hooks->access(weight); // the head itself is not called
    const Tensor flat = rowsOf(hidden);
    const std::int64_t batch = labels.size(0), length = labels.size(1);
    const Tensor padded = tape.empty({batch, length + 1}, DType::Int64, "aten.constant_pad_nd.default");
    const Tensor shifted = contiguous(tape.view(padded, {batch, length}, contiguousStrides({batch, length + 1})));
    tape.mark(TracePhase::Loss);
    Node *node = tape.record(fusedLinearCrossEntropy, {&flat, &weight});
    FusedGradients gradients = fusedForward(flat, weight, gpu, budget);
    tape.save(node, 0, gradients.hidden);
    tape.save(node, 1, gradients.weight);
    tape.attach(node, gradients.loss);
    return gradients.loss;
}

} // namespace headroom::network
