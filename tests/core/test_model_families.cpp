// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What single families read of a config.json, and where their classes stop.
#include "tests/core/small_config.h"

#include "core/estimate/estimate.h"
#include "core/model/model_families.h"

#include <QtTest>

using namespace headroom;
using namespace headroom::test;

class TestModelFamilies : public QObject
{
    Q_OBJECT

private slots:
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
};

QTEST_APPLESS_MAIN(TestModelFamilies)
#include "test_model_families.moc"
