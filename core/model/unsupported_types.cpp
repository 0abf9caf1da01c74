// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Why a model_type is refused: what each class of transformers 5.24, models/auto/modeling_auto.py:
// MODEL_FOR_CAUSAL_LM_MAPPING_NAMES has in its models/*/modeling_*.py that the engine does not execute.
#include "core/model/model_config.h"
#include "core/model/model_families.h"
#include "core/units/text.h"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headroom {

namespace {

using Types = std::initializer_list<std::string_view>;

struct Group {
    std::string_view what;
    Types types;
};

const Group groups[] = {
    {"multi-head latent attention is not executed by this version's engine yet",
     {"axk1", "axk2", "deepseek_v2", "deepseek_v32", "deepseek_v4", "dots3_note", "dots3_note_text", "glm_moe_dsa", "hy_v4", "kimi_k2",
      "longcat_flash", "minicpm3", "sarvam_mla"}},
    {"linear attention and state-space layers are not executed by this version's engine yet",
     {"bailing_hybrid",
      "bamba",
      "falcon_h1",
      "falcon_mamba",
      "inkling2_loop_text",
      "inkling2_text",
      "inkling_text",
      "jamba",
      "kimi_linear",
      "lara_mini",
      "lfm2",
      "lfm2_moe",
      "lfm3",
      "mamba",
      "mamba2",
      "minimax",
      "minimax_m3_vl_text",
      "nemotron_h",
      "olmo_hybrid",
      "qwen3_5",
      "qwen3_5_moe",
      "qwen3_5_moe_text",
      "qwen3_5_text",
      "qwen3_next",
      "qwen4_exp",
      "qwen4_exp_text",
      "recurrent_gemma",
      "rwkv",
      "xlstm",
      "zamba",
      "zamba2"}},
    {"this family's routed experts are not executed by this version's engine yet",
     {"afmoe",       "aria_text", "beam",           "cohere2_moe",    "dbrx",       "dots1",  "ernie4_5_moe", "exaone_moe",
      "flex_olmo",   "flint",     "granitemoe_swa", "hunyuan_v1_moe", "hy_v3",      "jetmoe", "kolibri1",     "laguna",
      "llama4_text", "mellum",    "mimo_v2_flash",  "minimax_m2",     "solar_open", "zaya"}},
    {"its experts are chosen by SparseMixer, a router that draws at random, which this version's engine does not execute yet", {"phimoe"}},
    {"models of several towers are not executed by this version's engine yet",
     {"aria",
      "fuyu",
      "gemma3",
      "gemma3n",
      "gemma4",
      "gemma4_unified",
      "git",
      "got_ocr2",
      "idefics2",
      "idefics3",
      "internvl",
      "llama4",
      "llava",
      "llava_next",
      "llava_onevision",
      "mistral3",
      "mllama",
      "moshi",
      "moss_transcribe_diarize",
      "paligemma",
      "phi4_multimodal",
      "pixtral",
      "qwen2_5_omni",
      "qwen2_5_vl",
      "qwen2_audio",
      "qwen2_vl",
      "qwen3_vl",
      "qwen3_vl_moe",
      "smolvlm",
      "voxtral"}},
    {"an encoder has no causal language-model loss; only decoders are executed",
     {"bert",        "bert-generation", "big_bird", "camembert", "data2vec-text",        "electra",  "ernie",    "megatron-bert",
      "modernbert",  "reformer",        "rembert",  "roberta",   "roberta-prelayernorm", "roc_bert", "roformer", "xlm",
      "xlm-roberta", "xlm-roberta-xl",  "xlnet",    "xmod"}},
    {"models of an encoder and a decoder are not executed by this version's engine yet",
     {"bart", "bigbird_pegasus", "blenderbot", "blenderbot-small", "marian", "mbart", "musicgen", "musicgen_melody", "mvp", "pegasus",
      "plbart", "prophetnet", "t5", "trocr", "whisper"}},
    {"its code comes with the checkpoint and is not in transformers: it is not executed by this version's engine yet",
     {"baichuan", "chatglm", "internlm", "internlm2", "phi3small", "qwen"}},
};

/// The first few of what is executed.
std::string executedHint(const std::vector<std::string_view> &types)
{
    constexpr std::size_t named = 8;
    return fmt::format("this version executes {} and {} more types (docs/model-types.md)",
                       fmt::join(types.begin(), types.begin() + named, ", "), types.size() - named);
}

} // namespace

std::optional<Issue> unsupportedReason(std::string_view modelType)
{
    if (findModelFamily(modelType) != nullptr)
        return std::nullopt;
    const std::vector<std::string_view> executed = executedModelTypes();
    Issue issue{{}, 0, "model_type", {}, executedHint(executed)};
    for (const Group &group : groups)
        if (std::find(group.types.begin(), group.types.end(), modelType) != group.types.end())
            issue.what = fmt::format("{}: {}", modelType, group.what);
    if (modelType == "gemma3")
        issue.hint = "for the text model alone take the config.json's text_config, whose model_type is gemma3_text";
    if (issue.what.empty()) {
        issue.what = fmt::format("{}: not executed by this version's engine yet", excerpt(modelType));
        if (const auto meant = nearest(modelType, executed))
            issue.hint = fmt::format("is \"{}\" meant? Otherwise: {}", *meant, issue.hint);
    }
    return issue;
}

} // namespace headroom
