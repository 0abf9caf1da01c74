// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// PEFT: peft/mapping_func.py, tuners/lora/model.py, utils/other.py (0.21).
#include "core/network/adapters.h"

#include "core/network/adapter_targets.h"
#include "core/network/decoder_model.h"
#include "core/network/dora.h"

#include <algorithm>

namespace headroom::network {

using namespace autograd;

namespace {

constexpr const char *embeddingAdapter = "lora_embedding";

class AdapterMaker : public ModuleVisitor
{
public:
    AdapterMaker(Tape &tape, const Method &method, const AdapterTargets &targets)
        : m_tape(tape)
        , m_method(method)
        , m_targets(targets)
    {}

    void linear(Linear &module) override
    {
        if (!m_targets.takes(module.names.self))
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
        if (m_method.dora) {
            Tape::Scope scope(m_tape, module.names.magnitude);
            module.lora->magnitude = initialMagnitude(m_tape, module);
        }
    }

    void embedding(Embedding &module) override
    {
        if (!m_targets.takesEmbedding(module.name))
            return;
        LoraAdapter adapter;
        Tape::Scope scope(m_tape, embeddingAdapter);
        adapter.a = m_tape.empty({m_method.rank, module.weight.size(0)}, module.weight.dtype(), "aten._to_copy.default");
        adapter.b = m_tape.empty({module.weight.size(1), m_method.rank}, module.weight.dtype(), "aten._to_copy.default");
        module.lora = std::move(adapter);
        if (m_method.dora)
            module.lora->magnitude = initialMagnitude(m_tape, module);
    }

private:
    /// tuners_utils.py: _get_base_layer_device_and_dtype; an integer dtype is not taken over.
    static DType baseDtype(const Linear &module)
    {
        if (!module.quantized)
            return module.weight.dtype();
        if (module.quantized->gptq()) // AutoGPTQ's module has a qweight only, GPTQModel's says the dtype of its scales
            return module.quantized->library == GptqLibrary::AutoGptq ? DType::Float32 : module.quantized->scales.dtype();
        return module.quantized->fourBit() ? module.quantized->compute : DType::Float32;
    }

    Tape &m_tape;
    const Method &m_method;
    const AdapterTargets &m_targets;
};

/// target_parameters, after all modules.
class ParameterAdapterMaker : public ModuleVisitor
{
public:
    ParameterAdapterMaker(Tape &tape, std::int64_t rank, const AdapterTargets &targets)
        : m_tape(tape)
        , m_rank(rank)
        , m_targets(targets)
    {}

    void adaptable(AdaptableParameter &parameter) override
    {
        const ParameterTarget *target = m_targets.parameter(parameter.names.name);
        if (target == nullptr)
            return;
        const std::int64_t ranks = checkedMultiply(checkedMultiply(m_rank, target->ranks), parameter.experts());
        parameter.a = make({ranks, parameter.inFeatures()}, parameter, parameter.names.a);
        parameter.b = make({parameter.outFeatures(), ranks}, parameter, parameter.names.b);
    }

private:
    Tensor make(const Dims &sizes, const AdaptableParameter &parameter, const char *name)
    {
        Tape::Scope scope(m_tape, name);
        return m_tape.empty(sizes, parameter.weight.dtype(), "aten._to_copy.default");
    }

    Tape &m_tape;
    std::int64_t m_rank;
    const AdapterTargets &m_targets;
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
    void layerNorm(LayerNorm &module) override
    {
        if (!isSaved(module.name, m_names))
            return;
        module.saved = copyOf(module.weight, module.name);
        module.savedBias = copyOf(module.bias, module.name);
    }
    void embedding(Embedding &module) override
    {
        if (!isSaved(module.name, m_names))
            return;
        module.saved = copyOf(module.weight, module.name);
        module.savedScale = copyOf(module.scale, module.name);
        if (module.savedScale)
            module.savedScale->requiresGrad = false; // a buffer
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
        if (module.lora->magnitude)
            cast(module.lora->magnitude, module.names.magnitude);
    }
    void embedding(Embedding &module) override
    {
        if (!module.lora)
            return;
        cast(module.lora->a, embeddingAdapter);
        cast(module.lora->b, embeddingAdapter);
        if (module.lora->magnitude)
            cast(module.lora->magnitude, embeddingAdapter);
    }
    void adaptable(AdaptableParameter &parameter) override
    {
        if (!parameter.a)
            return;
        cast(parameter.a, parameter.names.a);
        cast(parameter.b, parameter.names.b);
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

void addAdapters(Tape &tape, const std::function<void(ModuleVisitor &)> &visit, const Method &method, const ModelConfig &config,
                 Version transformers)
{
    const AdapterTargets targets(config, method, transformers);
    AdapterMaker maker(tape, method, targets);
    visit(maker);
    ParameterAdapterMaker parameters(tape, method.rank, targets);
    visit(parameters);
    SavedCopies copies(tape, method.modulesToSave);
    visit(copies);
    AdapterCast cast(tape, method.adapterDtype);
    visit(cast);
}

} // namespace headroom::network
