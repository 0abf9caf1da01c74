// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/small_config.h"

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
using namespace headroom::test;

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
