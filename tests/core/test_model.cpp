// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/estimate.h"
#include "core/model/catalogue.h"
#include "core/model/model_families.h"
#include "core/model/parameters.h"
#include "core/units/strict_json.h"

#include <QtTest>

#include <algorithm>
#include <filesystem>
#include <set>

using namespace headroom;

namespace {

constexpr std::string_view smallLlama =
    R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 1000)";

/// The small config with more keys, for another type where named.
Result<ModelConfig> small(std::string_view more = {}, std::string_view type = "llama")
{
    std::string text(smallLlama);
    text.replace(text.find("llama"), 5, type);
    if (!more.empty())
        text.append(", ").append(more);
    return readModelConfig(text + '}');
}

std::int64_t summed(const ModelConfig &config)
{
    std::int64_t sum = 0;
    for (const Parameter &parameter : parameterInventory(config))
        sum += parameter.elements();
    return sum;
}

} // namespace

class TestModel : public QObject
{
    Q_OBJECT

private slots:
    /// Every preset's count is the published one, tensor by tensor.
    void presetsHaveTheirParameters()
    {
        int supported = 0;
        for (const ModelPreset &preset : modelPresets()) {
            if (!preset.supported)
                continue;
            ++supported;
            QVERIFY2(preset.parameters > 0, preset.id.c_str());
            QVERIFY2(parameterCount(preset.config) == preset.parameters, preset.id.c_str());
            QVERIFY2(summed(preset.config) == preset.parameters, preset.id.c_str());
        }
        QCOMPARE(supported, 115);
    }

    void presetsAreComplete()
    {
        QCOMPARE(modelPresets().size(), std::size_t{152});
        const std::set<std::string> executed{"llama",       "mistral",  "qwen2",       "qwen3",        "smollm3",   "gemma", "gemma2",
                                             "gemma3_text", "olmo2",    "olmo3",       "phi3",         "glm",       "glm4",  "gpt2",
                                             "gpt_neox",    "phi",      "mixtral",     "qwen2_moe",    "qwen3_moe", "olmoe", "gpt_oss",
                                             "internlm3",   "glm4_moe", "deepseek_v3", "glm4_moe_lite"};
        // The sources disagree on its number of layers; none tells the other's groups of experts.
        const std::set<std::string> unresolved{"zai-org/GLM-4-32B-0414", "moonshotai/Moonlight-16B-A3B"};
        std::set<std::string> ids;
        for (const ModelPreset &preset : modelPresets()) {
            QVERIFY2(ids.insert(preset.id).second, preset.id.c_str());
            QVERIFY2(!preset.family.empty() && !preset.source.empty(), preset.id.c_str());
            QCOMPARE(preset.supported, executed.count(preset.modelType) == 1 && unresolved.count(preset.id) == 0);
            QCOMPARE(preset.unsupportedReason.empty(), preset.supported);
        }
    }

    /// Families that the catalogue holds no model of, as transformers builds them.
    void otherFamiliesHaveTheirParameters_data()
    {
        QTest::addColumn<QString>("keys");
        QTest::addColumn<qint64>("parameters");
        const std::pair<const char *, qint64> families[] = {
            {"starcoder2", 1047808},  {"olmo", 1495040},       {"cohere", 1239808},
            {"cohere2", 1239808},     {"stablelm", 1497600},   {"arcee", 1299712},
            {"ernie4_5", 1240320},    {"seed_oss", 1497344},   {"hunyuan_v1_dense", 1496576},
            {"exaone4", 1496576},     {"ministral", 1496320},  {"ministral3", 1496320},
            {"cwm", 1496320},         {"helium", 1496320},     {"hyperclovax", 1497344},
            {"jais2", 1303808},       {"exaone", 1496320},     {"internlm3", 1496320},
            {"iquestcoder", 1496320}, {"nemotron", 1300992},   {"vaultgemma", 1240320},
            {"bitnet", 1497600},      {"granitemoe", 5629184},
        };
        for (const auto &[type, parameters] : families)
            QTest::newRow(type) << QString(R"("model_type": "%1")").arg(type) << parameters;
        QTest::newRow("stablelm, side by side") << R"("model_type": "stablelm", "use_parallel_residual": true)" << qint64{1497600 - 1024};
        QTest::newRow("glm4_moe") << R"("model_type": "glm4_moe", "n_routed_experts": 8, "num_experts_per_tok": 2,
            "moe_intermediate_size": 128, "first_k_dense_replace": 0)"
                                  << qint64{2680064};
        QTest::newRow("hyperclovax without norms after") << R"("model_type": "hyperclovax", "use_post_norm": false)" << qint64{1496320};
        QTest::newRow("granitemoeshared") << R"("model_type": "granitemoeshared", "shared_intermediate_size": 128)" << qint64{5825792};
        QTest::newRow("granitemoehybrid of MLPs") << R"("model_type": "granitemoehybrid", "num_local_experts": 0,
            "shared_intermediate_size": 384, "layer_types": ["attention", "attention"])"
                                                  << qint64{1496320};
        QTest::newRow("granitemoehybrid") << R"("model_type": "granitemoehybrid", "shared_intermediate_size": 384,
            "layer_types": ["full_attention", "full_attention"], "position_embedding_type": "rope")"
                                          << qint64{6219008};
        QTest::newRow("opt") << R"("model_type": "opt", "ffn_dim": 384)" << qint64{1704192};
        QTest::newRow("opt, narrow embeddings") << R"("model_type": "opt", "ffn_dim": 384, "word_embed_proj_dim": 128,
            "do_layer_norm_before": false)" << qint64{1641216};
        QTest::newRow("gptj") << R"("model_type": "gptj", "rotary_dim": 32)" << qint64{2089960};
        QTest::newRow("codegen") << R"("model_type": "codegen", "rotary_dim": 32, "n_inner": 384)" << qint64{1433320};
        QTest::newRow("falcon") << R"("model_type": "falcon")" << qint64{1633792};
        QTest::newRow("falcon, groups of heads") << R"("model_type": "falcon", "new_decoder_architecture": true, "num_kv_heads": 2,
            "bias": true)" << qint64{1704448};
        QTest::newRow("falcon, groups of heads and one norm") << R"("model_type": "falcon", "new_decoder_architecture": true,
            "num_kv_heads": 2, "num_ln_in_parallel_attn": 1, "tie_word_embeddings": false, "ffn_hidden_size": 512)"
                                                              << qint64{1431040};
        QTest::newRow("falcon, one after the other")
            << R"("model_type": "falcon", "multi_query": false, "parallel_attn": false)" << qint64{1831424};
        QTest::newRow("falcon-rw") << R"("model_type": "falcon", "multi_query": false, "parallel_attn": false, "alibi": true,
            "bias": true)" << qint64{1836032};
        QTest::newRow("bloom") << R"("model_type": "bloom")" << qint64{1836544};
        QTest::newRow("mpt") << R"("model_type": "mpt")" << qint64{1830144};
        QTest::newRow("apertus") << R"("model_type": "apertus")" << qint64{1299972};
        QTest::newRow("apertus without xIELU") << R"("model_type": "apertus", "hidden_act": "silu")" << qint64{1299968};
        QTest::newRow("nanochat") << R"("model_type": "nanochat")" << qint64{1298432};
        QTest::newRow("persimmon") << R"("model_type": "persimmon")" << qint64{1435904};
        QTest::newRow("persimmon without norms over the heads")
            << R"("model_type": "persimmon", "qk_layernorm": false)" << qint64{1435904 - 512};
        QTest::newRow("gpt_neo") << R"("model_type": "gpt_neo", "attention_types": [[["global", "local"], 1]],
            "max_position_embeddings": 256)"
                                 << qint64{1243392};
        QTest::newRow("starcoder2 without biases") << R"("model_type": "starcoder2", "use_bias": false)" << qint64{1047808 - 2 * 1408};
    }
    void otherFamiliesHaveTheirParameters()
    {
        QFETCH(const QString, keys);
        QFETCH(const qint64, parameters);
        const std::string json = "{" + keys.toStdString() +
                                 R"(, "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                                    "head_dim": 64, "vocab_size": 1000, "intermediate_size": 384})";
        const Result<ModelConfig> config = readModelConfig(json);
        QVERIFY2(config, config ? "" : toString(config.issue()).c_str());
        QCOMPARE(parameterCount(*config), std::int64_t{parameters});
        QCOMPARE(summed(*config), std::int64_t{parameters});
    }

    /// What null and absence of head_dim mean hangs on the class; where transformers stops, the config is refused.
    void headDimOfEachClass_data()
    {
        QTest::addColumn<QString>("keys");
        QTest::addColumn<int>("headDim"); // 0: refused
        QTest::newRow("llama, null") << R"("model_type": "llama", "head_dim": null)" << 64;
        QTest::newRow("ernie4_5, null") << R"("model_type": "ernie4_5", "head_dim": null)" << 64;
        QTest::newRow("ernie4_5, missing") << R"("model_type": "ernie4_5")" << 128;
        QTest::newRow("seed_oss, null") << R"("model_type": "seed_oss", "head_dim": null)" << 64;
        QTest::newRow("internlm3, null") << R"("model_type": "internlm3", "head_dim": null)" << 64;
        QTest::newRow("qwen3, missing") << R"("model_type": "qwen3")" << 128;
        QTest::newRow("qwen3, null") << R"("model_type": "qwen3", "head_dim": null)" << 0;
        QTest::newRow("qwen2, missing") << R"("model_type": "qwen2")" << 64;
        QTest::newRow("qwen2, null") << R"("model_type": "qwen2", "head_dim": null)" << 0;
        QTest::newRow("hunyuan_v1_dense, missing") << R"("model_type": "hunyuan_v1_dense")" << 0;
        QTest::newRow("hunyuan_v1_dense, null") << R"("model_type": "hunyuan_v1_dense", "head_dim": null)" << 0;
        QTest::newRow("ministral, missing") << R"("model_type": "ministral")" << 0;
        QTest::newRow("stablelm does not read it") << R"("model_type": "stablelm", "head_dim": 65)" << 64;
    }
    void headDimOfEachClass()
    {
        QFETCH(const QString, keys);
        QFETCH(const int, headDim);
        const std::string json = "{" + keys.toStdString() +
                                 R"(, "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                                    "vocab_size": 1000, "intermediate_size": 384})";
        const Result<ModelConfig> config = readModelConfig(json);
        QCOMPARE(static_cast<bool>(config), headDim != 0);
        if (config)
            QCOMPARE(config->headDim, std::int64_t{headDim});
        else
            QVERIFY2(config.issue().where == "model.config.head_dim", config.issue().where.c_str());
    }

    /// Sizes and keys at which transformers 5.24 stops, and such beside them that it runs: each was tried there.
    void whereClassesStop_data()
    {
        QTest::addColumn<QString>("keys");
        QTest::addColumn<QString>("where"); // empty: runs
        const char *head = "model.config.head_dim", *window = "model.config.sliding_window",
                   *rotated = "model.config.partial_rotary_factor";
        const QString latent = R"("num_key_value_heads": 4, "qk_rope_head_dim": 32)";
        QTest::newRow("deepseek_v3, head_dim of another width") << R"("model_type": "deepseek_v3", "head_dim": 64, )" + latent << head;
        QTest::newRow("deepseek_v3, head_dim null") << R"("model_type": "deepseek_v3", "head_dim": null, )" + latent << head;
        QTest::newRow("youtu, qk_rope_head_dim's default") << R"("model_type": "youtu", "head_dim": 128)" << head;
        QTest::newRow("deepseek_v3, the same width") << R"("model_type": "deepseek_v3", "head_dim": 32, )" + latent << "";
        QTest::newRow("glm4_moe_lite, another name") << R"("model_type": "glm4_moe_lite", "head_dim": 16)"
                                                     << "";
        QTest::newRow("stablelm, rotating another part") << R"("model_type": "stablelm", "head_dim": 32)" << head;
        QTest::newRow("stablelm, rotating the same part") << R"("model_type": "stablelm", "head_dim": 65)"
                                                          << "";
        QTest::newRow("olmoe, norms as wide as the model") << R"("model_type": "olmoe", "head_dim": 32)" << head;
        QTest::newRow("phi, odd part") << R"("model_type": "phi", "partial_rotary_factor": 0.3)" << rotated;
        QTest::newRow("stablelm, odd part") << R"("model_type": "stablelm", "partial_rotary_factor": 0.3)" << rotated;
        QTest::newRow("glm, no part") << R"("model_type": "glm", "partial_rotary_factor": 0.001)" << rotated;
        QTest::newRow("nemotron, odd part") << R"("model_type": "nemotron", "partial_rotary_factor": 0.3)"
                                            << "";
        QTest::newRow("phi3, odd head in part") << R"("model_type": "phi3", "head_dim": 65, "partial_rotary_factor": 0.5)"
                                                << "";
        QTest::newRow("phi3, odd head in whole") << R"("model_type": "phi3", "head_dim": 65)" << head;
        QTest::newRow("qwen2, listed windows switched off")
            << R"("model_type": "qwen2", "layer_types": ["full_attention", "sliding_attention"])" << window;
        QTest::newRow("smollm3, listed windows switched off")
            << R"("model_type": "smollm3", "layer_types": ["full_attention", "sliding_attention"])" << window;
        QTest::newRow("qwen2_moe, no window") << R"("model_type": "qwen2_moe", "use_sliding_window": true, "sliding_window": null)"
                                              << window;
        QTest::newRow("qwen2_moe, listed windows switched off")
            << R"("model_type": "qwen2_moe", "layer_types": ["full_attention", "sliding_attention"])"
            << "";
        QTest::newRow("phi3, linear") << R"("model_type": "phi3", "rope_scaling": {"rope_type": "linear", "factor": 2.0})"
                                      << "model.config.rope_scaling.rope_type";
        QTest::newRow("ministral3, default rotation")
            << R"("model_type": "ministral3", "rope_parameters": {"rope_type": "default", "rope_theta": 1e6})"
            << "model.config.rope_parameters.llama_4_scaling_beta";
        QTest::newRow("ministral3, default rotation with a scale") << R"("model_type": "ministral3",
            "rope_parameters": {"rope_type": "default", "llama_4_scaling_beta": 0.1})"
                                                                   << "model.config.rope_parameters.original_max_position_embeddings";
        QTest::newRow("ministral3, yarn with a scale") << R"("model_type": "ministral3",
            "rope_parameters": {"rope_type": "yarn", "factor": 16.0, "llama_4_scaling_beta": 0.1})"
                                                       << "";
        QTest::newRow("ministral3, nothing said") << R"("model_type": "ministral3")"
                                                  << "";
        const QString hybrid = R"("model_type": "granitemoehybrid", "layer_types": ["attention", "attention"], )";
        QTest::newRow("granitemoehybrid, sizes of state-space layers") << hybrid + R"("mamba_n_heads": 100)"
                                                                       << "model.config.mamba_n_heads";
        QTest::newRow("granitemoehybrid, width of their heads") << hybrid + R"("mamba_d_head": 64)"
                                                                << "model.config.mamba_n_heads";
        QTest::newRow("granitemoehybrid, no MLP") << hybrid + R"("num_local_experts": 0, "shared_intermediate_size": 0)"
                                                  << "";
        QTest::newRow("glm4_moe, no shared expert") << R"("model_type": "glm4_moe", "n_shared_experts": 0)"
                                                    << "";
        QTest::newRow("qwen2, a remainder") << R"("model_type": "qwen2", "num_attention_heads": 6)"
                                            << "";
    }
    void whereClassesStop()
    {
        QFETCH(const QString, keys);
        QFETCH(const QString, where);
        std::string json = "{" + keys.toStdString() + R"(, "hidden_size": 256, "num_hidden_layers": 2, "vocab_size": 1000,
            "intermediate_size": 384, "first_k_dense_replace": 1)";
        for (const auto &[key, value] : {std::pair{"num_attention_heads", 4}, std::pair{"num_key_value_heads", 2}})
            if (!keys.contains(key))
                json += QString(", \"%1\": %2").arg(key).arg(value).toStdString();
        const Result<ModelConfig> config = readModelConfig(json + "}");
        QCOMPARE(QString::fromStdString(config ? std::string() : config.issue().where), where);
    }

    /// Odd widths are rotated as far as the pairs that their cosines are made for.
    void oddPartsRotateInPairs()
    {
        const ModelConfig nemotron = small(R"("head_dim": 62, "partial_rotary_factor": 0.5)", "nemotron").value();
        QCOMPARE(nemotron.rotaryDim, std::int64_t{32});
        QCOMPARE(small(R"("head_dim": 65, "rotary_pct": 0.5)", "gpt_neox")->rotaryDim, std::int64_t{32});
        const char *gptj = R"({"model_type": "gptj", "n_embd": 255, "n_layer": 1, "n_head": 3, "vocab_size": 100, "rotary_dim": 16})";
        QCOMPARE(readModelConfig(gptj)->headDim, std::int64_t{85}); // of which 16 are turned
    }

    /// People look for models by family: one block each, small to large.
    void presetsAreInOrder()
    {
        std::set<std::string> finished;
        const ModelPreset *before = nullptr;
        for (const ModelPreset &preset : modelPresets()) {
            QVERIFY2(finished.count(preset.family) == 0, preset.id.c_str());
            if (before != nullptr && before->family != preset.family)
                finished.insert(before->family);
            else if (before != nullptr && before->parameters > 0 && preset.parameters > 0)
                QVERIFY2(before->parameters <= preset.parameters, preset.id.c_str());
            before = &preset;
        }
    }

    void presetsAreFoundByName()
    {
        QCOMPARE(findModelPreset("Qwen/Qwen3-8B")->modelType, std::string("qwen3"));
        QCOMPARE(findModelPreset("qwen/qwen3-8b"), findModelPreset("Qwen/Qwen3-8B"));
        QVERIFY(findModelPreset("Qwen/Qwen3-8") == nullptr);
        QVERIFY(findModelPreset("") == nullptr);
        // Each is read alone when it is asked for: its id is found without reading it.
        for (const ModelPreset &preset : modelPresets())
            QCOMPARE(findModelPreset(preset.id), &preset);
    }

    /// The facts that the presets were made from, where they lie beside the repository: nothing was lost on the way.
    void presetsMatchTheFacts()
    {
        const std::filesystem::path facts = std::filesystem::path(HEADROOM_SHARED) / "data" / "models.json";
        if (std::string_view(HEADROOM_SHARED).empty() || !std::filesystem::exists(facts))
            QSKIP("needs the folder of facts (HEADROOM_SHARED)");
        const Result<JsonValue> json = parseJson(readTextFile(facts).value());
        QVERIFY(json.ok());
        for (const JsonValue &fact : *json->find("models")->array()) {
            const std::string &id = *fact.find("hf_id")->string();
            const ModelPreset *preset = findModelPreset(id);
            QVERIFY2(preset != nullptr, id.c_str());
            std::int64_t expected = fact.find("computed_params")->wholeNumber().value_or(0);
            if (preset->modelType == "glm4_moe" || preset->modelType == "glm4_moe_lite" || preset->modelType == "deepseek_v3") {
                // The facts count the biases of the experts' scores, which are buffers in transformers.
                const JsonValue &moe = *fact.find("moe");
                const std::int64_t dense = moe.find("first_k_dense")->wholeNumber().value();
                expected -=
                    (fact.find("num_hidden_layers")->wholeNumber().value() - dense) * moe.find("num_experts")->wholeNumber().value();
            }
            QVERIFY2(preset->parameters == expected, id.c_str());
            if (*fact.find("param_check")->string() == "exact" && preset->supported)
                QVERIFY2(parameterCount(preset->config) == fact.find("official_total_params")->wholeNumber(), id.c_str());
        }
    }

    /// Defaults of the configuration classes of transformers 5.24.
    void missingKeysTakeTheClassDefaults()
    {
        const ModelConfig llama = small().value();
        QCOMPARE(llama.keyValueHeads, std::int64_t{4});
        QCOMPARE(llama.headDim, std::int64_t{16});
        QCOMPARE(llama.maxPositions, std::int64_t{2048});
        QVERIFY(!llama.tiedEmbeddings && !llama.queryKeyValueBias && !llama.outputBias && !llama.mlpBias && !llama.queryKeyNorm);
        QVERIFY(!llama.slidingWindow && llama.slidingLayers.empty());
        QCOMPARE(llama.ropeType, std::string("default"));

        const ModelConfig mistral = small(R"("num_attention_heads_": 0, "num_key_value_heads": 2)", "mistral").value();
        QCOMPARE(mistral.maxPositions, std::int64_t{131072});
        QVERIFY(mistral.slidingWindow == 4096);
        QCOMPARE(mistral.slidingLayers, std::vector<bool>(2, true));

        const ModelConfig qwen2 = small(R"("num_key_value_heads": null)", "qwen2").value();
        QCOMPARE(qwen2.keyValueHeads, std::int64_t{4});
        QVERIFY(qwen2.queryKeyValueBias && !qwen2.outputBias && !qwen2.queryKeyNorm && !qwen2.slidingWindow);
        QCOMPARE(qwen2.maxPositions, std::int64_t{32768});

        const ModelConfig qwen3 = small(R"("num_key_value_heads": 2)", "qwen3").value();
        QCOMPARE(qwen3.headDim, std::int64_t{128});
        QVERIFY(qwen3.queryKeyNorm && !qwen3.queryKeyValueBias);
    }

    /// An absent key takes the class's number of key/value heads; where that cannot be, the message says so.
    void absentKeyValueHeads()
    {
        const Result<ModelConfig> refused = small({}, "mistral"); // 4 heads, default 8
        QVERIFY(!refused.ok());
        QCOMPARE(refused.issue().where, std::string("model.config.num_key_value_heads"));
        QVERIFY(refused.issue().hint.find("takes 8") != std::string::npos);
    }

    void biasesGoWhereTheModulesHaveThem()
    {
        const ModelConfig llama = small(R"("attention_bias": true, "mlp_bias": true)").value();
        QVERIFY(llama.queryKeyValueBias && llama.outputBias && llama.mlpBias);
        // q, k, v, o, gate, up, down of two layers
        QCOMPARE(parameterCount(llama) - parameterCount(small().value()), std::int64_t{2 * (4 * 64 + 2 * 128 + 64)});
        // MistralAttention reads no such key, Qwen2's biases are fixed.
        const ModelConfig mistral = small(R"("attention_bias": true, "num_key_value_heads": 4)", "mistral").value();
        QVERIFY(!mistral.queryKeyValueBias && !mistral.outputBias);
        const ModelConfig qwen2 = small(R"("attention_bias": false, "num_key_value_heads": 4)", "qwen2").value();
        QVERIFY(qwen2.queryKeyValueBias && !qwen2.outputBias);
    }

    void slidingWindowsOfQwen()
    {
        const ModelConfig off = small(R"("num_key_value_heads": 4, "sliding_window": 16)", "qwen2").value();
        QVERIFY(!off.slidingWindow && off.slidingLayers.empty());
        const ModelConfig on =
            small(R"("num_key_value_heads": 4, "use_sliding_window": true, "sliding_window": 16, "max_window_layers": 1)", "qwen2").value();
        QVERIFY(on.slidingWindow == 16);
        QCOMPARE(on.slidingLayers, (std::vector<bool>{false, true}));
        const ModelConfig listed =
            small(R"("num_key_value_heads": 4, "use_sliding_window": true, "layer_types": ["sliding_attention", "full_attention"])",
                  "qwen3")
                .value();
        QVERIFY(listed.slidingWindow == 4096);
        QCOMPARE(listed.slidingLayers, (std::vector<bool>{true, false}));
    }

    /// What further families read; memory follows it (tests/data/traces/families.jsonl).
    void familiesReadTheirOwnKeys()
    {
        const ModelConfig gemma2 = small(R"("num_key_value_heads": 2)", "gemma2").value();
        QVERIFY(gemma2.tiedEmbeddings && gemma2.attentionSoftcapping && gemma2.logitSoftcapping && gemma2.slidingWindow == 4096);
        QCOMPARE(gemma2.slidingLayers, (std::vector<bool>{true, false}));
        QCOMPARE(gemma2.hiddenActivation, std::string("gelu_pytorch_tanh"));
        QVERIFY(!small(R"("num_key_value_heads": 2, "attn_logit_softcapping": null)", "gemma2")->attentionSoftcapping);

        const ModelConfig gemma3 = small(R"("num_key_value_heads": 2, "sliding_window_pattern": 2)", "gemma3_text").value();
        QCOMPARE(gemma3.slidingLayers, (std::vector<bool>{true, false}));
        QVERIFY(!gemma3.logitSoftcapping && gemma3.queryKeyNorm);

        const ModelConfig smollm3 = small(R"("no_rope_layers": [1, 0])", "smollm3").value();
        QCOMPARE(smollm3.rotaryLayers, (std::vector<bool>{true, false}));
        QVERIFY(!smollm3.uniformLayers() && small(R"("no_rope_layers": [1, 1])", "smollm3")->uniformLayers());

        QCOMPARE(small(R"("num_key_value_heads": 2, "head_dim": 16)", "glm")->rotaryDim, std::int64_t{8});
        QCOMPARE(small(R"("rope_parameters": {"partial_rotary_factor": 0.75})", "phi3")->rotaryDim, std::int64_t{12});
        QCOMPARE(small(R"("rotary_pct": 1.0)", "gpt_neox")->rotaryDim, std::int64_t{16});
        QVERIFY(small({}, "phi")->headBias);
    }

    void gpt2HasNamesOfItsOwn()
    {
        const ModelConfig gpt2 =
            readModelConfig(R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 128, "vocab_size": 1000})")
                .value();
        QVERIFY(gpt2.hiddenSize == 64 && gpt2.layers == 2 && gpt2.heads == 4 && gpt2.intermediateSize == 256 && gpt2.maxPositions == 128);
        QVERIFY(gpt2.tiedEmbeddings && gpt2.residualDropout == 0.1 && gpt2.embeddingDropout == 0.1 && gpt2.attentionDropout == 0.1);
        const std::vector<Parameter> inventory = parameterInventory(gpt2);
        QCOMPARE(inventory[1].name, std::string("transformer.wpe.weight"));
        QCOMPARE(inventory[4].name, std::string("transformer.h.0.attn.c_attn.weight"));
        QCOMPARE(inventory[4].shape, (std::vector<std::int64_t>{64, 192})); // Conv1D: [in, out]
        QCOMPARE(inventory.back().name, std::string("transformer.ln_f.bias"));

        const ModelConfig bigCode =
            readModelConfig(R"({"model_type": "gpt_bigcode", "n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 1000})").value();
        QCOMPARE(bigCode.keyValueHeads, std::int64_t{1});
        QCOMPARE(parameterInventory(bigCode)[4].shape, (std::vector<std::int64_t>{96, 64}));
    }

    void expertsAndLayersWithout()
    {
        const ModelConfig mixtral = small(R"("num_key_value_heads": 2, "num_local_experts": 4)", "mixtral").value();
        QVERIFY(mixtral.experts == 4 && mixtral.expertsPerToken == 2 && mixtral.normalisesExperts);
        QCOMPARE(mixtral.expertIntermediateSize, mixtral.intermediateSize);
        const ModelConfig qwen =
            small(R"("num_key_value_heads": 2, "num_experts": 8, "moe_intermediate_size": 24, "mlp_only_layers": [1])", "qwen3_moe")
                .value();
        QCOMPARE(qwen.denseLayers, (std::vector<bool>{false, true}));
        QVERIFY(!qwen.normalisesExperts && !qwen.uniformLayers());
        QCOMPARE(summed(qwen), parameterCount(qwen));
        QVERIFY(!small(R"("num_key_value_heads": 2, "num_experts": 4)", "qwen3_moe").ok()); // eight of four experts
        QCOMPARE(small(R"("clip_qkv": 8.0)", "olmoe").issue().where, std::string("model.config.clip_qkv"));
        const std::optional<Issue> towers = unsupportedReason("gemma3");
        QVERIFY(towers && towers->hint.find("text_config") != std::string::npos);
    }

    void expertsWithScores()
    {
        const ModelConfig glm = small(R"("num_key_value_heads": 2, "n_routed_experts": 8, "num_experts_per_tok": 2, "n_shared_experts": 2,
            "moe_intermediate_size": 24, "n_group": 4, "topk_group": 2)",
                                      "glm4_moe")
                                    .value();
        QCOMPARE(glm.denseLayers, (std::vector<bool>{true, false}));
        QVERIFY(glm.experts == 8 && glm.sharedExpertIntermediateSize == 48 && glm.expertGroups == 4 && glm.bestExpertGroups == 2);
        QVERIFY(glm.normalisesExperts && !glm.queryKeyNorm && glm.rotaryDim == 8);
        QCOMPARE(summed(glm), parameterCount(glm));
        const auto refusedAt = [](const char *keys) {
            const Result<ModelConfig> config = small(keys, "glm4_moe");
            return config ? std::string() : config.issue().where;
        };
        QCOMPARE(refusedAt(R"("num_key_value_heads": 2, "n_routed_experts": 8, "n_group": 3)"), std::string("model.config.n_group"));
        QCOMPARE(refusedAt(R"("num_key_value_heads": 2, "n_routed_experts": 8, "n_group": 8)"), std::string("model.config.n_group"));
        QCOMPARE(refusedAt(R"("num_key_value_heads": 2, "n_group": 2, "topk_group": 3)"), std::string("model.config.topk_group"));
        const ModelConfig sarvam = small(R"("num_experts": 4, "num_experts_per_tok": 2, "num_shared_experts": 1)", "sarvam_moe").value();
        QVERIFY(sarvam.experts == 4 && sarvam.queryKeyNorm && sarvam.rotaryDim == 64);
    }

    /// Latent attention: head_dim is what rotates; another one makes cosines of another width, and transformers stops.
    void latentAttention()
    {
        const ModelConfig deepSeek = small(R"("q_lora_rank": null, "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8,
            "v_head_dim": 24, "n_routed_experts": 16, "moe_intermediate_size": 24, "num_experts_per_tok": 2, "first_k_dense_replace": 1,
            "head_dim": 8)",
                                           "deepseek_v3")
                                         .value();
        QVERIFY(deepSeek.queryLatentWidth == 0 && deepSeek.latentWidth == 32 && deepSeek.rotaryDim == 8 && deepSeek.valueHeadDim == 24);
        QVERIFY(deepSeek.expertGroups == 8 && deepSeek.bestExpertGroups == 4 && deepSeek.interleavedRotation);
        QCOMPARE(deepSeek.denseLayers, (std::vector<bool>{true, false}));
        QCOMPARE(summed(deepSeek), parameterCount(deepSeek));
        const ModelConfig youtu = small({}, "youtu").value();
        QVERIFY(youtu.experts == 0 && youtu.queryLatentWidth == 1536 && youtu.tiedEmbeddings);
        QCOMPARE(small(R"("num_key_value_heads": 2)", "youtu")->keyValueHeads, std::int64_t{2}); // sdpa does not look at it
        QCOMPARE(small(R"("mlp_layer_types": ["sparse", "mixed"])", "glm4_moe_lite").issue().where,
                 std::string("model.config.mlp_layer_types[1]"));
        QVERIFY(small(R"("mlp_layer_types": ["sparse", "sparse"])", "glm4_moe_lite")->denseLayers.empty());
    }

    /// Every refused type says why; models of several towers, whether their text model is executed.
    void refusalsSayWhy()
    {
        const std::pair<const char *, const char *> reasons[] = {
            {"deepseek_v2", "latent attention"}, {"minicpm3", "latent attention"}, {"qwen3_next", "linear attention"},
            {"falcon_mamba", "state-space"},     {"dots1", "routed experts"},      {"phimoe", "SparseMixer"},
            {"llava", "several towers"},         {"roberta", "encoder"},           {"t5", "an encoder and a decoder"},
            {"baichuan", "not in transformers"}, {"no_such_type", "not executed"}};
        for (const auto &[type, why] : reasons) {
            const std::optional<Issue> issue = unsupportedReason(type);
            QVERIFY2(issue && issue->what.find(why) != std::string::npos, type);
        }
        const auto hint = [](const char *text) {
            const Result<ModelConfig> config =
                readModelConfig("{\"model_type\": \"mistral3\", \"text_config\": {\"model_type\": \"" + std::string(text) + "\"}}");
            return config ? std::string() : config.issue().hint;
        };
        QVERIFY(hint("mistral").find("whose model_type is mistral") != std::string::npos);
        QVERIFY(hint("qwen3_next").find("linear attention") != std::string::npos);
        QCOMPARE(small(R"("n_embd": 64)", "gpt-sw3")->modelType, std::string("gpt2"));
    }

    /// Falcon's three shapes, and what its class stops at.
    void falconsAttention()
    {
        const ModelConfig seven = small({}, "falcon").value(), old = small(R"("multi_query": false)", "falcon").value();
        QVERIFY(seven.keyValueHeads == 1 && seven.multiQuery && !seven.alibi && seven.parallelResidual && seven.tiedEmbeddings);
        QVERIFY(old.keyValueHeads == old.heads && !old.multiQuery);
        const ModelConfig forty = small(R"("new_decoder_architecture": true, "num_kv_heads": 2)", "falcon").value();
        QVERIFY(forty.keyValueHeads == 2 && forty.groupedProjection && forty.normsApart);
        QCOMPARE(parameterInventory(forty)[1].name, std::string("transformer.h.0.self_attention.query_key_value.weight"));
        QCOMPARE(parameterInventory(forty)[1].shape[0], forty.headDim * (forty.heads + 4));
        QCOMPARE(small(R"("n_embed": 128)", "falcon")->hiddenSize, 128); // which counts before hidden_size
        const auto refusedAt = [](const char *keys) { return small(keys, "falcon").issue().where; };
        QCOMPARE(refusedAt(R"("new_decoder_architecture": true, "parallel_attn": false)"), std::string("model.config.parallel_attn"));
        QCOMPARE(refusedAt(R"("new_decoder_architecture": true, "num_ln_in_parallel_attn": 3)"),
                 std::string("model.config.num_ln_in_parallel_attn"));
        QCOMPARE(refusedAt(R"("num_ln_in_parallel_attn": 2)"), std::string("model.config.num_ln_in_parallel_attn"));
        QCOMPARE(refusedAt(R"("new_decoder_architecture": true, "num_kv_heads": 3)"), std::string("model.config.num_kv_heads"));
        QCOMPARE(refusedAt(R"("multi_query": false, "num_kv_heads": 2)"), std::string("model.config.num_kv_heads"));
        QVERIFY(small(R"("num_kv_heads": 3)", "falcon").ok()); // multi_query does not read it
    }

    void bloomMptAndGptNeoHaveKeysOfTheirOwn()
    {
        const ModelConfig bloom =
            readModelConfig(
                R"({"model_type": "bloom", "n_embed": 48, "n_layer": 2, "n_head": 16, "vocab_size": 100, "intermediate_size": 7})")
                .value();
        QVERIFY(bloom.hiddenSize == 48 && bloom.layers == 2 && bloom.heads == 16 && bloom.intermediateSize == 192 && bloom.alibi);
        QCOMPARE(bloom.headDim, 3); // nothing is turned, so it may be odd
        QCOMPARE(parameterInventory(bloom)[1].name, std::string("transformer.word_embeddings_layernorm.weight"));
        QCOMPARE(small(R"("slow_but_exact": true, "pretraining_tp": 2)", "bloom").issue().where,
                 std::string("model.config.slow_but_exact"));
        QVERIFY(small(R"("slow_but_exact": true)", "bloom").ok());

        const ModelConfig mpt =
            readModelConfig(
                R"({"model_type": "mpt", "d_model": 64, "n_layers": 2, "n_heads": 4, "max_seq_len": 128, "vocab_size": 100, "expansion_ratio": 2,
                    "attn_config": {"clip_qkv": 8.0, "attn_pdrop": 0}})")
                .value();
        QVERIFY(mpt.hiddenSize == 64 && mpt.intermediateSize == 256 && mpt.maxPositions == 128 && mpt.clipsProjections &&
                mpt.tableOfPositions);
        QVERIFY(!small(R"("attn_config": {"clip_qkv": null})", "mpt")->clipsProjections);
        QCOMPARE(small(R"("attn_config": {"attn_pdrop": 0.1})", "mpt").issue().where, std::string("model.config.attn_config.attn_pdrop"));
        QCOMPARE(small(R"("attn_config": {"clip_qkv": "8"})", "mpt").issue().where, std::string("model.config.attn_config.clip_qkv"));
        QCOMPARE(small(R"("attn_config": [])", "mpt").issue().where, std::string("model.config.attn_config"));

        const ModelConfig neo = small(R"("attention_types": [[["global"], 1], [["local"], 1]])", "gpt_neo").value();
        QCOMPARE(neo.localLayers, (std::vector<bool>{false, true}));
        QVERIFY(!neo.uniformLayers() && neo.withLayers(1).localLayers.size() == 1);
        for (const char *types : {"null", "[]", "7", R"([["global", 2]])", R"([[["global"], -1]])", R"([[["sparse"], 2]])",
                                  R"([[["global", "local"], 100000000]])"})
            QCOMPARE(small((R"("attention_types": )" + std::string(types)).c_str(), "gpt_neo").issue().where,
                     std::string("model.config.attention_types"));
    }

    void apertusNanochatAndPersimmon()
    {
        const ModelConfig apertus = small({}, "apertus").value();
        QVERIFY(apertus.ropeType == "llama3" && apertus.queryKeyNorm && apertus.hiddenActivation == "xielu");
        QCOMPARE(parameterInventory(apertus)[9].name, std::string("model.layers.0.mlp.act_fn.alpha_p"));
        QCOMPARE(small(R"("hidden_act": "xielu", "num_key_value_heads": 2)", "llama").issue().where,
                 std::string("model.config.hidden_act"));
        QVERIFY(small({}, "nanochat")->logitSoftcapping);
        QVERIFY(!small(R"("final_logit_softcapping": null)", "nanochat")->logitSoftcapping);
        const ModelConfig persimmon = small({}, "persimmon").value();
        QVERIFY(persimmon.queryKeyNorm && persimmon.rotaryDim == persimmon.headDim / 2);
        QVERIFY(!small(R"("qk_layernorm": false)", "persimmon")->queryKeyNorm);
        QCOMPARE(small(R"("num_key_value_heads": 2, "qk_layernorm": true)", "stablelm").issue().where,
                 std::string("model.config.qk_layernorm"));
    }

    /// Other names of a key, by attribute_map; where both are given, the other name is the one that counts.
    void otherNamesOfKeys()
    {
        const ModelConfig intern = small(R"("num_key_value_heads": 2, "qkv_bias": true, "bias": true)", "internlm3").value();
        QVERIFY(intern.queryKeyValueBias && intern.outputBias && intern.mlpBias);
        QCOMPARE(small(R"("num_key_value_heads": 2, "attention_bias": true)", "internlm3").issue().where,
                 std::string("model.config.qkv_bias"));
        QCOMPARE(small(R"("num_key_value_heads": 2, "activation_function": "gelu_new")", "exaone")->hiddenActivation,
                 std::string("gelu_new"));
        QVERIFY(small(R"("num_experts": 4, "num_experts_per_tok": 2, "use_qkv_bias": true)", "sarvam_moe")->queryKeyValueBias);
        const ModelConfig both =
            small(R"("num_key_value_heads": 2, "n_routed_experts": 8, "num_local_experts": 4, "num_experts_per_tok": 2)", "glm4_moe")
                .value();
        QCOMPARE(both.experts, 4);
        const char *latent =
            R"("q_lora_rank": null, "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 16, "v_head_dim": 24, "n_routed_experts": 16, "moe_intermediate_size": 24, "head_dim": 8)";
        QCOMPARE(small(latent, "glm4_moe_lite")->rotaryDim, 8);
        // What is wrong is placed at the name that is there.
        const auto refusedAt = [](const char *keys, const char *type) { return small(keys, type).issue().where; };
        QCOMPARE(refusedAt(R"("num_key_value_heads": 2, "num_local_experts": "four")", "glm4_moe"),
                 std::string("model.config.num_local_experts"));
        QCOMPARE(refusedAt(R"("num_key_value_heads": 2, "num_experts": 0)", "mixtral"), std::string("model.config.num_experts"));
        QCOMPARE(refusedAt(R"("num_key_value_heads": 2, "num_local_experts": 0)", "mixtral"),
                 std::string("model.config.num_local_experts"));
    }

    void tablesOfPositions()
    {
        TrainingPlan plan;
        plan.model = {{}, R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 2, "n_positions": 64, "vocab_size": 500})", {}};
        plan.batch.sequenceLength = 128;
        const auto warning = [](const TrainingPlan &of) {
            const auto e = estimate(of);
            for (const Note &note : (*e)->notes)
                if (note.where == "batch.sequence_length")
                    return note.text;
            return std::string();
        };
        QVERIFY(warning(plan).find("stops") != std::string::npos);
        plan.batch.sequenceLength = 64;
        QCOMPARE(warning(plan), std::string());
        plan.batch.sequenceLength = 128;
        plan.model.config = R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
                                "num_attention_heads": 2, "max_position_embeddings": 64, "vocab_size": 500})";
        QVERIFY(warning(plan).find("was made for") != std::string::npos);
    }

    void refusalsSayWhatIsExecuted()
    {
        const auto hint = [](const char *type) { return unsupportedReason(type)->hint; };
        QVERIFY(hint("lama").starts_with("is \"llama\" meant? Otherwise: this version executes llama, mistral, "));
        QVERIFY(hint("qwen3_next").starts_with("this version executes llama, mistral, ")); // is known, and no slip
        QVERIFY(hint("no_such_type").ends_with("more types (docs/model-types.md)"));
    }

    /// The page of model types names what is executed, and nothing else.
    void modelTypesAreListed()
    {
        const std::string page = readTextFile(HEADROOM_SOURCE_DIR "/docs/model-types.md").value();
        const std::vector<std::string_view> types = executedModelTypes();
        for (const std::string_view type : types)
            QVERIFY2(page.find("`" + std::string(type) + "`") != std::string::npos, std::string(type).c_str());
        const QStringList listed = QString::fromStdString(page.substr(page.find("refused with the reason"))).split('`');
        QCOMPARE(static_cast<std::size_t>(listed.size() / 2), types.size());
    }

    void numbersGivenAsTextAreRefused()
    {
        QCOMPARE(small(R"("logit_scale": "inv_sqrt_d_model")", "cohere").issue().where, std::string("model.config.logit_scale"));
        QCOMPARE(small(R"("norm_epsilon": "small", "num_key_value_heads": 2)", "starcoder2").issue().where,
                 std::string("model.config.norm_epsilon"));
        QCOMPARE(small(R"("norm_eps": true)", "nemotron").issue().where, std::string("model.config.norm_eps"));
        QCOMPARE(small(R"("swiglu_limit": "7", "num_key_value_heads": 2)", "gpt_oss").issue().where,
                 std::string("model.config.swiglu_limit"));
    }

    /// Ministral and CWM make a mask of windows whether a layer needs one or not.
    void windowsOfEachClass()
    {
        QCOMPARE(small(R"("num_key_value_heads": 2, "head_dim": 16)", "ministral")->slidingLayers, (std::vector<bool>{true, true}));
        QCOMPARE(small(R"("num_key_value_heads": 2, "head_dim": 16, "sliding_window": null)", "ministral").issue().where,
                 std::string("model.config.sliding_window"));
        QCOMPARE(small(R"("num_key_value_heads": 2)", "cwm")->slidingLayers, (std::vector<bool>{false, true}));
        QCOMPARE(small(R"("num_key_value_heads": 2)", "cwm")->ropeType, std::string("llama3"));
        QCOMPARE(small(R"("num_key_value_heads": 2)", "ministral3")->ropeType, std::string("yarn"));
    }

    void ropeOfOldAndNewConfigs()
    {
        QCOMPARE(small(R"("rope_scaling": {"type": "linear", "factor": 2.0})")->ropeType, std::string("linear"));
        QCOMPARE(small(R"("rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4})")->ropeType,
                 std::string("llama3"));
        QCOMPARE(small(R"("rope_parameters": {"rope_theta": 1e6, "rope_type": "yarn", "factor": 4})")->ropeType, std::string("yarn"));
        QCOMPARE(small(R"("rope_parameters": {"rope_theta": 1e6})")->ropeType, std::string("default"));
        QCOMPARE(small(R"("rope_scaling": null)")->ropeType, std::string("default"));
    }

    void readsWhatMovesNoMemoryWithoutComplaint()
    {
        QVERIFY(small(R"("architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16", "rms_norm_eps": 1e-5, "eos_token_id": [1, 2])")
                    .ok());
        QVERIFY(small(R"("hidden_size_": 1.5, "max_position_embeddings": null)").ok());
        QCOMPARE(small(R"("max_position_embeddings": null)")->maxPositions, std::int64_t{0});
        QCOMPARE(small(R"("max_position_embeddings": 4096.0)")->maxPositions, std::int64_t{4096});
    }

    /// named_parameters() order: the embedding first, q k v o, norms last in each layer, the head at the end unless tied.
    /// What each class of transformers 5.24 writes of itself, `to_json_string(use_diff=False)`, is a sound config.
    void defaultsOfTransformersAreAccepted()
    {
        const std::string text = readTextFile(std::filesystem::path(HEADROOM_SOURCE_DIR) / "tests/core/data/default_configs.jsonl").value();
        int read = 0;
        for (std::size_t from = 0; from < text.size(); ++read) {
            const std::size_t end = text.find('\n', from);
            const Result<ModelConfig> config = readModelConfig(text.substr(from, end - from));
            QVERIFY2(config.ok(), config ? "" : toString(config.issue()).c_str());
            from = end + 1;
        }
        QCOMPARE(read, 22);
    }

    /// Values that config.json on the Hub hold and transformers builds the model with, null among them.
    void soundKeysAreAccepted_data()
    {
        QTest::addColumn<QString>("type");
        QTest::addColumn<QString>("keys");
        QTest::newRow("null everywhere")
            << "llama"
            << R"("rope_theta": null, "rope_scaling": null, "partial_rotary_factor": null, "layer_types": null, "num_local_experts": null,
                  "pad_token_id": null, "bos_token_id": null, "eos_token_id": null, "torch_dtype": null, "rms_norm_eps": null,
                  "use_cache": null, "sliding_window": null, "original_max_position_embeddings": null, "max_window_layers": null)";
        QTest::newRow("minus one pads") << "llama"
                                        << R"("pad_token_id": -1)";
        QTest::newRow("several ends") << "llama"
                                      << R"("eos_token_id": [1, 2, 3])";
        QTest::newRow("padding beyond, not embedded") << "gpt_neox"
                                                      << R"("pad_token_id": 100000)";
        QTest::newRow("theta as a whole number") << "llama"
                                                 << R"("rope_theta": 500000)";
        QTest::newRow("empty scaling") << "llama"
                                       << R"("rope_scaling": {})";
        QTest::newRow("yarn of null")
            << "llama"
            << R"("rope_scaling": {"rope_type": "yarn", "factor": null, "original_max_position_embeddings": 1024})";
        QTest::newRow("Llama 3.1") << "llama"
                                   << R"("rope_scaling": {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                  "original_max_position_embeddings": 8192, "rope_type": "llama3"}, "torch_dtype": "bfloat16")";
        QTest::newRow("Qwen2.5 with yarn")
            << "qwen2"
            << R"("rope_scaling": {"factor": 4.0, "original_max_position_embeddings": 32768, "type": "yarn"}, "num_key_value_heads": 4)";
        QTest::newRow("long rope") << "phi3"
                                   << R"("rope_scaling": {"type": "longrope", "short_factor": [1, 1.5, 1, 1, 1, 1, 1, 1],
                  "long_factor": [1, 2, 3, 4, 5, 6, 7, 8]}, "original_max_position_embeddings": 4096)";
        QTest::newRow("kinds of layer") << "llama"
                                        << R"("layer_types": ["full_attention", "full_attention"])";
        QTest::newRow("kinds of rope")
            << "gemma3_text"
            << R"("rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
                  "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}, "sliding_window": 512, "num_key_value_heads": 4)";
        QTest::newRow("no experts") << "llama"
                                    << R"("num_local_experts": 0, "num_experts": 1)";
    }
    void soundKeysAreAccepted()
    {
        QFETCH(QString, type);
        QFETCH(QString, keys);
        const QString text = QStringLiteral(R"({"model_type": "%1", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
            "intermediate_size": 128, "vocab_size": 256, %2})")
                                 .arg(type, keys);
        const Result<ModelConfig> config = readModelConfig(text.toStdString());
        QVERIFY2(config.ok(), config ? "" : toString(config.issue()).c_str());
    }

    void inventoryInModuleOrder()
    {
        const ModelConfig config = small(R"("num_key_value_heads": 2, "head_dim": 16)", "qwen3").value();
        const std::vector<Parameter> inventory = parameterInventory(config);
        QCOMPARE(inventory.size(), std::size_t{1 + 2 * 11 + 1 + 1});
        QCOMPARE(inventory[0].name, std::string("model.embed_tokens.weight"));
        QCOMPARE(inventory[2].name, std::string("model.layers.0.self_attn.k_proj.weight"));
        QCOMPARE(inventory[2].shape, (std::vector<std::int64_t>{32, 64}));
        QCOMPARE(inventory[2].layer, 0);
        QCOMPARE(inventory[5].name, std::string("model.layers.0.self_attn.q_norm.weight"));
        QCOMPARE(inventory[5].shape, (std::vector<std::int64_t>{16}));
        QVERIFY(inventory[5].group == ParameterGroup::Norm);
        QCOMPARE(inventory[7].name, std::string("model.layers.0.mlp.gate_proj.weight"));
        QCOMPARE(inventory.back().name, std::string("lm_head.weight"));
        QVERIFY(inventory.back().group == ParameterGroup::Head);

        const ModelConfig tied = small(R"("tie_word_embeddings": true)").value();
        QCOMPARE(parameterInventory(tied).back().name, std::string("model.norm.weight"));
        QCOMPARE(parameterCount(small().value()) - parameterCount(tied), std::int64_t{1000 * 64});
    }

    /// Each size may be large; what they come to together must still be a number that a planner can work with.
    void absurdTotalsAreRefused()
    {
        const Result<ModelConfig> absurd = readModelConfig(
            R"({"model_type": "llama", "hidden_size": 1048576, "num_hidden_layers": 512, "num_attention_heads": 65536, "head_dim": 1048576,
                "intermediate_size": 4194304, "vocab_size": 134217728})");
        QVERIFY(!absurd.ok());
        QCOMPARE(absurd.issue().where, std::string("model.config"));
        QVERIFY(!absurd.issue().hint.empty());
    }
};

QTEST_APPLESS_MAIN(TestModel)
#include "test_model.moc"
