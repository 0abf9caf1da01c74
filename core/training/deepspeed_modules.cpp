// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/training/deepspeed_modules.h"

#include "core/autograd/operators.h"

#include <algorithm>

namespace headroom::training::deepspeed {

using namespace autograd;

namespace {

ModuleWrapper &wrapperOf(BackwardCall &call) { return static_cast<ModuleWrapper &>(*call.tape.moduleHooks()); }

int moduleOf(BackwardCall &call) { return static_cast<int>(call.node.scalars[0]); }

constexpr Operator preBackward{"PreBackwardFunctionForModuleBackward", [](BackwardCall &call) {
                                   wrapperOf(call).startOfBackward(moduleOf(call));
                                   call.give(0, call.grad);
                               }};

constexpr Operator postBackward{"PostBackwardFunctionModuleBackward", [](BackwardCall &call) {
                                    wrapperOf(call).endOfBackward(moduleOf(call));
                                    call.give(0, call.grad);
                                }};

/// input.matmul(weight): the leading dimensions are rows.
Tensor foldedProduct(Tape &tape, const Tensor &x, std::int64_t width)
{
    const Dims flat{x.sizes().leading().elements(), x.size(-1)};
    const Tensor rows = x.rank() == 2 ? x : reshape(x, flat);
    const Tensor product = tape.empty({flat[0], width}, x.dtype(), "aten.mm.default");
    tape.useBlas();
    tape.countFlops(2.0 * static_cast<double>(flat.elements()) * static_cast<double>(width));
    Dims sizes = x.sizes();
    sizes[sizes.rank() - 1] = width;
    Tensor out = tape.detach(product); // _unsafe_view
    out->sizes = sizes;
    out->strides = contiguousStrides(sizes);
    return out;
}

/// linear.py: LinearFunctionForZeroStage3.backward
void linearBackward(BackwardCall &call)
{
    ModuleWrapper &wrapper = wrapperOf(call);
    const Tensor input = call.unpack(0), weight = call.unpack(1);
    const Tensor bias = call.node.edgeCount > 2 ? call.unpack(2) : Tensor();
    const bool partitioned = wrapper.gatherForBackward(weight);
    if (call.needs(0))
        call.give(0, foldedProduct(call.tape, call.grad, weight.size(1)));
    if (call.needs(1)) {
        const Tensor rows = reshape(call.grad, {call.grad.sizes().leading().elements(), call.grad.size(-1)});
        const Tensor inputs = reshape(input, {input.sizes().leading().elements(), input.size(-1)});
        call.give(1, call.tape.empty(weight.sizes(), call.grad.dtype(), "aten.mm.default"));
        call.tape.useBlas();
    }
    if (call.needs(2))
        call.give(2, call.tape.empty({weight.size(0)}, call.grad.dtype(), "aten.sum.dim_IntList"));
    if (partitioned)
        wrapper.partitionAgain(weight);
}
constexpr Operator linearOperator{"LinearFunctionForZeroStage3Backward", linearBackward};

/// Finds the parameters of every module.
class Assigner : public network::ModuleVisitor
{
public:
    using Assign = std::function<void(const ModuleKey &, std::initializer_list<Tensor>)>;

    Assigner(Tape &tape, Assign assign)
        : m_tape(tape)
        , m_assign(std::move(assign))
    {}

    void linear(network::Linear &module) override
    {
        const auto key = [&](ModulePart part) { return ModuleKey{module.names.self, m_tape.layer(), part}; };
        if (module.saved) {
            m_assign(key(Whole), {module.saved, module.savedBias});
        } else if (module.lora) {
            m_assign(key(Base), {module.weight, module.bias});
            m_assign(key(AdapterA), {module.lora->a});
            m_assign(key(AdapterB), {module.lora->b});
        } else {
            m_assign(key(Whole), {module.weight, module.bias});
        }
    }
    void norm(network::RmsNorm &module) override
    {
        m_assign({module.name, m_tape.layer(), Whole}, {module.saved ? module.saved : module.weight});
    }
    void embedding(network::Embedding &module) override
    {
        m_assign({module.name, m_tape.layer(), Whole}, {module.saved ? module.saved : module.weight});
    }

private:
    Tape &m_tape;
    Assign m_assign;
};

} // namespace

void ModuleWrapper::assign(network::CausalLm &model, const std::unordered_map<TensorImpl *, int> &ids)
{
    m_parameterIds = ids;
    Assigner assigner(m_tape, [this](const ModuleKey &key, std::initializer_list<Tensor> tensors) {
        std::vector<int> parameters;
        for (const Tensor &tensor : tensors)
            if (tensor)
                parameters.push_back(idOf(tensor));
        m_ids[key] = m_coordinator.addModule(std::move(parameters));
        m_states.emplace_back();
    });
    model.visit(assigner);
}

int ModuleWrapper::idOf(const ModuleKey &module)
{
    const auto [found, isNew] = m_ids.try_emplace(module, 0);
    if (isNew) { // one without parameters
        found->second = m_coordinator.addModule();
        m_states.emplace_back();
    }
    return found->second;
}

int ModuleWrapper::idOf(const Tensor &parameter) const
{
    const auto found = m_parameterIds.find(parameter.impl());
    return found == m_parameterIds.end() ? -1 : found->second;
}

Tensor ModuleWrapper::pass(const Operator &op, int module, const Tensor &tensor)
{
    Tensor out = m_tape.detach(tensor);
    if (Node *node = m_tape.record(op, {&tensor})) {
        node->scalars[0] = module;
        m_tape.attach(node, out);
    }
    return out;
}

Tensor ModuleWrapper::before(const ModuleKey &key, const Tensor &input)
{
    const int module = idOf(key);
    if (m_root < 0)
        m_root = module;
    if (module == m_root) {
        m_running.clear(); // what an early stop of a recomputation left behind
        m_coordinator.resetStep();
    }
    m_running.push_back(module);
    {
        Tape::Scope scope(m_tape, moduleName);
        Tape::NoGrad noGrad(m_tape);
        m_coordinator.beforeModule(module, true);
    }
    state(module).gradientsRemaining = 0;
    if (!input)
        return {};
    if (input.requiresGrad())
        ++state(module).gradientsRemaining;
    return pass(postBackward, module, input);
}

void ModuleWrapper::after(const ModuleKey &key)
{
    const int module = idOf(key);
    // Modules that an early stop left behind are above it.
    while (!m_running.empty()) {
        const int top = m_running.back();
        m_running.pop_back();
        if (top == module)
            break;
    }
    Tape::Scope scope(m_tape, moduleName);
    m_coordinator.afterModule(module, true);
}

Tensor ModuleWrapper::result(const ModuleKey &key, const Tensor &output)
{
    const int module = idOf(key);
    ++state(module).pendingOutputs;
    return pass(preBackward, module, output);
}

/// ZeROOrderedDict.__getitem__: only in forward, not in a recomputation
void ModuleWrapper::access(const Tensor &parameter)
{
    const int id = idOf(parameter);
    if (m_running.empty() || m_tape.phase() == TracePhase::Backward ||
        m_coordinator.parameter(id).status != ShardedParameter::Status::NotAvailable)
        return;
    Tape::Scope scope(m_tape, moduleName);
    Tape::NoGrad noGrad(m_tape);
    m_coordinator.addExternal(m_running.back(), id);
    m_coordinator.gatherNow(id);
}

void ModuleWrapper::startOfBackward(int module)
{
    if (state(module).pendingOutputs == 0)
        return;
    Tape::Scope scope(m_tape, moduleName);
    m_coordinator.beforeModule(module, false);
    --state(module).pendingOutputs;
}

void ModuleWrapper::endOfBackward(int module)
{
    if (--state(module).gradientsRemaining != 0)
        return;
    Tape::Scope scope(m_tape, moduleName);
    m_coordinator.afterModule(module, false);
}

bool ModuleWrapper::gatherForBackward(const Tensor &weight)
{
    const int id = idOf(weight); // none: a recomputation keeps an alias of what was gathered
    if (id < 0 || m_coordinator.parameter(id).status != ShardedParameter::Status::NotAvailable)
        return false;
    Tape::Scope scope(m_tape, moduleName);
    m_coordinator.gatherNow(id);
    return true;
}

void ModuleWrapper::partitionAgain(const Tensor &weight) { m_coordinator.partition(idOf(weight)); }

/// zero3_linear_wrap(): the input is kept whatever is trained; the weight by reference, so that its data may go.
Tensor ModuleWrapper::linear(const Tensor &x, const Tensor &weight, const Tensor &bias)
{
    if (halted(x))
        return {};
    Node *node = bias ? m_tape.record(linearOperator, {&x, &weight, &bias}) : m_tape.record(linearOperator, {&x, &weight});
    Tensor out;
    {
        Tape::NoGrad noGrad(m_tape);
        out = foldedProduct(m_tape, x, weight.size(0));
    }
    m_tape.save(node, 0, x);
    m_tape.save(node, 1, weight);
    if (bias)
        m_tape.save(node, 2, bias);
    if (m_tape.stopped())
        return {};
    m_tape.attach(node, out);
    return out;
}

} // namespace headroom::training::deepspeed
