#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Headroom developers
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes models.json and gpus.json from a folder of collected facts.

    presets/make_presets.py DATA_FOLDER

DATA_FOLDER holds `models.json` and `gpus.json` as they were compiled: every fact with its sources, open questions
included. Headroom ships only what it uses of them, in a schema of its own (below), so that the programs stay small and
start fast. To refresh the presets, correct or extend the facts and run this script again; tests/core/test_model.cpp
then holds every parameter count against the published one.

models.json: {"format": 1, "models": [{
    "id":         Hugging Face id,
    "family":     heading under which people look for it,
    "model_type": as in config.json,
    "parameters": elements, a tied head once; null where no count is known,
    "published":  true where the published total of the checkpoint confirms `parameters` to the unit,
    "config":     what of config.json shapes the memory; only for model types that are executed,
    "unresolved": instead of it, the fields on which the sources disagree; such a model is listed, not executed,
    "source":     where the figures were read }]}
Families together in the order in which they first appear, small to large within each.

gpus.json: {"format": 1, "gpus": [{
    "id", "name", "vendor", "architecture",
    "compute_capability": "8.9"; the gfx name for AMD,
    "multiprocessors":    null where unknown,
    "marketing_gb":       as sold,
    "capacity_mib":       nvidia-smi's total; else torch's largest total + 500 MiB; else marketing GB x 1024,
    "capacity_from":      "nvidia-smi" | "torch" | "marketing",
    "torch_total_mib":    the lowest total seen in torch on Linux; null where none was,
    "source":             where the capacity was read }]}
"""
import json
import pathlib
import sys

EXECUTED = ("llama", "mistral", "qwen2", "qwen3", "granite", "smollm3", "gemma", "gemma2", "gemma3_text", "olmo2", "olmo3", "phi3", "glm",
            "glm4", "gpt2", "gpt_bigcode", "gpt_neox", "phi", "mixtral", "qwen2_moe", "qwen3_moe", "olmoe", "gpt_oss", "internlm3",
            "glm4_moe", "deepseek_v3", "glm4_moe_lite")
SCORED_EXPERTS = ("glm4_moe", "deepseek_v3", "glm4_moe_lite")
# What no source tells of a model whose class would take another model's value.
UNTOLD = {"moonshotai/Moonlight-16B-A3B": ["n_group"]}

# Which of a family's biases on query, key and value are fixed; for the others config.json says attention_bias.
FIXED_BIAS = {"qwen2": True, "mistral": False, "phi3": False, "gpt2": True, "gpt_bigcode": True, "phi": True, "mixtral": False,
              "qwen2_moe": True}
BIAS_BY_DEFAULT = ("glm", "glm4", "gpt_neox", "gpt_oss")
NO_OUTPUT_BIAS = ("qwen2", "mistral", "phi3", "glm", "glm4", "glm4_moe", "mixtral", "qwen2_moe")
MLP_BIAS = ("gpt2", "gpt_bigcode", "gpt_neox", "phi")  # always
QUERY_KEY_NORM = {"qwen3": "per_head_rmsnorm", "qwen3_moe": "per_head_rmsnorm", "gemma3_text": "per_head_rmsnorm",
                  "olmo2": "full_width_rmsnorm", "olmo3": "full_width_rmsnorm", "olmoe": "full_width_rmsnorm"}
GPT_NAMES = {"hidden_size": "n_embd", "num_hidden_layers": "n_layer", "num_attention_heads": "n_head", "intermediate_size": "n_inner",
             "max_position_embeddings": "n_positions", "hidden_act": "activation_function"}

# What the driver and the CUDA context keep from torch's total, in MiB; see the plan format, `gpus`.
KEPT_FROM_TORCH_MIB = 500


def as_text(source):
    """Sources come as a text, a list of texts or nothing."""
    if source is None:
        return ""
    return source if isinstance(source, str) else "; ".join(dict.fromkeys(source))


def config_of(model):
    """config.json's keys, as far as they differ from what the class takes by default or are required."""
    kind = model["model_type"]
    config = {
        "model_type": kind,
        "hidden_size": model["hidden_size"],
        "num_hidden_layers": model["num_hidden_layers"],
        "num_attention_heads": model["num_attention_heads"],
        "num_key_value_heads": model["num_key_value_heads"],
        "head_dim": model["head_dim"],
        "intermediate_size": model["intermediate_size"],
        "vocab_size": model["vocab_size"],
        "max_position_embeddings": model["max_position_embeddings"],
        "tie_word_embeddings": model["tie_word_embeddings"],
    }
    bias = model["attention_bias"]
    qkv = {bias["q"], bias["k"], bias["v"]}
    assert len(qkv) == 1, model["hf_id"]
    assert bias["o"] == (bias["q"] and kind not in NO_OUTPUT_BIAS), model["hf_id"]
    if kind in FIXED_BIAS:
        assert qkv == {FIXED_BIAS[kind]}, model["hf_id"]
    elif bias["q"] or kind in BIAS_BY_DEFAULT:
        config["attention_bias"] = bias["q"]
    if model["mlp_bias"] and kind not in MLP_BIAS:
        assert kind == "llama", model["hf_id"]
        config["mlp_bias"] = True
    plain = kind in MLP_BIAS
    assert model["lm_head_bias"] == (kind == "phi") and model["gated_mlp"] != plain, model["hf_id"]
    assert model["norm_type"].startswith("layernorm" if plain else "rmsnorm"), model["hf_id"]
    if kind == "glm4_moe":
        assert model["qk_norm"] in (None, "per_head_rmsnorm"), model["hf_id"]
        config["use_qk_norm"] = model["qk_norm"] is not None
    else:
        assert model["qk_norm"] == QUERY_KEY_NORM.get(kind), model["hf_id"]
    if kind != "gpt_oss":  # whose clamped SwiGLU is no choice
        config["hidden_activation" if kind in ("gemma2", "gemma3_text") else "hidden_act"] = model["activation"]
    if kind in ("mistral", "phi3", "gemma2", "gemma3_text", "gpt_oss"):
        config["sliding_window"] = model["sliding_window"]
    else:
        assert model["sliding_window"] is None, model["hf_id"]
    pattern = model["layer_pattern"] or {}
    for key in ("sliding_window_pattern", "no_rope_layer_interval"):
        if key in pattern:
            config[key] = pattern[key]
    if model["mla"]:
        del config["head_dim"]
        config |= model["mla"]
    if model["moe"]:
        config |= experts_of(kind, model["moe"])
    if kind in ("gpt2", "gpt_bigcode"):
        config = {GPT_NAMES.get(key, key): value for key, value in config.items() if key not in ("num_key_value_heads", "head_dim")}
    return {key: value for key, value in config.items() if key != "intermediate_size" or value is not None}


def experts_of(kind, moe):
    if kind in SCORED_EXPERTS:
        return {"n_routed_experts": moe["num_experts"], "num_experts_per_tok": moe["experts_per_tok"], "moe_intermediate_size": moe["moe_intermediate_size"],
                "n_shared_experts": moe["num_shared_experts"]} | ({} if kind == "glm4_moe_lite" else {"first_k_dense_replace": moe["first_k_dense"]})
    assert moe["first_k_dense"] == 0 and moe["router_bias_params"] == (kind == "gpt_oss"), kind
    fields = {"num_local_experts" if kind in ("mixtral", "gpt_oss") else "num_experts": moe["num_experts"], "num_experts_per_tok": moe["experts_per_tok"]}
    if kind in ("mixtral", "olmoe", "gpt_oss"):
        return fields | {"intermediate_size": moe["moe_intermediate_size"]}
    fields |= {"moe_intermediate_size": moe["moe_intermediate_size"], "decoder_sparse_step": moe["decoder_sparse_step"]}
    if kind == "qwen2_moe":
        return fields | {"shared_expert_intermediate_size": moe["shared_expert_intermediate_size"]}
    return fields | {"norm_topk_prob": True}  # as every Qwen3-MoE is published


def model_entry(model):
    # The types of models with towers read "gemma3 (text: gemma3_text)": config.json's own is the first.
    kind = model["model_type"].split(" ")[0]
    parameters = model["computed_params"]
    if kind in SCORED_EXPERTS:  # a bias for each expert's score is no parameter in transformers, but a buffer
        parameters -= (model["num_hidden_layers"] - model["moe"]["first_k_dense"]) * model["moe"]["num_experts"]
    entry = {
        "id": model["hf_id"],
        "family": model["family"],
        "model_type": kind,
        "parameters": parameters,
        "published": model["param_check"] == "exact",
    }
    if model["hf_id"] in UNTOLD:
        entry["unresolved"] = UNTOLD[model["hf_id"]]
    elif "num_hidden_layers" in model.get("unresolved_fields", []):
        entry["unresolved"] = model["unresolved_fields"]
    elif kind in EXECUTED:
        entry["config"] = config_of(model)
    sources = list(model["sources"])
    if model["official_params_source"]:
        sources.append("total: " + as_text(model["official_params_source"]))
    # The provenance alone; remarks in brackets stay with the facts.
    entry["source"] = "; ".join(dict.fromkeys(s.split(" (")[0] for s in sources)) or "listed by name only: no figures were found"
    return entry


def models(folder):
    facts = json.loads((folder / "models.json").read_text())["models"]
    families = list(dict.fromkeys(model["family"] for model in facts))

    def order(model):
        size = model["computed_params"] or model["official_total_params"] or 0
        return families.index(model["family"]), size

    return [model_entry(model) for model in sorted(facts, key=order)]


def gpu_entry(gpu):
    # A reading far above what the card is sold with is another card under the same name.
    readings = [t for t in gpu["torch_total"] if t["mib"] <= gpu["memory_gb_marketing"] * 1024 * 1.05]
    largest = max(readings, key=lambda t: t["mib"], default=None)
    if gpu["smi_total_mib"]:
        capacity, origin = gpu["smi_total_mib"], "nvidia-smi"
        reading = next(r for r in gpu["nvidia_smi_total"] if r["mib"] == capacity)
        source = as_text(reading["source"])
    elif largest:
        capacity, origin = largest["mib"] + KEPT_FROM_TORCH_MIB, "torch"
        source = largest["kind"] + ": " + as_text(largest["source"])
    else:
        capacity, origin = gpu["memory_gb_marketing"] * 1024, "marketing"
        source = "as sold"
    lowest = gpu["torch_total_gib_conservative"]
    return {
        "id": gpu["id"],
        "name": gpu["name"],
        "vendor": gpu["vendor"],
        "architecture": gpu["architecture"],
        "compute_capability": gpu["compute_capability"],
        "multiprocessors": gpu["sm_count"],
        "marketing_gb": gpu["memory_gb_marketing"],
        "capacity_mib": capacity,
        "capacity_from": origin,
        "torch_total_mib": round(lowest * 1024) if lowest else None,
        "source": source,
    }


def gpus(folder):
    return [gpu_entry(gpu) for gpu in json.loads((folder / "gpus.json").read_text())["gpus"]]


def write(path, name, entries):
    """One entry a line: short, and a change shows as one line."""
    lines = ",\n".join("  " + json.dumps(entry, ensure_ascii=False) for entry in entries)
    path.write_text(f'{{"format": 1, "{name}": [\n{lines}\n]}}\n')


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: make_presets.py DATA_FOLDER")
    data, here = pathlib.Path(sys.argv[1]), pathlib.Path(__file__).resolve().parent
    write(here / "models.json", "models", models(data))
    write(here / "gpus.json", "gpus", gpus(data))


if __name__ == "__main__":
    main()
