// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/training/deepspeed_zero3.h"

#include "core/autograd/operators.h"

#include <algorithm>

namespace headroom::training::deepspeed {

using namespace autograd;

namespace {

/// Ranks whose paddings are allocated one by one.
constexpr std::int64_t mostPaddedRanks = 1024;

} // namespace

ZeroStage3::ZeroStage3(Tape &tape, const Options &options)
    : m_tape(tape)
    , m_options(options)
    , m_coordinator(tape, options)
    , m_modules(tape, m_coordinator)
{}

ZeroStage3::~ZeroStage3()
{
    m_tape.setModuleHooks(nullptr);
    m_tape.afterAccumulate = nullptr;
}

void ZeroStage3::load(network::CausalLm &model)
{
    // As from_pretrained() under zero.Init does it: each parameter is cut as soon as it is there. A model that is built
    // whole first goes to the device whole.
    moveToDevice(m_tape, model, [this](const Tensor &parameter) { shard(parameter); });
    Tape::Scope scope(m_tape, moduleName);
    m_overflowFlag = engineBuffer(m_tape, 1, DType::Bool, "aten.zeros.default");
    makeSubGroups(model.trainable());
    m_bucket = engineBuffer(m_tape, m_options.reduceBucket, m_options.communication, bucketName);
    m_gradients = flat(m_tape, m_flat.size(0), m_options.parameters, "aten.zeros.default");
    m_tape.setRole(m_gradients, Role::Gradient);
    for (const SubGroup &group : m_groups) // each is gathered to register its hook
        for (int id : group.parameters) {
            m_coordinator.gatherNow(id);
            m_coordinator.partition(id);
        }
    m_modules.assign(model, m_ids);
    m_tape.setModuleHooks(&m_modules);
    m_tape.afterAccumulate = [this](const Tensor &leaf) { gradientReady(leaf); };
}

/// partition_parameters.py: _partition_param()
void ZeroStage3::shard(const Tensor &parameter)
{
    Tape::Scope scope(m_tape, moduleName);
    ShardedParameter sharded;
    sharded.tensor = parameter;
    sharded.elements = parameter.sizes().elements();
    sharded.partition = roundUp(sharded.elements, m_options.ranks) / m_options.ranks;
    sharded.persistent = sharded.elements <= m_options.persistenceThreshold;
    sharded.shard = flat(m_tape, sharded.partition, m_options.parameters, "aten.empty.memory_format");
    m_tape.setRole(sharded.shard, Role::Parameter);
    const int id = m_coordinator.addParameter(std::move(sharded));
    m_ids[parameter.impl()] = id;
    m_coordinator.partition(id);
}

void ZeroStage3::makeSubGroups(const std::vector<Tensor> &trainable)
{
    std::int64_t total = 0;
    for (const std::vector<Tensor> &parameters : parameterGroups(trainable)) {
        std::int64_t groupTotal = 0;
        for (const Tensor &parameter : parameters)
            groupTotal = checkedAdd(groupTotal, m_coordinator.parameter(m_ids.at(parameter.impl())).partition);
        total = checkedAdd(total, groupTotal);
        const bool whole = m_options.subGroupSize >= groupTotal;
        m_groups.emplace_back();
        for (std::size_t i = 0; i < parameters.size(); ++i) { // _create_fp16_sub_groups()
            SubGroup &group = m_groups.back();
            const int id = m_ids.at(parameters[i].impl());
            group.parameters.push_back(id);
            group.elements += m_coordinator.parameter(id).partition;
            if (!whole && group.elements >= m_options.subGroupSize && i + 1 < parameters.size())
                m_groups.emplace_back();
        }
    }
    // defragment(): the parts go to host memory and come back in one buffer
    for (const SubGroup &group : m_groups)
        for (int id : group.parameters)
            m_coordinator.parameter(id).shard.reset();
    m_flat = flat(m_tape, total, m_options.parameters, "aten._to_copy.default");
    m_tape.setRole(m_flat, Role::Parameter);
    for (const SubGroup &group : m_groups)
        for (int id : group.parameters)
            m_coordinator.parameter(id).shard = m_flat;

    Tensor converted;
    std::int64_t largest = 0;
    for (SubGroup &group : m_groups) {
        Tensor next = flat(m_tape, group.elements, DType::Float32, "aten._to_copy.default");
        converted = std::move(next);
        group.master = flat(m_tape, group.elements, DType::Float32, "aten.clone.default");
        m_tape.setRole(group.master, Role::OptimizerState);
        group.optimizer = makeOptimizer(m_tape, m_options.optimizer);
        largest = std::max(largest, group.elements);
    }
    converted.reset();
    flat(m_tape, largest, DType::Float32, "aten.zeros.default"); // initialize_optimizer_states()
}

// ---------------------------------------------------------------------------------------------------------------------
// gradients

void ZeroStage3::backward(const Tensor &loss, bool)
{
    const Tensor divided = divNumber(loss);
    const Tensor scaled = mulNumber(divided); // loss_scaler.scale_loss()
    m_tape.backward(scaled);
    Tape::Scope scope(m_tape, moduleName);
    reduceBucket();
    m_coordinator.releaseLeftovers();
}

/// reduce_independent_p_g_buckets_and_remove_grads()
void ZeroStage3::gradientReady(const Tensor &parameter)
{
    const auto found = m_ids.find(parameter.impl());
    if (found == m_ids.end())
        return;
    Tape::Scope scope(m_tape, moduleName);
    const std::int64_t elements = m_coordinator.parameter(found->second).elements;
    if (m_bucketElements + elements > m_options.reduceBucket && m_bucketElements > 0)
        reduceBucket();
    if (m_bucketElements + elements <= m_options.reduceBucket)
        m_tape.setData(Tensor(parameter->grad), m_bucket);
    m_inBucket.push_back(found->second);
    m_bucketElements += elements;
}

/// __reduce_and_partition_ipg_grads(): the gradients are interleaved by rank in one copy, each padded to equal parts
/// (comm/coalesced_collectives.py: reduce_scatter_coalesced).
void ZeroStage3::reduceBucket()
{
    if (m_inBucket.empty())
        return;
    Tape::Stream stream(m_tape, m_options.overlap ? reductionStream : std::uint8_t{0});
    std::sort(m_inBucket.begin(), m_inBucket.end());
    {
        const auto buffer = [this](std::int64_t elements, DType dtype, const char *op) {
            return engineBuffer(m_tape, elements, dtype, op);
        };
        const bool convert = m_options.communication != m_options.parameters;
        std::vector<Tensor> converted; // what is in the bucket has its dtype
        if (convert)
            for (int id : m_inBucket)
                if (m_coordinator.parameter(id).tensor->grad->storage != m_bucket->storage)
                    converted.push_back(buffer(m_coordinator.parameter(id).elements, m_options.communication, "aten._to_copy.default"));
        Tensor interleaved;
        {
            std::vector<Tensor> paddings;
            const auto pad = [&](std::int64_t elements) {
                if (elements > 0)
                    paddings.push_back(buffer(elements, m_options.communication, "aten.empty.memory_format"));
            };
            std::int64_t total = 0;
            for (int id : m_inBucket)
                total = checkedAdd(total, checkedMultiply(m_coordinator.parameter(id).partition, m_options.ranks));
            const std::int64_t each = std::min(m_options.ranks, mostPaddedRanks);
            for (std::int64_t rank = 0; rank < each; ++rank)
                for (int id : m_inBucket) {
                    const ShardedParameter &parameter = m_coordinator.parameter(id);
                    pad(parameter.partition -
                        std::clamp<std::int64_t>(parameter.elements - rank * parameter.partition, 0, parameter.partition));
                }
            if (each < m_options.ranks) // the rest, as blocks of 512 bytes in one
                for (int id : m_inBucket) {
                    const ShardedParameter &parameter = m_coordinator.parameter(id);
                    const std::int64_t used = (parameter.elements + parameter.partition - 1) / parameter.partition;
                    const std::int64_t size = elementSize(m_options.communication);
                    pad((m_options.ranks - std::max(each, used)) * roundUp(parameter.partition * size, 512) / size);
                }
            if (m_inBucket.size() > 1 || !paddings.empty())
                interleaved = buffer(total, m_options.communication, reductionName);
        }
        std::vector<Tensor> parts;
        if (convert)
            for (int id : m_inBucket)
                parts.push_back(buffer(m_coordinator.parameter(id).partition, m_options.parameters, "aten._to_copy.default"));
        for (int id : m_inBucket)
            setGradient(m_coordinator.parameter(id).tensor, {});
    }
    m_inBucket.clear();
    m_bucketElements = 0;
}

// ---------------------------------------------------------------------------------------------------------------------
// the step

Tensor ZeroStage3::gradientNorm(const SubGroup &group)
{
    std::vector<std::int64_t> elements;
    elements.reserve(group.parameters.size());
    for (int id : group.parameters)
        elements.push_back(m_coordinator.parameter(id).partition);
    std::vector<Tensor> norms;
    const Tensor sum = sumOfSquares(m_tape, elements, norms);
    const Tensor total = m_tape.empty({}, DType::Float64, "aten.pow.Tensor_Scalar");
    const Tensor infinite = m_tape.empty({}, DType::Bool, "aten.isinf.default");
    const Tensor undefined = m_tape.empty({}, DType::Bool, "aten.isnan.default");
    const Tensor either = m_tape.empty({}, DType::Bool, "aten.logical_or.default");
    const Tensor error = m_tape.empty({}, DType::Float32, "aten._to_copy.default");
    return m_tape.empty({}, DType::Float64, "aten.where.self");
}

void ZeroStage3::stepGroup(SubGroup &group)
{
    Tensor together;
    if (group.parameters.size() > 1)
        together = flat(m_tape, group.elements, m_options.parameters, "aten.cat.default");
    const Tensor gradient = flat(m_tape, group.elements, DType::Float32, "aten._to_copy.default");
    together.reset();
    setGradient(group.master, gradient);
    if (m_options.clip)
        clipScale(m_tape);
    group.optimizer->step({group.master});
    setGradient(group.master, {});
}

/// check_overflow(): only for float16
void ZeroStage3::checkOverflow()
{
    Tape::Stream stream(m_tape, m_options.overlap ? reductionStream : std::uint8_t{0});
    for (const char *op : {"aten.isinf.default", "aten.isnan.default"}) {
        const Tensor all = flat(m_tape, m_gradients.size(0), DType::Bool, op);
        const Tensor any = m_tape.empty({}, DType::Bool, "aten.any.default");
    }
    const Tensor flag = flat(m_tape, 1, DType::Bool, "aten.clone.default");
    const Tensor bytes = flat(m_tape, 1, DType::UInt8, "aten._to_copy.default");
}

/// _post_step(): persistent parameters are gathered again, all at once.
void ZeroStage3::gatherPersistent()
{
    std::vector<int> persistent;
    for (int id = 0; id < static_cast<int>(m_coordinator.parameterCount()); ++id)
        if (m_coordinator.parameter(id).persistent)
            persistent.push_back(id);
    for (int id : persistent)
        if (m_options.ranks == 1 && persistent.size() > 1)
            m_coordinator.showShard(id);
        else
            m_coordinator.gatherNow(id);
}

void ZeroStage3::step()
{
    Tape::Scope scope(m_tape, moduleName);
    m_coordinator.releaseAll();
    if (m_options.parameters == DType::Float16)
        checkOverflow();
    std::vector<Tensor> norms;
    norms.reserve(m_groups.size());
    for (const SubGroup &group : m_groups)
        norms.push_back(gradientNorm(group));
    const Tensor norm = combineNorms(m_tape, static_cast<std::int64_t>(norms.size()));
    const Tensor before = replaceGlobalNorm(m_tape, m_globalNorm, DType::Float64);
    for (SubGroup &group : m_groups)
        stepGroup(group);
    gatherPersistent();
}

} // namespace headroom::training::deepspeed
