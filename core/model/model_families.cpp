// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/model_families.h"

#include "core/model/model_config.h"
#include "core/units/text.h"

#include <array>

#include <fmt/format.h>

namespace headroom {

namespace {

constexpr std::string_view attentionBias = "attention_bias", tanhGelu = "gelu_pytorch_tanh";

constexpr std::array families{
    ModelFamily{.modelType = "llama",
                .maxPositions = 2048,
                .biasKey = attentionBias,
                .biasOnOutput = true,
                .readsMlpBias = true,
                .dividesHidden = true},
    ModelFamily{.modelType = "mistral", .keyValueHeads = 8, .maxPositions = 131072, .window = WindowRule::Always, .windowTokens = 4096},
    ModelFamily{.modelType = "qwen2",
                .keyValueHeads = 32,
                .maxPositions = 32768,
                .bias = true,
                .window = WindowRule::SwitchedOn,
                .windowTokens = 4096},
    ModelFamily{.modelType = "qwen3",
                .keyValueHeads = 32,
                .headDim = 128,
                .maxPositions = 32768,
                .biasKey = attentionBias,
                .biasOnOutput = true,
                .window = WindowRule::SwitchedOn,
                .windowTokens = 4096},
    ModelFamily{.modelType = "granite", .maxPositions = 2048, .biasKey = attentionBias, .biasOnOutput = true, .readsMlpBias = true},
    ModelFamily{.modelType = "smollm3",
                .keyValueHeads = 4,
                .maxPositions = 32768,
                .biasKey = attentionBias,
                .biasOnOutput = true,
                .readsMlpBias = true,
                .tied = true,
                .window = WindowRule::WithoutRope},
    ModelFamily{.modelType = "gemma",
                .keyValueHeads = 16,
                .headDim = 256,
                .maxPositions = 8192,
                .biasKey = attentionBias,
                .biasOnOutput = true,
                .tied = true,
                .activation = tanhGelu},
    ModelFamily{.modelType = "gemma2",
                .keyValueHeads = 4,
                .headDim = 256,
                .maxPositions = 8192,
                .biasKey = attentionBias,
                .biasOnOutput = true,
                .tied = true,
                .activationKey = "hidden_activation",
                .activation = tanhGelu,
                .window = WindowRule::Pattern,
                .windowTokens = 4096,
                .windowPattern = 2,
                .dividesHidden = true},
    ModelFamily{.modelType = "gemma3_text",
                .keyValueHeads = 4,
                .headDim = 256,
                .maxPositions = 131072,
                .biasKey = attentionBias,
                .biasOnOutput = true,
                .tied = true,
                .activationKey = "hidden_activation",
                .activation = tanhGelu,
                .window = WindowRule::Pattern,
                .windowTokens = 4096,
                .windowPattern = 6,
                .dividesHidden = true},
    ModelFamily{.modelType = "olmo2", .maxPositions = 2048, .biasKey = attentionBias, .biasOnOutput = true},
    ModelFamily{.modelType = "olmo3",
                .maxPositions = 2048,
                .biasKey = attentionBias,
                .biasOnOutput = true,
                .window = WindowRule::Pattern,
                .windowTokens = 4096,
                .windowPattern = 4},
    ModelFamily{.modelType = "phi3",
                .maxPositions = 4096,
                .window = WindowRule::Always,
                .readsPartialRotary = true,
                .residualDropoutKey = "resid_pdrop"},
    ModelFamily{.modelType = "glm",
                .keyValueHeads = 2,
                .headDim = 128,
                .maxPositions = 131072,
                .biasKey = attentionBias,
                .bias = true,
                .partialRotary = 0.5,
                .readsPartialRotary = true},
    ModelFamily{.modelType = "glm4",
                .keyValueHeads = 2,
                .headDim = 128,
                .maxPositions = 131072,
                .biasKey = attentionBias,
                .bias = true,
                .partialRotary = 0.5,
                .readsPartialRotary = true},
    ModelFamily{.modelType = "gpt2",
                .maxPositions = 1024,
                .bias = true,
                .biasOnOutput = true,
                .tied = true,
                .activationKey = "activation_function",
                .activation = "gelu_new",
                .gptNames = true,
                .attentionDropoutKey = "attn_pdrop",
                .residualDropoutKey = "resid_pdrop",
                .embeddingDropoutKey = "embd_pdrop",
                .dropout = 0.1,
                .padsEmbeddings = false,
                .dividesHidden = true},
    ModelFamily{.modelType = "gpt_bigcode",
                .maxPositions = 1024,
                .bias = true,
                .biasOnOutput = true,
                .tied = true,
                .activationKey = "activation_function",
                .activation = tanhGelu,
                .gptNames = true,
                .attentionDropoutKey = "attn_pdrop",
                .residualDropoutKey = "resid_pdrop",
                .embeddingDropoutKey = "embd_pdrop",
                .dropout = 0.1,
                .padsEmbeddings = false,
                .dividesHidden = true},
    ModelFamily{.modelType = "gpt_neox",
                .maxPositions = 2048,
                .biasKey = attentionBias,
                .bias = true,
                .biasOnOutput = true,
                .activation = "gelu",
                .partialRotary = 0.25,
                .partialRotaryKey = "rotary_pct",
                .readsPartialRotary = true,
                .residualDropoutKey = "hidden_dropout",
                .embeddingDropoutKey = "hidden_dropout",
                .padsEmbeddings = false,
                .dividesHidden = true},
    ModelFamily{.modelType = "phi",
                .maxPositions = 2048,
                .bias = true,
                .biasOnOutput = true,
                .activation = "gelu_new",
                .partialRotary = 0.5,
                .readsPartialRotary = true,
                .residualDropoutKey = "resid_pdrop",
                .embeddingDropoutKey = "embd_pdrop"},
    ModelFamily{.modelType = "mixtral",
                .keyValueHeads = 8,
                .maxPositions = 131072,
                .window = WindowRule::Always,
                .experts = 8,
                .expertsPerToken = 2},
    ModelFamily{.modelType = "qwen2_moe",
                .keyValueHeads = 16,
                .maxPositions = 32768,
                .biasKey = "qkv_bias",
                .bias = true,
                .window = WindowRule::Qwen2Moe,
                .windowTokens = 4096,
                .experts = 60,
                .expertsPerToken = 4,
                .expertWidth = 1408,
                .sharedExpertWidth = 5632,
                .intermediateSize = 5632},
    ModelFamily{.modelType = "qwen3_moe",
                .keyValueHeads = 4,
                .maxPositions = 32768,
                .biasKey = attentionBias,
                .biasOnOutput = true,
                .window = WindowRule::AllSwitchedOn,
                .windowTokens = 4096,
                .experts = 128,
                .expertsPerToken = 8,
                .expertWidth = 768,
                .intermediateSize = 6144},
    ModelFamily{.modelType = "olmoe",
                .maxPositions = 4096,
                .biasKey = attentionBias,
                .biasOnOutput = true,
                .experts = 64,
                .expertsPerToken = 8,
                .intermediateSize = 2048},
    ModelFamily{.modelType = "gpt_oss",
                .keyValueHeads = 8,
                .headDim = 64,
                .maxPositions = 131072,
                .biasKey = attentionBias,
                .bias = true,
                .biasOnOutput = true,
                .window = WindowRule::Pattern,
                .windowTokens = 128,
                .windowPattern = 2,
                .experts = 128,
                .expertsPerToken = 4,
                .intermediateSize = 2880},
};

} // namespace

const ModelFamily *findModelFamily(std::string_view modelType)
{
    for (const ModelFamily &family : families)
        if (family.modelType == modelType)
            return &family;
    return nullptr;
}

std::optional<Issue> unsupportedReason(std::string_view modelType)
{
    if (findModelFamily(modelType) != nullptr)
        return std::nullopt;

    struct Reason {
        std::string_view modelType, what;
    };
    constexpr std::string_view experts = "this family's routed experts are not executed by this version's engine yet";
    constexpr std::string_view latent = "multi-head latent attention is not executed by this version's engine yet";
    constexpr std::string_view linear = "linear attention is not executed by this version's engine yet";
    constexpr std::string_view towers = "models of several towers are not executed by this version's engine yet";
    constexpr std::array reasons{
        Reason{"phimoe", experts},      Reason{"glm4_moe", experts},
        Reason{"deepseek_v2", latent},  Reason{"deepseek_v3", latent},
        Reason{"deepseek_v32", latent}, Reason{"deepseek_v4", latent},
        Reason{"kimi_k2", latent},      Reason{"glm4_moe_lite", latent},
        Reason{"glm_moe_dsa", latent},  Reason{"qwen3_next", linear},
        Reason{"qwen3_5", linear},      Reason{"qwen3_5_text", linear},
        Reason{"qwen3_5_moe", linear},  Reason{"qwen3_5_moe_text", linear},
        Reason{"gemma3", towers},       Reason{"gemma4", towers},
        Reason{"llama4", towers},       Reason{"bert", "an encoder has no causal language-model loss; only decoders are executed"},
    };
    std::string executed;
    for (const ModelFamily &family : families)
        executed += fmt::format("{}{}", executed.empty() ? "this version executes " : ", ", family.modelType);
    Issue issue{{}, 0, "model_type", {}, executed};
    for (const Reason &reason : reasons)
        if (reason.modelType == modelType)
            issue.what = fmt::format("{}: {}", modelType, reason.what);
    if (modelType == "gemma3")
        issue.hint = "for the text model alone take the config.json's text_config, whose model_type is gemma3_text";
    if (issue.what.empty())
        issue.what = fmt::format("{}: not executed by this version's engine yet", excerpt(modelType));
    return issue;
}

} // namespace headroom
