// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// AutoGPTQ 0.7.1: nn_modules/qlinear/qlinear_tritonv2.py, nn_modules/triton_utils/dequant.py (the same in
// foundation-model-stack/fms-acceleration, plugins/accelerated-peft). GPTQModel 7.7: nn_modules/qlinear/torch.py.
#include "core/network/gptq.h"

#include "core/autograd/operators.h"
#include "core/network/quantized_weight.h"

namespace headroom::network {

using namespace autograd;

namespace {

constexpr std::int64_t groupSize = 128, perWord = 8; ///< inputs of one scale; 4-bit codes in an int32

constexpr const char *dequantized = "gptq.dequant > aten.empty.memory_format";

/// What the function keeps in its ctx besides saved tensors.
struct Context {
    std::shared_ptr<const QuantizedWeight> weight;
    std::optional<DType> autocast; ///< custom_fwd, custom_bwd: backward runs under the autocast that forward ran under
};

/// `input @ other` of two matrices: autocast casts the second first.
Tensor product(const Tensor &a, const Tensor &b)
{
    Tape &tape = *a->tape;
    const Tensor right = tape.autocastCast(b);
    const Tensor left = tape.autocastCast(a);
    return mm(left, right);
}

/// dequant248: always fp16.
Tensor dequantize(Tape &tape, const QuantizedWeight &weight)
{
    return tape.empty({weight.sizes[1], weight.sizes[0]}, DType::Float16, dequantized);
}

void quantLinearBackward(BackwardCall &call)
{
    const std::array<Tensor, 4> saved{call.unpack(0), call.unpack(1), call.unpack(2), call.unpack(3)};
    if (!call.needs(0))
        return;
    const auto &context = *static_cast<const Context *>(call.node.context.get());
    Tape::Autocast autocast(call.tape, context.autocast);
    const Tensor weight = dequantize(call.tape, *context.weight);
    call.give(0, product(call.grad, transposed2d(weight)));
    call.grad.reset(); // a Python function lets go of it before the engine looks at what it returns
}
constexpr Operator quantLinear{"QuantLinearFunctionBackward", quantLinearBackward};

Tensor autoGptqLinear(const Tensor &x, const std::shared_ptr<QuantizedWeight> &weight, const Tensor &bias)
{
    Tape &tape = *x->tape;
    Dims sizes = x.sizes();
    const Tensor rows = reshape(x, {sizes.leading().elements(), sizes.back()});
    Node *node = tape.record(quantLinear, {&rows});
    Tensor out;
    {
        Tape::NoGrad inFunction(tape);
        const Tensor made = dequantize(tape, *weight);
        out = product(rows, made);
    }
    if (node) {
        node->context = std::make_shared<Context>(Context{weight, tape.autocast()});
        tape.attach(node, out);
        int slot = 0;
        for (const Tensor *kept : {&weight->codes, &weight->scales, &weight->zeros, &weight->groups})
            tape.save(node, slot++, *kept);
    }
    if (halted(out))
        return {};
    sizes[sizes.rank() - 1] = weight->sizes[0];
    out = reshape(to(out, DType::Float16), sizes);
    return bias ? add(out, bias) : out;
}

/// The bias is added in place to a view of the product, which autograd takes for a change of the product
/// (torch/csrc/autograd/functions/tensor.cpp: CopySlices): backward copies the gradient into the product's layout, and out of
/// there once more for the gradient of the addition.
void copySlicesBackward(BackwardCall &call)
{
    Tensor whole = call.tape.empty(call.node.sizes, call.grad.dtype(), "aten.new_empty_strided.default");
    {
        const Dims &sizes = *static_cast<const Dims *>(call.node.context.get()); // of the view
        const Tensor slice = call.tape.empty(sizes, call.grad.dtype(), "aten.clone.default");
    }
    call.give(0, std::move(whole));
}
constexpr Operator copySlices{"CopySlices", copySlicesBackward};

/// TorchLinear._forward_eager. What dequantize_weight computes is one kernel, since post_init() compiles it: torch.compile
/// allocates the result alone.
Tensor gptqModelLinear(const Tensor &x, const QuantizedWeight &weight, const Tensor &bias)
{
    Tape &tape = *x->tape;
    Dims sizes = x.sizes();
    const Tensor rows = reshape(x, {sizes.leading().elements(), sizes.back()});
    Tensor out;
    {
        Tensor made = tape.empty({weight.sizes[1], weight.sizes[0]}, weight.scales.dtype(), dequantized);
        made = to(made, x.dtype());
        out = product(rows, made);
    }
    sizes[sizes.rank() - 1] = weight.sizes[0];
    if (halted(out) || !bias)
        return halted(out) ? Tensor() : reshape(out, sizes);
    const Tensor cast = to(bias, out.dtype());
    Node *node = tape.record(copySlices, {&out});
    Tensor changed = tape.detach(out);
    if (node) {
        node->sizes = out.sizes();
        node->context = std::make_shared<Dims>(sizes);
        tape.attach(node, changed);
    }
    return reshape(changed, sizes);
}

} // namespace

GptqLibrary gptqLibrary(Version transformers) { return transformers < Version{5, 0} ? GptqLibrary::AutoGptq : GptqLibrary::GptqModel; }

DType gptqBiasDtype(const QuantizedWeight &weight) { return weight.scales.dtype(); }

void loadGptqWeight(Tape &tape, QuantizedWeight &weight)
{
    const std::int64_t out = weight.sizes[0], in = weight.sizes[1], groups = in / groupSize + (in % groupSize != 0);
    const auto keep = [&](const Dims &sizes, DType dtype, const char *op) {
        Tensor t = tape.empty(sizes, dtype, op);
        tape.setRole(t, Role::Parameter);
        return t;
    };
    const bool autoGptq = weight.library == GptqLibrary::AutoGptq;
    weight.codes = keep({in / perWord, out}, DType::Int32, "gptq.qweight > aten._to_copy.default");
    weight.zeros = keep({groups, out / perWord}, DType::Int32, "gptq.qzeros > aten._to_copy.default");
    weight.scales = keep({groups, out}, autoGptq ? DType::Float16 : weight.dtype, "gptq.scales > aten._to_copy.default");
    weight.groups = keep({in}, DType::Int32, "gptq.g_idx > aten._to_copy.default");
    if (autoGptq)
        return;
    // the shifts that unpack a word's codes: wf_unsqueeze_zero, wf_unsqueeze_neg_one
    weight.shifts[0] = keep({1, 1, perWord}, DType::Int32, "gptq.shifts > aten._to_copy.default");
    weight.shifts[1] = keep({1, perWord, 1}, DType::Int32, "gptq.shifts > aten._to_copy.default");
}

Tensor gptqLinear(const Tensor &x, const std::shared_ptr<QuantizedWeight> &weight, const Tensor &bias)
{
    return weight->library == GptqLibrary::AutoGptq ? autoGptqLinear(x, weight, bias) : gptqModelLinear(x, *weight, bias);
}

} // namespace headroom::network
