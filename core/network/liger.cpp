// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/network/liger.h"

#include <algorithm>
#include <array>

namespace headroom::network {

namespace {

constexpr std::array patches{
    LigerPatch{.modelType = "llama"},
    LigerPatch{.modelType = "mistral"},
    LigerPatch{.modelType = "qwen2"},
    LigerPatch{.modelType = "qwen3", .headNorms = true},
    LigerPatch{.modelType = "granite", .fusedLoss = false},
    LigerPatch{.modelType = "smollm3"},
    LigerPatch{.modelType = "gemma"},
    LigerPatch{.modelType = "gemma2", .normsInPlace = false, .lastNormInPlace = false},
    LigerPatch{.modelType = "gemma3_text", .headNorms = true, .normsInPlace = false, .lastNormInPlace = false},
    LigerPatch{.modelType = "olmo2", .normsInPlace = false},
    LigerPatch{.modelType = "olmo3", .normsInPlace = false},
    LigerPatch{.modelType = "phi3"},
    LigerPatch{.modelType = "hunyuan_v1_dense"},
    LigerPatch{.modelType = "exaone4", .headNorms = true, .normsInPlace = false, .lastNormInPlace = false},
    LigerPatch{.modelType = "glm4", .rotary = false, .normsInPlace = false, .lastNormInPlace = false},
    LigerPatch{.modelType = "mixtral"},
    LigerPatch{.modelType = "qwen3_moe", .headNorms = true},
    LigerPatch{.modelType = "gpt_oss", .lossBudget = 8}, // its experts stay as they are
};

class Patcher : public ModuleVisitor
{
public:
    Patcher(const LigerPatch &patch, int multiprocessors)
        : m_patch(patch)
        , m_multiprocessors(multiprocessors)
    {}

    void norm(RmsNorm &module) override
    {
        const std::string_view name = module.name;
        if (m_patch.headNorms || !name.starts_with("self_attn."))
            module.liger = LigerNorm{name == "model.norm" ? m_patch.lastNormInPlace : m_patch.normsInPlace, m_multiprocessors};
    }
    void rotation(Rotation &rotation) override
    {
        if (m_patch.rotary && rotation != Rotation::None)
            rotation = Rotation::Liger;
    }
    void activation(GatedActivation &activation) override { activation.liger = true; }

private:
    const LigerPatch &m_patch;
    int m_multiprocessors;
};

} // namespace

const LigerPatch *findLigerPatch(std::string_view modelType)
{
    const auto *found = std::find_if(patches.begin(), patches.end(), [&](const LigerPatch &patch) { return patch.modelType == modelType; });
    return found == patches.end() ? nullptr : found;
}

void applyLiger(const LigerPatch &patch, int multiprocessors, const std::function<void(ModuleVisitor &)> &visit)
{
    Patcher patcher(patch, multiprocessors);
    visit(patcher);
}

} // namespace headroom::network
