// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/rules.h"

#include "core/autograd/tape.h"
#include "core/estimate/rules_common.h"
#include "core/estimate/rules_families.h"
#include "core/estimate/rules_liger.h"
#include "core/estimate/rules_methods.h"
#include "core/estimate/rules_sharding.h"

namespace headroom {

using namespace autograd;
using namespace rules;

namespace {

constexpr const char *hf = "huggingface/transformers 5.24, models/llama/modeling_llama.py";
constexpr const char *hfLoss = "huggingface/transformers 5.24, loss/loss_utils.py: ForCausalLMLoss";
constexpr const char *hfMask = "huggingface/transformers 5.24, masking_utils.py";
constexpr const char *engine = "pytorch/pytorch 2.13, torch/csrc/autograd/engine.cpp, input_buffer.cpp";
constexpr const char *accumulate = "pytorch/pytorch 2.13, torch/csrc/autograd/functions/accumulate_grad.h";
constexpr const char *peft = "huggingface/peft 0.21, tuners/lora/layer.py: Linear.forward";
constexpr const char *autocast = "pytorch/pytorch 2.13, aten/src/ATen/autocast_mode.cpp";
constexpr const char *checkpoint = "pytorch/pytorch 2.13, torch/utils/checkpoint.py";
constexpr const char *flash = "pytorch/pytorch 2.13, aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp";
constexpr const char *sdpa = "pytorch/pytorch 2.13, aten/src/ATen/native/transformers/attention.cpp";

const char *groupOf(std::string_view module)
{
    if (has(module, "lora_"))
        return "adapters";
    if (has(module, "norm") || module == "ln_1" || module == "ln_2" || module == "ln_attn" || module == "ln_mlp" || has(module, "ln_f"))
        return "norms";
    if (has(module, "attn") || has(module, "attention"))
        return "attention";
    if (has(module, ".experts") || module == "block_sparse_moe")
        return "experts";
    if (module == "mlp.gate" || module == "mlp.router" || module == "block_sparse_moe.gate")
        return "router";
    if (has(module, "mlp") || has(module, "ffn."))
        return "MLP";
    if (has(module, "embed_tokens") || has(module, "word_embeddings") || has(module, "wte") || has(module, "wpe") ||
        has(module, "embed_in"))
        return "embedding";
    if (has(module, "rotary_emb"))
        return "rotary embedding";
    if (module == "lm_head")
        return "output head";
    if (module == "cuBLAS")
        return "workspaces";
    if (module == "model" || module == "transformer" || module == "gpt_neox")
        return "positions and masks";
    return "other";
}

TensorRule weight(const StorageRecord &s)
{
    const char *group = groupOf(s.module);
    const std::string_view module = s.module;
    if (const auto rule = familyWeightRule(s, group))
        return *rule;
    if (has(module, "lora_A"))
        return {group, "LoRA A", "Each adapted Linear gets a trainable matrix of rank x in features, in the adapters' dtype.", peft};
    if (has(module, "lora_B"))
        return {group, "LoRA B", "Each adapted Linear gets a trainable matrix of out features x rank, in the adapters' dtype.", peft};
    if (has(module, "lora_embedding"))
        return {group, "LoRA A and B of an embedding",
                "An adapted embedding gets trainable matrices of rank x vocabulary and of hidden size x rank.", peft};
    if (std::string_view(s.op) == "aten.clone.default" && !has(module, "rotary_emb"))
        return {group, "trainable copy (modules_to_save)", "A module to save is copied whole; the copy is trained, the original kept.",
                "huggingface/peft 0.21, utils/other.py: ModulesToSaveWrapper"};
    if (has(module, "rotary_emb"))
        return {group, "inverse frequencies", "Two fp32 buffers of head_dim / 2: inv_freq and its original.", hf};
    return {group, s.shape.rank() == 1 ? "vector" : "matrix",
            "Every parameter is stored once, in the precision's weight dtype, for the whole run.", hf};
}

TensorRule gradient(const StorageRecord &s)
{
    return {groupOf(s.module), "gradient of a parameter",
            "A parameter's first gradient is kept as it came from backward, in the parameter's dtype, until zero_grad drops it.",
            accumulate};
}

TensorRule optimizerState(const StorageRecord &s)
{
    const std::string_view op = s.op;
    if (op == "aten.zeros.default")
        return {"step counts", "step", "Fused Adam keeps a step count on the device: one 512-byte block for every trained tensor.", adam};
    if (op == "aten.clone.default")
        return {"momentum", "momentum buffer", "SGD with momentum keeps one buffer as large as each trained parameter, in its dtype.", sgd};
    return {"moments", "moments or momentum",
            "Adam keeps two moments as large as each trained parameter, Lion and Muon one, from the first step on: in the dtype of what "
            "PyTorch updates, in fp32 with bitsandbytes.",
            adam};
}

/// Storages that only the loss makes.
bool lossRule(std::string_view op, const StorageRecord &s, TensorRule &out)
{
    if (has(op, "_log_softmax_backward"))
        out = {"loss", "gradient of the log-softmax's input",
               "The log-softmax's backward makes a gradient as large as the fp32 logits while the loss's gradient is still alive.",
               derivatives};
    else if (has(op, "_log_softmax"))
        out = {"loss", "log-softmax of the logits",
               "cross_entropy keeps the log-probabilities of every token and word in fp32 for its backward.", derivatives};
    else if (has(op, "nll_loss_backward"))
        out = {"loss", "gradient of the log-softmax", "The loss's backward fills a gradient as large as the log-probabilities.",
               derivatives};
    else if (has(op, "nll_loss_forward"))
        out = {"loss", "loss and its weight", "The scalar loss and the number of tokens it is averaged over.", derivatives};
    else if (s.phase == TracePhase::Loss && std::string_view(s.module).empty() && has(op, "_to_copy"))
        out = {"loss", "logits in fp32", "The loss is computed in fp32: the 16-bit logits are copied.", hfLoss};
    else if (s.phase == TracePhase::Loss && s.dtype == DType::Int64)
        out = {"loss", "shifted labels", "Labels are padded by one and shifted, so that each token predicts the next.", hfLoss};
    else if (s.phase == TracePhase::Backward && std::string_view(s.module).empty() && s.layer < 0 && has(op, "_to_copy"))
        out = {"loss", "gradient of the logits", "The gradient of the fp32 logits is cast back to the logits' dtype.", derivatives};
    else if (std::string_view(s.module) == "lm_head" && s.phase == TracePhase::Loss && has(op, "mm"))
        out = {"loss", "logits", "The output head computes a row of the vocabulary's size for every token.", hf};
    else
        return false;
    return true;
}

bool attentionRule(std::string_view op, const StorageRecord &s, TensorRule &out)
{
    const char *g = "attention";
    if (has(op, "attention_backward") && has(op, "kernel buffer"))
        out = {g, "buffers of the attention kernel's backward",
               "The kernel sums dq in fp32, keeps a row sum, and expands grouped keys' and values' gradients to all heads.", flash};
    else if (has(op, "attention_backward"))
        out = {g, "gradients of query, key and value", "Attention's backward makes the three gradients at once.", flash};
    else if (has(op, "flash_attention") || has(op, "efficient_attention"))
        out = s.shape.rank() == 4
                  ? TensorRule{g, "attention output",
                               "Fused attention keeps its output for its own backward; the output projection shares it.", flash}
                  : TensorRule{g, "log-sum-exp and random state",
                               "Fused attention keeps one fp32 number for every head and token instead of the scores.", flash};
    else if (has(op, "softmax_backward"))
        out = {g, "gradient of the scores", "The softmax's backward makes a gradient as large as the scores.", derivatives};
    else if (has(op, "softmax"))
        out = {g, "attention probabilities", "The softmax keeps its result: a row of the sequence's length for every head and token.",
               derivatives};
    else if (has(op, "native_dropout"))
        out = {g, s.dtype == DType::Bool ? "dropout mask" : "dropped values",
               "Dropout keeps a mask of one byte an element; what it returns is kept by the product that follows.", derivatives};
    else if (has(op, "zeros_like") || has(op, "where"))
        out = {g, "attention mask", "A causal mask that the kernel cannot imply is made as a matrix of the sequence's length squared.",
               sdpa};
    else
        return false;
    return true;
}

bool normRule(std::string_view op, const StorageRecord &s, TensorRule &out)
{
    if (!has(s.module, "norm"))
        return false;
    const char *g = "norms";
    if (s.phase == TracePhase::Backward && !s.recomputed)
        out = {g, "gradients within a norm",
               "The norm is written out in operators, so its backward makes several fp32 tensors of the hidden states' size.", derivatives};
    else if (has(op, "_to_copy") && s.dtype == DType::Float32)
        out = {g, "fp32 copy of the norm's input", "RMSNorm computes in fp32: the copy is kept by the square and by the scaling.", hf};
    else if (has(op, "_to_copy"))
        out = {g, "normalised values, 16 bit", "Kept where the norm's weight is trained: its gradient needs them.", derivatives};
    else if (has(op, "rsqrt"))
        out = {g, "inverse root mean square", "One fp32 number a token, kept for the norm's backward.", derivatives};
    else if (has(op, "mul") && s.dtype == DType::Float32 && s.shape.rank() > 0)
        out = {g, "normalised values", "The scaled hidden states; kept where the norm's weight is trained or what follows needs them.",
               derivatives};
    else if (has(op, "mul"))
        out = {g, "output of the norm", "Input of the projections that follow: each trained or adapted Linear keeps it, once for all.",
               derivatives};
    else
        out = {g, "short-lived results within a norm", "The norm is written out in operators; each makes a tensor.", hf};
    return true;
}

TensorRule activationOrTemporary(const StorageRecord &s, Component component)
{
    const std::string_view op = s.op, module = s.module;
    const char *group = groupOf(module);
    TensorRule out{};
    if (s.role == Role::Input)
        return {"batch", "input_ids and labels", "The batch's token ids and labels, 8 bytes a token each, kept from step to step.",
                "plan format 1"};
    if (isBlasWorkspace(s))
        return {"workspaces", "cuBLAS workspace",
                "Each cuBLAS handle takes a workspace at its first product and keeps it; forward and backward run on two threads with a "
                "handle each.",
                "pytorch/pytorch 2.13, aten/src/ATen/cuda/CublasHandlePool.cpp"};
    if (s.kept && component == Component::Activations)
        return {
            group, "results kept from checkpointing",
            "Selective checkpointing keeps what this operator returns, so that the layer's second run takes it instead of computing it.",
            checkpoint};
    if (lossRule(op, s, out))
        return out;
    if (const auto rule = familyRule(s, group))
        return *rule;
    if (normRule(op, s, out) || attentionRule(op, s, out))
        return out;
    if (has(op, "embedding_dense_backward"))
        return {"embedding", "gradient of the embedding",
                "The embedding's gradient is dense; above 3072 tokens its kernel sorts the ids and sums in fp32.",
                "pytorch/pytorch 2.13, aten/src/ATen/native/cuda/EmbeddingBackwardKernel.cu"};
    if (has(module, "rotary_emb"))
        return {"rotary embedding", "cosines and sines", "Made once a forward pass and kept by every layer's rotation.", hf};
    if (module == "model" || module == "transformer" || module == "gpt_neox")
        return {"positions and masks", "position ids and masks",
                "Made once a forward pass; a checkpointed layer's arguments keep them until its backward.", hfMask};
    if (has(module, "lora_A") && has(op, "_to_copy"))
        return {"adapters", "adapter's own 16-bit copies",
                "Autocast casts the adapter's fp32 input and weight to 16 bit again; the product keeps both copies.", autocast};
    if (has(module, "lora_A") || has(module, "lora_B"))
        return {"adapters", "results within an adapter",
                "The low-rank product x A^T is kept for the gradient of B; B's result is added to the layer's output.", peft};
    if (s.phase == TracePhase::Forward && has(module, "_proj") && has(op, "_to_copy") && s.dtype == DType::Float32)
        return {
            "adapters", "fp32 copy of an adapted Linear's input",
            "The adapter's weights are fp32, so its input is cast. Without autocast every adapted Linear keeps a copy of its own, twice "
            "as large as the 16-bit input that full fine-tuning keeps once for all Linears it enters.",
            peft};
    if (s.phase != TracePhase::Backward || s.recomputed) {
        if (has(op, "_to_copy"))
            return {group, "16-bit copies for products",
                    "Autocast casts a product's inputs and weights, a quantised Linear its input; a product keeps the copies its gradients "
                    "need.",
                    autocast};
        if (has(module, "act_fn"))
            return {"MLP", "output of the activation", "Kept by the product of gate and up, whose gradients need both factors.",
                    derivatives};
        if (has(module, "gate_proj"))
            return {"MLP", "output of gate_proj", "Kept by the activation function: its gradient needs its input.", derivatives};
        if (has(module, "up_proj"))
            return {"MLP", "output of up_proj", "Kept by the product of gate and up, whose gradients need both factors.", derivatives};
        if (module == "mlp")
            return {"MLP", "input of down_proj", "A Linear keeps its input where its weight is trained.", derivatives};
        if ((module == "self_attn" || module == "self_attention") && component == Component::Activations)
            return {"attention", "query, key and value after rotation", "Attention keeps what it multiplies.", derivatives};
        if (has(module, "v_proj"))
            return {"attention", "value", "Attention keeps what it multiplies.", derivatives};
        if (module.empty() && s.layer >= 0)
            return {"layer outputs", "hidden states between layers",
                    "A layer's output; where layers are checkpointed, this input is all that a layer keeps.", checkpoint};
        if (has(module, "embed_tokens"))
            return {"embedding", "embedded tokens", "The hidden states that enter the first layer.", hf};
        return {group, "operator results", "An operator's result lives as long as the model code or a saved tensor refers to it.", hf};
    }
    if (has(op, "add"))
        return {group, "summed gradients",
                "Two gradients that meet at one tensor are added; into the first only where nobody else holds it.", engine};
    return {group, "gradients of activations",
            "Backward makes the gradient of an operator's input while that of its output is still alive.", engine};
}

} // namespace

TensorRule ruleFor(const StorageRecord &storage, Component component)
{
    if (madeByEngine(storage))
        return deepSpeedRule(storage, component);
    if (const auto rule = methodRule(storage, component, groupOf(storage.module)))
        return *rule;
    if (const auto rule = ligerRule(storage, component))
        return *rule;
    switch (component) {
    case Component::Weights: return weight(storage);
    case Component::Gradients: return gradient(storage);
    case Component::Optimizer: return optimizerState(storage);
    case Component::Activations:
    case Component::Temporary: break;
    }
    return activationOrTemporary(storage, component);
}

} // namespace headroom
