// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/network/families.h"

#include <array>

namespace headroom::network {

namespace {

struct Family {
    std::string_view modelType;
    MakeDecoderModel *make;
};

constexpr std::array families{
    Family{"llama", makeLlama},
    Family{"mistral", makeMistral},
    Family{"qwen2", makeLlama},
    Family{"qwen3", makeLlama},
    Family{"granite", makeGranite},
    Family{"smollm3", makeSmolLm3},
    Family{"gemma", makeGemma},
    Family{"gemma2", makeGemma2},
    Family{"olmo2", makeOlmo2},
    Family{"olmo3", makeOlmo3},
    Family{"gemma3_text", makeGemma3},
    Family{"phi3", makePhi3},
    Family{"glm", makeGlm},
    Family{"glm4", makeGlm4},
    Family{"gpt2", makeGpt2},
    Family{"gpt_bigcode", makeGptBigCode},
    Family{"gpt_neox", makeGptNeoX},
    Family{"gpt_oss", makeGptOss},
    Family{"phi", makePhi},
    Family{"starcoder2", makeStarcoder2},
    Family{"stablelm", makeStableLm},
    Family{"olmo", makeOlmo},
    Family{"cohere", makeCohere},
    Family{"cohere2", makeCohere},
    Family{"exaone4", makeExaone4},
    Family{"ernie4_5", makeErnie},
    Family{"seed_oss", makeSeedOss},
    Family{"hunyuan_v1_dense", makeHunYuan},
    Family{"arcee", makeArcee},
    Family{"ministral", makeMinistral},
    Family{"ministral3", makeMinistral3},
    Family{"cwm", makeMinistral},
    Family{"helium", makeHelium},
    Family{"hyperclovax", makeHyperClovaX},
    Family{"jais2", makeJais2},
    Family{"exaone", makeLlama},
    Family{"internlm3", makeLlama},
    Family{"iquestcoder", makeLlama},
    Family{"nemotron", makeNemotron},
    Family{"vaultgemma", makeVaultGemma},
    Family{"bitnet", makeBitNet},
    Family{"deepseek_v3", makeDeepSeek},
    Family{"glm4_moe_lite", makeDeepSeek},
    Family{"youtu", makeDeepSeek},
    Family{"glm4_moe", makeGlm4Moe},
    Family{"sarvam_moe", makeGlm4Moe},
    Family{"granitemoe", makeGraniteMoe},
    Family{"granitemoeshared", makeGraniteMoe},
    Family{"granitemoehybrid", makeGraniteMoe},
    Family{"opt", makeOpt},
    Family{"gptj", makeGptJ},
    Family{"codegen", makeGptJ},
    Family{"falcon", makeFalcon},
    Family{"bloom", makeBloom},
    Family{"mpt", makeMpt},
    Family{"gpt_neo", makeGptNeo},
    Family{"apertus", makeApertus},
    Family{"nanochat", makeNanoChat},
    Family{"persimmon", makePersimmon},
    Family{"mixtral", makeMixtral},
    Family{"qwen3_moe", makeMixtral},
    Family{"qwen2_moe", makeQwen2Moe},
    Family{"olmoe", makeOlmoe},
};

} // namespace

std::unique_ptr<DecoderModel> makeDecoderModel(const ModelConfig &config, AttentionKind attention, Version transformers)
{
    for (const Family &family : families)
        if (family.modelType == config.modelType)
            return family.make(config, attention, transformers);
    return nullptr;
}

} // namespace headroom::network
