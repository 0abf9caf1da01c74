// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// PEFT: peft/mapping_func.py, tuners/lora/model.py, utils/other.py (0.21).
#include "core/network/adapters.h"

#include <algorithm>

namespace headroom::network {

using namespace autograd;

namespace {

/// PEFT's rule for target_modules: the name itself or what follows its last dot.
bool isTarget(std::string_view module, const Targets &targets)
{
    if (targets.allLinear)
        return module != "lm_head";
    return std::any_of(targets.names.begin(), targets.names.end(), [&](const std::string &name) {
        return module == name || (module.size() > name.size() && module.ends_with(name) && module[module.size() - name.size() - 1] == '.');
    });
}

/// PEFT's rule for modules_to_save: any module whose full name ends so (peft/utils/other.py: _set_trainable).
bool isSaved(std::string_view module, const std::vector<std::string> &names)
{
    return std::any_of(names.begin(), names.end(), [&](const std::string &name) { return module.ends_with(name); });
}

constexpr std::string_view linearModules[] = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
                                              "mlp.gate_proj",    "mlp.up_proj",      "mlp.down_proj",    "lm_head"};
constexpr std::string_view otherModules[] = {"model.embed_tokens", "input_layernorm", "post_attention_layernorm", "model.norm"};
constexpr std::string_view headNorms[] = {"self_attn.q_norm", "self_attn.k_norm"};

} // namespace

std::optional<Issue> checkAdapters(const ModelConfig &config, const Method &method)
{
    if (method.kind == MethodKind::Full)
        return {};
    const auto listed = [](auto begin, auto end, const std::string &name, auto rule) {
        return std::any_of(begin, end, [&](std::string_view m) { return rule(m, name); });
    };
    const auto target = [](std::string_view module, const std::string &name) { return isTarget(module, {false, {name}}); };
    const auto saved = [](std::string_view module, const std::string &name) { return isSaved(module, {name}); };
    for (const std::string &name : method.targets.allLinear ? std::vector<std::string>{} : method.targets.names) {
        if (target("model.embed_tokens", name))
            return Issue{{},
                         0,
                         "method.targets",
                         "LoRA on the embedding is not executed yet",
                         "leave embed_tokens out, or train it whole with method.modules_to_save"};
        if (!listed(std::begin(linearModules), std::end(linearModules), name, target))
            return Issue{{},
                         0,
                         "method.targets",
                         "the model has no Linear called \"" + name + "\"",
                         "use names among q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj, lm_head"};
        if (target("lm_head", name) && config.tiedEmbeddings)
            return Issue{
                {}, 0, "method.targets", "LoRA on an output head that is tied to the embedding is not executed yet", "leave lm_head out"};
    }
    if (!method.targets.allLinear && method.targets.names.empty())
        return Issue{{},
                     0,
                     "method.targets",
                     "the list of target modules is empty",
                     "write \"all-linear\" or at least one name, for example [\"q_proj\", \"v_proj\"]"};
    for (const std::string &name : method.modulesToSave) {
        const bool known = !name.empty() && (listed(std::begin(linearModules), std::end(linearModules), name, saved) ||
                                             listed(std::begin(otherModules), std::end(otherModules), name, saved) ||
                                             (config.queryKeyNorm && listed(std::begin(headNorms), std::end(headNorms), name, saved)));
        if (!known)
            return Issue{{},
                         0,
                         "method.modules_to_save",
                         "the model has no module whose name ends in \"" + name + "\"",
                         "use for example embed_tokens, lm_head or norm"};
        for (std::string_view module : linearModules)
            if (isSaved(module, {name}) && isTarget(module, method.targets))
                return Issue{{},
                             0,
                             "method.modules_to_save",
                             "\"" + name + "\" is both a LoRA target and a module to save",
                             "name it in one of the two lists only"};
        for (std::string_view module : linearModules)
            if (method.kind == MethodKind::Qlora && module != "lm_head" && isSaved(module, {name}))
                return Issue{{},
                             0,
                             "method.modules_to_save",
                             "\"" + name + "\" is quantised and cannot be trained whole",
                             "name modules that stay unquantised: embed_tokens, lm_head or norms"};
    }
    return {};
}

namespace {

class AdapterMaker : public ModuleVisitor
{
public:
    AdapterMaker(Tape &tape, const Method &method)
        : m_tape(tape)
        , m_method(method)
    {}

    void linear(Linear &module) override
    {
        if (!isTarget(module.names.self, m_method.targets))
            return;
        LoraAdapter adapter;
        adapter.dropout = m_method.dropout;
        const std::int64_t in = module.inFeatures(), out = module.outFeatures();
        const DType dtype = baseDtype(module);
        {
            Tape::Scope scope(m_tape, module.names.a);
            adapter.a = m_tape.empty({m_method.rank, in}, dtype, "aten._to_copy.default");
        }
        {
            Tape::Scope scope(m_tape, module.names.b);
            adapter.b = m_tape.empty({out, m_method.rank}, dtype, "aten._to_copy.default");
        }
        module.lora = std::move(adapter);
    }

private:
    /// tuners_utils.py: _get_base_layer_device_and_dtype; an integer dtype is not taken over.
    static DType baseDtype(const Linear &module)
    {
        if (!module.quantized)
            return module.weight.dtype();
        return module.quantized->fourBit() ? module.quantized->compute : DType::Float32;
    }

    Tape &m_tape;
    const Method &m_method;
};

/// modules_to_save: the module is copied, the copy trained, the original kept.
class SavedCopies : public ModuleVisitor
{
public:
    SavedCopies(Tape &tape, const std::vector<std::string> &names)
        : m_tape(tape)
        , m_names(names)
    {}

    void linear(Linear &module) override
    {
        if (!isSaved(module.names.self, m_names))
            return;
        module.saved = copyOf(module.weight, module.names.self);
        module.savedBias = copyOf(module.bias, module.names.self);
    }
    void norm(RmsNorm &module) override
    {
        if (isSaved(module.name, m_names))
            module.saved = copyOf(module.weight, module.name);
    }
    void embedding(Embedding &module) override
    {
        if (isSaved(module.name, m_names))
            module.saved = copyOf(module.weight, module.name);
    }

private:
    Tensor copyOf(const Tensor &original, const char *name)
    {
        if (!original)
            return {};
        Tape::Scope scope(m_tape, name);
        Tensor copy = m_tape.make(original.sizes(), original.strides(), original.dtype(), "aten.clone.default");
        m_tape.setRole(copy, Role::Parameter);
        copy->requiresGrad = true;
        return copy;
    }

    Tape &m_tape;
    const std::vector<std::string> &m_names;
};

/// autocast_adapter_dtype.
class AdapterCast : public ModuleVisitor
{
public:
    AdapterCast(Tape &tape, DType dtype)
        : m_tape(tape)
        , m_dtype(dtype)
    {}

    void linear(Linear &module) override
    {
        if (!module.lora)
            return;
        cast(module.lora->a, module.names.a);
        cast(module.lora->b, module.names.b);
    }

private:
    void cast(Tensor &t, const char *name)
    {
        Tape::Scope scope(m_tape, name);
        if (t.dtype() != m_dtype)
            t = m_tape.empty(t.sizes(), m_dtype, "aten._to_copy.default");
        m_tape.setRole(t, Role::Parameter);
        t->requiresGrad = true;
    }

    Tape &m_tape;
    DType m_dtype;
};

} // namespace

void addAdapters(Tape &tape, const std::function<void(ModuleVisitor &)> &visit, const Method &method)
{
    AdapterMaker maker(tape, method);
    visit(maker);
    SavedCopies copies(tape, method.modulesToSave);
    visit(copies);
    AdapterCast cast(tape, method.adapterDtype);
    visit(cast);
}

} // namespace headroom::network
