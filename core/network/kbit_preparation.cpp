// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/network/kbit_preparation.h"

namespace headroom::network {

using namespace autograd;

namespace {

/// `param.data = param.data.to(torch.float32)`
class UpcastParameters : public ModuleVisitor
{
public:
    explicit UpcastParameters(Tape &tape)
        : m_tape(tape)
    {}

    void linear(Linear &module) override
    {
        upcast(module.weight, module.names.self);
        upcast(module.bias, module.names.self);
    }
    void norm(RmsNorm &module) override { upcast(module.weight, module.name); }
    void layerNorm(LayerNorm &module) override
    {
        upcast(module.weight, module.name);
        upcast(module.bias, module.name);
    }
    void embedding(Embedding &module) override { upcast(module.weight, module.name); }
    void parameter(Tensor &parameter, const char *module) override { upcast(parameter, module); }

private:
    void upcast(const Tensor &parameter, const char *name)
    {
        if (!parameter || !isHalf(parameter.dtype()))
            return;
        Tape::Scope scope(m_tape, name);
        const Tensor cast = m_tape.empty(parameter.sizes(), DType::Float32, "aten._to_copy.default");
        m_tape.setRole(cast, Role::Parameter);
        m_tape.setData(parameter, cast);
        parameter->dtype = DType::Float32;
    }

    Tape &m_tape;
};

} // namespace

void prepareForKbitTraining(Tape &tape, const std::function<void(ModuleVisitor &)> &visit)
{
    UpcastParameters upcast(tape);
    visit(upcast);
    tape.emptyCache();
}

} // namespace headroom::network
