// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/autograd/tape.h"

/// PyTorch's operators, by what they allocate and save. Forward rules follow ATen and torch/csrc/autograd
/// (VariableType: which inputs are saved), backward rules tools/autograd/derivatives.yaml and FunctionsManual.cpp,
/// as PyTorch 2.13 runs them on CUDA. Each was compared with traces, allocation by allocation.
///
/// Operators of a stopped recomputation do nothing and return undefined tensors; undefined tensors have no sizes.
namespace headroom::autograd {

/// Nothing to compute: the recomputation has stopped, before or at this tensor.
inline bool halted(const Tensor &t) { return !t || t->tape->stopped(); }

// -- views: no memory of their own, but they keep their base alive
Tensor view(const Tensor &t, const Dims &sizes);    ///< sizes must fit the strides
Tensor reshape(const Tensor &t, const Dims &sizes); ///< a view where the strides allow it, else a copy
Tensor transpose(const Tensor &t, int a, int b);
Tensor transposed2d(const Tensor &t); ///< t.t()
Tensor unsqueeze(const Tensor &t, int dim);
Tensor expand(const Tensor &t, const Dims &sizes);
Tensor sliceLast(const Tensor &t, std::int64_t from, std::int64_t length); ///< t[..., from:from+length]
Tensor everySecond(const Tensor &t);                                       ///< t[..., 0::2], t[..., 1::2]
std::vector<Tensor> chunkLast(const Tensor &t, int count);                 ///< t.chunk(count, dim=-1), up to three
std::vector<Tensor> splitLast(const Tensor &t, const Dims &sizes);         ///< t.split(sizes, dim=-1), up to three
Tensor sliceRows(const Tensor &t, std::int64_t length);                    ///< t[..., :length, :]
Tensor selectRow(const Tensor &t);                                         ///< t[..., i, :], whichever it is
Tensor contiguous(const Tensor &t);                                        ///< t itself where it is row-major, else a copy

// -- elementwise
Tensor add(const Tensor &a, const Tensor &b);
Tensor addNumber(const Tensor &a); ///< a + 1e-6
Tensor sub(const Tensor &a, const Tensor &b);
Tensor subNumber(const Tensor &a);            ///< a - 1
Tensor div(const Tensor &a, const Tensor &b); ///< b must not need a gradient
Tensor mul(const Tensor &a, const Tensor &b); ///< saves each factor that the other's gradient needs
Tensor mulNumber(const Tensor &a); ///< a * 0.5 from Python: a wrapped number is not kept by saved-tensor hooks and takes no memory here
Tensor mulScalar(const Tensor &a); ///< mul.Scalar: nothing saved
Tensor divNumber(const Tensor &a);
Tensor neg(const Tensor &a);
Tensor square(const Tensor &a); ///< a.pow(2)
Tensor cube(const Tensor &a);   ///< torch.pow(a, 3.0): in fp32 under autocast
Tensor tanh(const Tensor &a);
Tensor relu(const Tensor &a);
Tensor sigmoid(const Tensor &a);
Tensor rsqrt(const Tensor &a);
Tensor silu(const Tensor &a);
Tensor gelu(const Tensor &a);
Tensor bloomGelu(const Tensor &a); ///< BLOOM's GeLUFunction: written out in operators, forward and backward; keeps its input alone
Tensor softplus(const Tensor &a);  ///< in fp32 under autocast
Tensor expm1(const Tensor &a);     ///< in fp32 under autocast
/// torch.min(a, limit), the limit a number on the device that needs no gradient
Tensor minimum(const Tensor &a, const Tensor &limit);
Tensor where(const Tensor &mask, const Tensor &a, const Tensor &b); ///< a and b of one dtype and of the mask's sizes
Tensor toCopy(const Tensor &a, DType dtype);                        ///< a.to(dtype), always a copy
Tensor to(const Tensor &a, DType dtype);                            ///< a.to(dtype): a itself where it has that dtype
Tensor clone(const Tensor &a, const Dims &strides);
Tensor dropout(const Tensor &a, double p); ///< native_dropout; a itself for p == 0
Tensor unary(const Tensor &a, const char *op,
             std::optional<DType> dtype = {}); ///< an elementwise result for which no gradient is recorded (cos, sin ...)

Tensor clamp(const Tensor &a, bool fromBelowToo); ///< a.clamp(max=7.0); fromBelowToo: a.clamp(min=-7.0, max=7.0)
void addInPlace(Tensor &a, const Tensor &b);      ///< a.add_(b)
void mulNumberInPlace(Tensor &a);                 ///< a *= 0.125
void divNumberInPlace(Tensor &a);                 ///< a /= 8.0

// -- joined, repeated
Tensor catLast(const Tensor &a, const Tensor &b);
Tensor stackLast(const Tensor &a, const Tensor &b);           ///< torch.stack((a, b), dim=-1)
Tensor repeatInterleaveLast(const Tensor &a, std::int64_t n); ///< a.repeat_interleave(n, dim=-1): always a copy

/// base[..., i:j].copy_(source): the source's gradient is cut out of a copy of the base's (csrc/autograd/functions/tensor.cpp:
/// CopySlices).
void copyIntoSlice(Tensor &base, const Tensor &source);

// -- reductions
Tensor meanLast(const Tensor &a);            ///< mean over the last dimension, kept as 1
Tensor maxLast(const Tensor &a);             ///< a.max(dim=-1, keepdim=True).values
Tensor sumTo(Tensor &&a, const Dims &sizes); ///< reduces broadcast dimensions of a gradient

// -- matrix products
Tensor mm(const Tensor &a, const Tensor &b);                         ///< [n, k] x [k, m]
Tensor addmm(const Tensor &bias, const Tensor &a, const Tensor &b);  ///< bias + a b, under autocast too
Tensor bmm(const Tensor &a, const Tensor &b);                        ///< [b, n, k] x [b, k, m]
Tensor baddbmm(const Tensor &sum, const Tensor &a, const Tensor &b); ///< sum + alpha * a b, alpha not 1; casts nothing under autocast
Tensor matmul(const Tensor &a, const Tensor &b);                     ///< [..., n, k] x [..., k, m], leading sizes broadcast
Tensor linear(const Tensor &x, const Tensor &weight, const Tensor &bias = {}); ///< F.linear, under autocast too

// -- normalisation, softmax, loss
Tensor layerNorm(const Tensor &x, const Tensor &weight, const Tensor &bias);     ///< weight and bias: both, the weight, or neither
Tensor layerNormAsIs(const Tensor &x, const Tensor &weight, const Tensor &bias); ///< where autocast is switched off
Tensor softmax(const Tensor &x, std::optional<DType> dtype = {});
Tensor keepWhere(const Tensor &mask, const Tensor &a); ///< torch.where(mask, a, a number on the device)
Tensor safeSoftmax(const Tensor &x);
Tensor logSoftmax(const Tensor &x);
Tensor nllLoss(const Tensor &logProbabilities, const Tensor &target);
Tensor embedding(const Tensor &weight, const Tensor &indices);

// -- routed experts
struct TopK {
    Tensor values, indices;
};
TopK topK(const Tensor &x, std::int64_t k);                                    ///< over the last dimension
Tensor indexRows(const Tensor &t, const Tensor &rows, int dim = 0);            ///< t[rows], t[:, rows]: a copy
Tensor indexPairs(const Tensor &t, const Tensor &rows, const Tensor &columns); ///< t[rows, columns], a copy
void addRows(Tensor &t, const Tensor &rows, const Tensor &source);             ///< t.index_add_(0, rows, source)
Tensor gather(const Tensor &t, const Tensor &indices);                         ///< t.gather(1, indices)
Tensor maskedFill(const Tensor &t, const Tensor &mask); ///< t.masked_fill(mask, a number), the mask broadcast to t's sizes
Tensor sumOver(const Tensor &t, int dim, bool keepDim); ///< t.sum(dim)
void divideInPlace(Tensor &a, const Tensor &b);         ///< a /= b
/// F.grouped_mm: rows of [n, in] by the matrix of their group, weight [E, in, out]; `offsets` end the groups.
Tensor groupedMm(const Tensor &x, const Tensor &weight, const Tensor &offsets);

// -- attention
/// F.scaled_dot_product_attention on [B, H, S, D], dispatched as on compute capability 8: flash, memory-efficient, math.
Tensor scaledDotProductAttention(Tensor query, Tensor key, Tensor value, Tensor mask, double dropoutP, bool causal, bool groupedHeads);

/// Strides of an elementwise result (ATen/TensorIterator.cpp: reorder_dimensions, allocate_or_resize_outputs).
Dims elementwiseStrides(const Tensor &a, const Tensor &b, const Dims &sizes);
/// Strides as a's where a is dense, else dense in the order of a's (memory_format=preserve).
Dims preservedStrides(const Tensor &a);
/// The dtype that two tensors promote to.
DType promote(DType a, DType b);

} // namespace headroom::autograd
