// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "broken_lines.h"

#include "cli_process.h"

namespace {

QByteArray withConfig(const QByteArray &config) { return R"({"headroom_plan": 1, "model": {"config": )" + config + "}}"; }

/// A config whose one key has another value than a good one's.
QByteArray withConfigKey(const QByteArray &key, const QByteArray &value)
{
    QByteArray config = R"({"model_type": "llama")";
    for (const char *name : {"hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size"})
        config += QByteArray(", \"") + name + "\": " + (key == name ? value : QByteArray("64"));
    return withConfig(config + "}");
}

QByteArray with(const QByteArray &extra) { return smallPlan("broken", ", " + extra); }

} // namespace

std::vector<BrokenLine> brokenLines()
{
    const QByteArray huge(10 << 20, 'x');
    std::vector<BrokenLine> lines = {
        // not JSON, or not a plan's JSON
        {"a word", "plan", nullptr},
        {"cut off", R"({"headroom_plan": 1, "model": )", nullptr},
        {"two documents", "{} {}", nullptr},
        {"a comma too many", R"({"headroom_plan": 1,})", nullptr},
        {"single quotes", "{'headroom_plan': 1}", nullptr},
        {"not a number", with(R"("batch": {"micro_batch": NaN})"), nullptr},
        {"a leading zero", with(R"("batch": {"micro_batch": 01})"), nullptr},
        {"a number beyond double", with(R"("batch": {"micro_batch": 1e999})"), nullptr},
        {"a list", "[1, 2]", nullptr},
        {"a string", R"("Qwen/Qwen3-8B")", nullptr},
        {"a number", "4", nullptr},
        {"null", "null", nullptr},
        {"true", "true", nullptr},
        // keys
        {"unknown key", with(R"("colour": "blue")"), "colour"},
        {"unknown key inside", with(R"("batch": {"micro_bach": 1})"), "batch.micro_bach"},
        {"empty key", with(R"("": 1)"), nullptr},
        {"duplicate key", with(R"("loss": "logits", "loss": "logits")"), "loss"},
        {"duplicate key inside", with(R"("batch": {"micro_batch": 1, "micro_batch": 2})"), "batch.micro_batch"},
        {"a path for a group", with(R"("batch.micro_batch": 2)"), "batch.micro_batch"},
        // the format number
        {"newer format", R"({"headroom_plan": 2})", "headroom_plan"},
        {"format 0", R"({"headroom_plan": 0})", "headroom_plan"},
        {"format as text", R"({"headroom_plan": "1"})", "headroom_plan"},
        {"format 1e30", R"({"headroom_plan": 1e30})", "headroom_plan"},
        // the model
        {"empty model", R"({"headroom_plan": 1, "model": {}})", "model"},
        {"model as text", R"({"headroom_plan": 1, "model": "Qwen/Qwen3-8B"})", "model"},
        {"two models", R"({"headroom_plan": 1, "model": {"preset": "Qwen/Qwen3-8B", "config": {}}})", "model"},
        {"unknown preset", R"({"headroom_plan": 1, "model": {"preset": "Nobody/Nothing-1B"}})", "model.preset"},
        {"preset as number", R"({"headroom_plan": 1, "model": {"preset": 8}})", "model.preset"},
        {"config file not there", R"({"headroom_plan": 1, "model": {"config_path": "no/such/config.json"}})", "model.config_path"},
        {"config as list", withConfig("[]"), "model.config"},
        {"empty config", withConfig("{}"), nullptr},
        {"another architecture", withConfig(R"({"model_type": "bert", "hidden_size": 64})"), "model.config.model_type"},
        {"no hidden size", withConfig(R"({"model_type": "llama", "num_hidden_layers": 2})"), "model.config.hidden_size"},
        {"hidden size zero", withConfigKey("hidden_size", "0"), "model.config.hidden_size"},
        {"hidden size negative", withConfigKey("hidden_size", "-64"), "model.config.hidden_size"},
        {"hidden size 1e30", withConfigKey("hidden_size", "1e30"), "model.config.hidden_size"},
        {"hidden size as text", withConfigKey("hidden_size", R"("64")"), "model.config.hidden_size"},
        {"hidden size with a fraction", withConfigKey("hidden_size", "64.5"), "model.config.hidden_size"},
        {"a billion layers", withConfigKey("num_hidden_layers", "1000000000"), "model.config.num_hidden_layers"},
        {"a thousand layers", withConfigKey("num_hidden_layers", "1000"), "model.config.num_hidden_layers"},
        {"vocabulary null", withConfigKey("vocab_size", "null"), "model.config.vocab_size"},
        // wrong types
        {"batch as list", with(R"("batch": [])"), "batch"},
        {"batch as number", with(R"("batch": 4)"), "batch"},
        {"number as text", with(R"("batch": {"micro_batch": "4"})"), "batch.micro_batch"},
        {"number as boolean", with(R"("batch": {"micro_batch": true})"), "batch.micro_batch"},
        {"number as null", with(R"("batch": {"micro_batch": null})"), "batch.micro_batch"},
        {"number as object", with(R"("batch": {"micro_batch": {}})"), "batch.micro_batch"},
        {"boolean as text", with(R"("loop": {"clip_grad_norm": "yes"})"), "loop.clip_grad_norm"},
        {"boolean as number", with(R"("compile": 0)"), "compile"},
        {"text as number", with(R"("attention": 2)"), "attention"},
        {"name as list", R"({"headroom_plan": 1, "name": ["a"]})", "name"},
        {"targets as number", with(R"("method": {"kind": "lora", "targets": 3})"), "method.targets"},
        {"targets with a number", with(R"("method": {"kind": "lora", "targets": ["q_proj", 3]})"), "method.targets"},
        // out of range
        {"zero", with(R"("batch": {"micro_batch": 0})"), "batch.micro_batch"},
        {"negative", with(R"("batch": {"sequence_length": -1})"), "batch.sequence_length"},
        {"1e30", with(R"("batch": {"sequence_length": 1e30})"), "batch.sequence_length"},
        {"two to the 63rd", with(R"("batch": {"micro_batch": 9223372036854775808})"), "batch.micro_batch"},
        {"two to the 64th", with(R"("batch": {"micro_batch": 18446744073709551616})"), "batch.micro_batch"},
        {"a fraction", with(R"("batch": {"gradient_accumulation": 1.5})"), "batch.gradient_accumulation"},
        {"rank zero", with(R"("method": {"kind": "lora", "rank": 0})"), "method.rank"},
        {"dropout above one", with(R"("method": {"kind": "lora", "dropout": 2})"), "method.dropout"},
        {"dropout negative", with(R"("method": {"kind": "lora", "dropout": -0.1})"), "method.dropout"},
        // no such choice
        {"unknown method", with(R"("method": {"kind": "lorra"})"), "method.kind"},
        {"unknown recipe", with(R"("precision": {"recipe": "bf17"})"), "precision.recipe"},
        {"unknown dtype", with(R"("precision": {"weights": "float31"})"), "precision.weights"},
        {"unknown optimizer", with(R"("optimizer": {"kind": "adamww"})"), "optimizer.kind"},
        {"choice in capitals", with(R"("optimizer": {"kind": "AdamW"})"), "optimizer.kind"},
        {"empty choice", with(R"("checkpointing": "")"), "checkpointing"},
        {"unknown GPU", with(R"("gpus": ["nvidia-rtx-9999"])"), "gpus"},
        {"GPUs as text", with(R"("gpus": "nvidia-rtx-4090-24gb")"), "gpus"},
        {"GPU as number", with(R"("gpus": [4090])"), "gpus"},
        {"unknown rank", with(R"("runtime": {"rank": "third"})"), "runtime.rank"},
        // each field good, the plan not
        {"ranks without an engine", with(R"("parallel": {"data": 8})"), "parallel.data"},
        {"stage without an engine", with(R"("parallel": {"zero_stage": 3})"), "parallel.zero_stage"},
        // bytes
        {"invalid UTF-8", with("\"name2\": \"\xff\xfe\""), nullptr},
        {"invalid UTF-8 in a key", with("\"\xc3\x28\": 1"), nullptr},
        {"overlong UTF-8", R"({"headroom_plan": 1, "name": ")" + QByteArray("\xc0\xaf") + "\"}", nullptr},
        {"UTF-8 cut off", "{\"headroom_plan\": 1, \"name\": \"\xe4\xb8", nullptr},
        {"half a surrogate pair", R"({"headroom_plan": 1, "name": "\ud800"})", nullptr},
        {"UTF-16", QByteArray("\xff\xfe{\0}\0", 6), nullptr},
        {"a zero byte", QByteArray("{\"headroom_plan\"\0: 1}", 21), nullptr},
        {"a zero byte behind the plan", smallPlan("broken") + QByteArray("\0 more", 6), nullptr},
        {"a control character", QByteArray("{\"headroom_plan\": 1, \"name\": \"\x01\"}"), nullptr},
        // size and depth
        {"lists nested a hundred thousand deep", QByteArray(100'000, '['), nullptr},
        {"objects nested ten thousand deep", QByteArray(R"({"a":)").repeated(10'000) + "1" + QByteArray(10'000, '}'), nullptr},
        {"a config nested deep", withConfig(QByteArray(R"({"a":)").repeated(1000) + "1" + QByteArray(1000, '}')), nullptr},
        {"10 MB of no JSON", huge, nullptr},
        {"10 MB in a key", "{\"" + huge + "\": 1}", nullptr},
        {"10 MB of digits", R"({"headroom_plan": )" + QByteArray(10 << 20, '9') + "}", nullptr},
        {"longer than a line may be", QByteArray(20 << 20, ' ') + "{}", nullptr},
    };
    return lines;
}
