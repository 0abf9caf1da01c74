// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/training/deepspeed_zero12.h"

#include "core/autograd/operators.h"

#include <algorithm>
#include <charconv>

namespace headroom::training::deepspeed {

using namespace autograd;

ZeroStage12::ZeroStage12(Tape &tape, const Options &options, int stage, std::string rank)
    : m_tape(tape)
    , m_options(options)
    , m_partitionGradients(stage == 2)
    , m_rankChoice(std::move(rank))
{}

/// All ranks hold as much, but for the gradients they keep: those of every parameter that their partition touches.
std::int64_t ZeroStage12::chooseRank(const std::string &rank) const
{
    if (rank == "first")
        return 0;
    if (rank == "last")
        return m_options.ranks - 1;
    std::int64_t number = 0;
    if (std::from_chars(rank.data(), rank.data() + rank.size(), number).ec == std::errc())
        return std::clamp<std::int64_t>(number, 0, m_options.ranks - 1);
    std::int64_t most = -1;
    for (std::int64_t r = 0; r < m_options.ranks; ++r) {
        std::int64_t touched = 0;
        for (const Group &group : m_groups)
            touched += group.partitioning.touchedElements(r);
        if (touched > most) {
            most = touched;
            number = r;
        }
    }
    return number;
}

void ZeroStage12::load(network::CausalLm &model)
{
    moveToDevice(m_tape, model);
    for (const std::vector<Tensor> &parameters : parameterGroups(model.trainable()))
        m_groups.emplace_back(parameters, m_options.ranks);
    m_rank = chooseRank(m_rankChoice);
    Tape::Scope scope(m_tape, moduleName);
    for (std::size_t g = 0; g < m_groups.size(); ++g) {
        Group &group = m_groups[g];
        for (std::size_t i = 0; i < group.parameters.size(); ++i) {
            m_places[group.parameters[i].impl()] = {g, i};
            if (group.partitioning.touches(i, m_rank))
                group.owned.push_back(i);
        }
        flatten(group);
        group.optimizer = makeOptimizer(m_tape, m_options.optimizer);
    }
    std::vector<Tensor> gradients; // initialize_optimizer_states()
    gradients.reserve(m_groups.size());
    for (const Group &group : m_groups)
        gradients.push_back(flat(m_tape, group.partitioning.partitionSize(), DType::Float32, "aten.zeros.default"));
    m_tape.afterAccumulate = [this](const Tensor &leaf) { gradientReady(leaf); };
}

/// The parameters of a group are copied into one buffer and become views of it: both exist for a moment.
void ZeroStage12::flatten(Group &group)
{
    const std::int64_t padding = group.partitioning.padding();
    if (group.parameters.size() == 1 && padding == 0) {
        group.flat = m_tape.detach(group.parameters.front());
    } else {
        Tensor pad;
        if (padding > 0)
            pad = flat(m_tape, padding, m_options.parameters, "aten.zeros.default");
        group.flat = flat(m_tape, group.partitioning.elements() + padding, m_options.parameters, "aten.cat.default");
    }
    m_tape.setRole(group.flat, Role::Parameter);
    for (const Tensor &parameter : group.parameters)
        m_tape.setData(parameter, group.flat);
    const Dims partition{group.partitioning.partitionSize()};
    group.master = masterOf(m_tape, m_tape.view(group.flat, partition, contiguousStrides(partition)));
}

// ---------------------------------------------------------------------------------------------------------------------
// gradients

void ZeroStage12::backward(const Tensor &loss, bool last)
{
    m_last = last;
    Tensor divided = divNumber(loss);
    const Tensor scaled = mulNumber(divided); // loss_scaler.scale_loss()
    m_tape.backward(scaled);
    if (!m_partitionGradients && !last)
        return;
    Tape::Scope scope(m_tape, moduleName);
    if (!m_partitionGradients && !m_options.overlap) // reduce_gradients()
        for (std::size_t g = 0; g < m_groups.size(); ++g)
            for (std::size_t i = 0; i < m_groups[g].parameters.size(); ++i)
                if (m_groups[g].parameters[i]->grad)
                    addToBucket(m_groups[g].parameters[i], {g, i});
    afterBackward();
}

/// grad_handling_hook: process_gradients()
void ZeroStage12::gradientReady(const Tensor &parameter)
{
    const auto found = m_places.find(parameter.impl());
    if (found == m_places.end())
        return;
    Tape::Scope scope(m_tape, moduleName);
    if (m_buffers.empty()) { // setup_buckets()
        m_current = 0;
        for (int i = 0; i < (m_options.overlap ? 2 : 1); ++i)
            m_buffers.push_back(engineBuffer(m_tape, m_options.reduceBucket, m_options.parameters, bucketName));
    }
    if (m_partitionGradients || (m_options.overlap && m_last))
        addToBucket(parameter, found->second);
}

/// reduce_independent_p_g_buckets_and_remove_grads()
void ZeroStage12::addToBucket(const Tensor &parameter, Place place)
{
    const std::int64_t elements = parameter.sizes().elements();
    if (m_bucketElements + elements > m_options.reduceBucket) {
        reduceBucket();
        if (m_options.overlap)
            m_current = 1 - m_current;
    }
    if (elements <= m_options.reduceBucket) // one that is larger than the bucket is reduced where it is
        m_tape.setData(Tensor(parameter->grad), m_buffers[m_current]);
    m_bucketElements += elements;
    m_bucket.push_back(place);
}

/// reduce_ipg_grads()
void ZeroStage12::reduceBucket()
{
    average();
    Tape::Stream stream(m_tape, m_options.overlap ? reductionStream : std::uint8_t{0});
    for (const Place &place : m_bucket) {
        Group &group = m_groups[place.group];
        const Tensor &parameter = group.parameters[place.parameter];
        if (group.partitioning.touches(place.parameter, m_rank))
            keepOwned(parameter);
        else if (m_partitionGradients)
            setGradient(parameter, {});
    }
    m_bucket.clear();
    m_bucketElements = 0;
}

/// average_tensor(), allreduce_and_scatter(): the bucket is cut where its owner changes, and the pieces are copied together
/// to be reduced at once.
void ZeroStage12::average()
{
    Tape::Stream stream(m_tape, m_options.overlap ? reductionStream : std::uint8_t{0});
    std::vector<std::int64_t> pieces;
    std::int64_t owner = -1;
    for (const Place &place : m_bucket)
        for (const Partitioning::Slice &slice : m_groups[place.group].partitioning.slices(place.parameter)) {
            if (slice.rank == owner)
                pieces.back() += slice.elements;
            else
                pieces.push_back(slice.elements);
            owner = slice.rank;
        }
    reduceUpTo(m_tape, m_options, pieces, m_options.reduceBucket);
}

/// copy_grads_in_partition()
void ZeroStage12::keepOwned(const Tensor &parameter)
{
    if (!m_gradientsInPartition) {
        std::int64_t elements = 0;
        for (const Group &group : m_groups)
            elements = checkedAdd(elements, group.partitioning.touchedElements(m_rank));
        m_gradientsInPartition = flat(m_tape, elements, m_options.parameters, "aten.empty.memory_format");
        m_tape.setRole(m_gradientsInPartition, Role::Gradient);
    }
    m_tape.setData(Tensor(parameter->grad), m_gradientsInPartition);
}

/// independent_gradient_partition_epilogue()
void ZeroStage12::afterBackward()
{
    reduceBucket();
    std::vector<Tensor> latest;
    for (Group &group : m_groups) {
        std::vector<Tensor> gradients;
        gradients.reserve(group.owned.size());
        for (std::size_t i : group.owned) {
            TensorImpl *gradient = group.parameters[i]->grad;
            gradients.push_back(gradient ? Tensor(gradient)
                                         : m_tape.empty(group.parameters[i].sizes(), m_options.parameters, "aten.zeros_like.default"));
        }
        if (group.accumulated.empty())
            group.accumulated = std::move(gradients);
        else
            latest = std::move(gradients); // added to the accumulated ones in place
        if (m_last) {                      // get_flat_partition()
            std::int64_t filled = 0;
            for (std::size_t i : group.owned)
                filled += group.partitioning.elementsIn(i, m_rank);
            group.averaged = std::move(group.accumulated);
            group.accumulated.clear();
            group.averagedPadding = group.partitioning.partitionSize() - filled;
            if (group.averagedPadding > 0)
                group.averaged.push_back(flat(m_tape, group.averagedPadding, m_options.parameters, "aten.zeros.default"));
        }
    }
    m_buffers.clear();
    m_gradientsInPartition.reset();
    for (const Group &group : m_groups)
        for (const Tensor &parameter : group.parameters)
            setGradient(parameter, {});
}

// ---------------------------------------------------------------------------------------------------------------------
// the step

/// has_overflow(): one flag for all gradients of the partition
void ZeroStage12::checkOverflow()
{
    Tensor flag;
    {
        const Tensor count = flat(m_tape, 1, DType::Float32, "aten.zeros.default");
        for (const Group &group : m_groups)
            for (std::size_t i = 0; i < group.averaged.size(); ++i)
                checkForInfinities(m_tape, m_options.parameters);
        flag = flat(m_tape, 1, DType::Bool, "aten._to_copy.default");
    }
    const Tensor bytes = flat(m_tape, 1, DType::UInt8, "aten._to_copy.default");
}

/// get_grad_norm_direct(): each piece of the partition is cast to fp64.
Tensor ZeroStage12::gradientNorm(const Group &group)
{
    Tensor total;
    std::vector<Tensor> norms;
    if (group.owned.empty()) {
        total = m_tape.empty({}, DType::Float32, "aten._to_copy.default");
    } else {
        std::vector<std::int64_t> elements;
        elements.reserve(group.owned.size());
        for (std::size_t i : group.owned)
            elements.push_back(group.partitioning.elementsIn(i, m_rank));
        const Tensor sum = sumOfSquares(m_tape, elements, norms);
        total = m_tape.empty({}, DType::Float32, "aten._to_copy.default");
    }
    total = m_tape.empty({}, DType::Float32, "aten.pow.Tensor_Scalar");
    // mask_nan_or_inf_with_val_inplace()
    const Tensor infinite = m_tape.empty({}, DType::Bool, "aten.isinf.default");
    const Tensor undefined = m_tape.empty({}, DType::Bool, "aten.isnan.default");
    const Tensor either = m_tape.empty({}, DType::Bool, "aten.logical_or.default");
    const Tensor error = m_tape.empty({}, DType::Float32, "aten._to_copy.default");
    return total;
}

void ZeroStage12::stepGroup(Group &group)
{
    const std::int64_t elements = group.partitioning.partitionSize();
    Tensor together;
    if (group.averaged.size() > 1)
        together = flat(m_tape, elements, m_options.parameters, "aten.cat.default");
    Tensor gradient = flat(m_tape, elements, DType::Float32, "aten._to_copy.default");
    together.reset();
    group.averaged.clear();
    if (m_options.clip) {
        checkNorm(m_tape);
        clipScale(m_tape);
    }
    setGradient(group.master, gradient);
    group.optimizer->step({group.master});
    setGradient(group.master, {});
}

void ZeroStage12::step()
{
    Tape::Scope scope(m_tape, moduleName);
    checkOverflow();
    Tensor norm;
    {
        std::vector<Tensor> norms;
        norms.reserve(m_groups.size());
        for (const Group &group : m_groups)
            norms.push_back(gradientNorm(group));
        norm = combineNorms(m_tape, static_cast<std::int64_t>(norms.size()));
    }
    const Tensor before = replaceGlobalNorm(m_tape, m_globalNorm, DType::Float32);
    for (Group &group : m_groups)
        stepGroup(group);
}

} // namespace headroom::training::deepspeed
