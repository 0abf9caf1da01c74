// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/autograd/operators.h"

namespace headroom::autograd {

namespace {

void softmaxBackward(BackwardCall &call)
{
    Tensor result = call.unpack(0);
    // grad_input has the input's dtype: half where a half input was converted inside the kernel
    call.give(0, call.tape.empty(call.node.sizes, static_cast<DType>(call.node.scalars[0]), "aten._softmax_backward_data.default"));
}
constexpr Operator softmaxOperator{"SoftmaxBackward0", softmaxBackward};

void logSoftmaxBackward(BackwardCall &call)
{
    Tensor result = call.unpack(0);
    call.give(0, call.tape.empty(call.node.sizes, call.grad.dtype(), "aten._log_softmax_backward_data.default"));
}
constexpr Operator logSoftmaxOperator{"LogSoftmaxBackward0", logSoftmaxBackward};

void nllLossBackward(BackwardCall &call)
{
    Tensor self = call.unpack(0), target = call.unpack(1), totalWeight = call.unpack(2);
    call.give(0, call.tape.empty(call.node.sizes, self.dtype(), "aten.nll_loss_backward.default"));
}
constexpr Operator nllLossOperator{"NllLossBackward0", nllLossBackward};

/// embedding_dense_backward: a dense gradient; above 3072 tokens the kernel sorts the indices and sums segments in fp32
/// (aten/src/ATen/native/cuda/Embedding.cu, EmbeddingBackwardKernel.cu).
void embeddingBackward(BackwardCall &call)
{
    Tensor indices = call.unpack(0);
    Tape &tape = call.tape;
    const std::int64_t n = indices.sizes().elements(), width = call.node.sizes[1];
    std::array<StorageId, 7> buffers{};
    std::size_t used = 0;
    if (n > 3072) {
        const char *op = "aten.embedding_dense_backward.default (kernel buffer)";
        buffers[used++] = tape.allocateStorage(checkedMultiply(checkedMultiply(4, n), width), op);
        for (int i = 0; i < 6; ++i)
            buffers[used++] = tape.allocateStorage(checkedMultiply(8, n), op);
    }
    call.give(0, tape.empty(call.node.sizes, call.grad.dtype(), "aten.embedding_dense_backward.default"));
    for (std::size_t i = 0; i < used; ++i)
        tape.freeStorage(buffers[i]);
}
constexpr Operator embeddingOperator{"EmbeddingBackward0", embeddingBackward};

void layerNormBackward(BackwardCall &call)
{
    Tensor input = call.unpack(0), mean = call.unpack(1), rstd = call.unpack(2), weight, bias;
    if (call.node.savedCount > 3) // it has a weight
        weight = call.unpack(3);
    if (call.node.savedCount > 4)
        bias = call.unpack(4);
    const char *op = "aten.native_layer_norm_backward.default";
    if (call.needs(0))
        call.give(0, call.tape.empty(input.sizes(), call.grad.dtype(), op));
    for (int i = 1; i <= 2; ++i)
        if (call.needs(i))
            call.give(i, call.tape.empty(weight.sizes(), weight.dtype(), op));
}
constexpr Operator layerNormOperator{"NativeLayerNormBackward0", layerNormBackward};

Tensor normalise(const Tensor &x, const Tensor &weight, const Tensor &bias)
{
    if (halted(x))
        return {};
    Tape &tape = *x->tape;
    Node *node = tape.record(layerNormOperator, {&x, &weight, &bias});
    tape.save(node, 0, x);
    tape.save(node, 3, weight);
    tape.save(node, 4, bias);
    if (tape.stopped())
        return {};
    Dims rows = x.sizes();
    rows[rows.rank() - 1] = 1;
    Tensor out = tape.empty(x.sizes(), x.dtype(), "aten.native_layer_norm.default");
    Tensor mean = tape.empty(rows, DType::Float32, "aten.native_layer_norm.default");
    Tensor rstd = tape.empty(rows, DType::Float32, "aten.native_layer_norm.default");
    tape.attach(node, out);
    tape.save(node, 1, mean);
    tape.save(node, 2, rstd);
    return out;
}

Tensor savingResult(const Operator &op, const Tensor &x, DType resultDtype, const char *name)
{
    Tape &tape = *x->tape;
    Node *node = tape.record(op, {&x});
    if (node) {
        node->sizes = x.sizes();
        node->scalars[0] = static_cast<std::int64_t>(x.dtype());
    }
    Tensor out = tape.empty(x.sizes(), resultDtype, name);
    tape.attach(node, out);
    tape.save(node, 0, out);
    return out;
}

} // namespace

Tensor softmax(const Tensor &x, std::optional<DType> dtype)
{
    if (halted(x))
        return {};
    // On CUDA a float16 input is converted within the kernel; bfloat16 is converted before it
    // (aten/src/ATen/native/SoftMax.cpp: softmax).
    const DType result = dtype.value_or(x.dtype());
    if (result == x.dtype() || (x.dtype() == DType::Float16 && result == DType::Float32))
        return savingResult(softmaxOperator, x, result, "aten._softmax.default");
    Tensor converted = toCopy(x, result);
    return savingResult(softmaxOperator, converted, result, "aten._softmax.default");
}

Tensor safeSoftmax(const Tensor &x)
{
    return !halted(x) ? savingResult(softmaxOperator, x, x.dtype(), "aten._safe_softmax.default") : Tensor();
}

Tensor logSoftmax(const Tensor &x)
{
    return !halted(x) ? savingResult(logSoftmaxOperator, x, x.dtype(), "aten._log_softmax.default") : Tensor();
}

Tensor nllLoss(const Tensor &logProbabilities, const Tensor &target)
{
    if (halted(logProbabilities))
        return {};
    Tape &tape = *logProbabilities->tape;
    Node *node = tape.record(nllLossOperator, {&logProbabilities});
    if (node)
        node->sizes = logProbabilities.sizes();
    tape.save(node, 0, logProbabilities);
    tape.save(node, 1, target);
    if (tape.stopped())
        return {};
    Tensor out = tape.empty({}, logProbabilities.dtype(), "aten.nll_loss_forward.default");
    Tensor totalWeight = tape.empty({}, logProbabilities.dtype(), "aten.nll_loss_forward.default");
    tape.attach(node, out);
    tape.save(node, 2, totalWeight);
    return out;
}

Tensor embedding(const Tensor &weight, const Tensor &indices)
{
    if (halted(weight) || !indices)
        return {};
    Tape &tape = *weight->tape;
    Node *node = tape.record(embeddingOperator, {&weight});
    if (node)
        node->sizes = weight.sizes();
    tape.save(node, 0, indices);
    if (tape.stopped())
        return {};
    Dims sizes = indices.sizes();
    sizes.append(weight.size(1));
    Tensor out = tape.empty(sizes, weight.dtype(), "aten.embedding.default");
    tape.attach(node, out);
    return out;
}

Tensor layerNorm(const Tensor &x, const Tensor &weight, const Tensor &bias)
{
    if (halted(x))
        return {};
    Tape &tape = *x->tape;
    if (tape.autocast()) { // on autocast's list of operators in fp32; arguments are cast from the last to the first
        const Tensor castBias = to(bias, DType::Float32), castWeight = to(weight, DType::Float32), castInput = to(x, DType::Float32);
        return normalise(castInput, castWeight, castBias);
    }
    return normalise(x, weight, bias);
}

Tensor layerNormAsIs(const Tensor &x, const Tensor &weight, const Tensor &bias) { return normalise(x, weight, bias); }

} // namespace headroom::autograd
