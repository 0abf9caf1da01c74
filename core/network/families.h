// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/network/decoder_model.h"

/// The model code of each family; makeDecoderModel() chooses by model_type. A family's file reads like the
/// modeling_*.py (transformers 5.24) that it mirrors.
namespace headroom::network {

using MakeDecoderModel = std::unique_ptr<DecoderModel>(const ModelConfig &config, AttentionKind attention, Version transformers);

MakeDecoderModel makeLlama;      ///< llama, qwen2, qwen3; exaone, internlm3, iquestcoder, which transformers runs as Llama
MakeDecoderModel makeMistral;    ///< mistral
MakeDecoderModel makeGranite;    ///< granite
MakeDecoderModel makeSmolLm3;    ///< smollm3
MakeDecoderModel makeGemma;      ///< gemma
MakeDecoderModel makeGemma2;     ///< gemma2
MakeDecoderModel makeGemma3;     ///< gemma3_text
MakeDecoderModel makeOlmo2;      ///< olmo2
MakeDecoderModel makeOlmo3;      ///< olmo3
MakeDecoderModel makePhi3;       ///< phi3
MakeDecoderModel makeGlm;        ///< glm
MakeDecoderModel makeGlm4;       ///< glm4
MakeDecoderModel makeGpt2;       ///< gpt2
MakeDecoderModel makeGptBigCode; ///< gpt_bigcode
/// GPT-BigCode's code before transformers 4.53, which splits off key and value together.
bool isOldGptBigCode(const ModelConfig &config, Version transformers);
MakeDecoderModel makeGptNeoX;     ///< gpt_neox
MakeDecoderModel makeStarcoder2;  ///< starcoder2
MakeDecoderModel makeStableLm;    ///< stablelm
MakeDecoderModel makeOlmo;        ///< olmo
MakeDecoderModel makeCohere;      ///< cohere, cohere2
MakeDecoderModel makeExaone4;     ///< exaone4
MakeDecoderModel makeErnie;       ///< ernie4_5
MakeDecoderModel makeSeedOss;     ///< seed_oss
MakeDecoderModel makeHunYuan;     ///< hunyuan_v1_dense
MakeDecoderModel makeArcee;       ///< arcee
MakeDecoderModel makeMinistral;   ///< ministral, cwm
MakeDecoderModel makeMinistral3;  ///< ministral3
MakeDecoderModel makeHelium;      ///< helium
MakeDecoderModel makeHyperClovaX; ///< hyperclovax
MakeDecoderModel makeJais2;       ///< jais2
MakeDecoderModel makeNemotron;    ///< nemotron
MakeDecoderModel makeVaultGemma;  ///< vaultgemma
MakeDecoderModel makeBitNet;      ///< bitnet
MakeDecoderModel makeDeepSeek;    ///< deepseek_v3, glm4_moe_lite, youtu
MakeDecoderModel makeGlm4Moe;     ///< glm4_moe, sarvam_moe
MakeDecoderModel makeGraniteMoe;  ///< granitemoe, granitemoeshared, granitemoehybrid without state-space layers
MakeDecoderModel makeOpt;         ///< opt
MakeDecoderModel makeGptJ;        ///< gptj, codegen
MakeDecoderModel makeFalcon;      ///< falcon
MakeDecoderModel makeBloom;       ///< bloom
MakeDecoderModel makeMpt;         ///< mpt
MakeDecoderModel makeGptNeo;      ///< gpt_neo
MakeDecoderModel makeApertus;     ///< apertus
MakeDecoderModel makeNanoChat;    ///< nanochat
MakeDecoderModel makePersimmon;   ///< persimmon
MakeDecoderModel makeGptOss;      ///< gpt_oss
MakeDecoderModel makePhi;         ///< phi
MakeDecoderModel makeMixtral;     ///< mixtral, qwen3_moe
MakeDecoderModel makeQwen2Moe;    ///< qwen2_moe
MakeDecoderModel makeOlmoe;       ///< olmoe

} // namespace headroom::network
