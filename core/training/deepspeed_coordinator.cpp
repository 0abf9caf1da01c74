// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/training/deepspeed_coordinator.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace headroom::training::deepspeed {

using namespace autograd;
using Status = ShardedParameter::Status;

namespace {

constexpr std::int64_t never = INT64_MIN;

bool contains(const std::vector<int> &ids, int id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

void addOnce(std::vector<int> &ids, int id)
{
    if (!contains(ids, id))
        ids.push_back(id);
}

} // namespace

int ParameterCoordinator::addParameter(ShardedParameter parameter)
{
    m_parameters.push_back(std::move(parameter));
    m_fetchedFor.push_back(never);
    return static_cast<int>(m_parameters.size()) - 1;
}

int ParameterCoordinator::addModule(std::vector<int> parameters)
{
    m_modules.push_back({std::move(parameters), {}});
    return static_cast<int>(m_modules.size()) - 1;
}

void ParameterCoordinator::addExternal(int id, int parameter) { addOnce(module(id).parameters, parameter); }

// ---------------------------------------------------------------------------------------------------------------------
// the recorded order

void ParameterCoordinator::resetStep()
{
    cleanInFlight();
    if (m_mode == Mode::Record)
        finishRecording();
    else if (m_mode == Mode::Invalid)
        m_mode = Mode::Record;
    m_next = 0;
    std::fill(m_fetchedFor.begin(), m_fetchedFor.end(), never);
    m_step = 0;
    m_available = 0;
}

void ParameterCoordinator::finishRecording()
{
    m_mode = Mode::Complete;
    m_uses.clear();
    m_usesOf.assign(m_parameters.size(), {});
    m_traversed.assign(1, 0);
    for (std::size_t step = 0; step < m_order.size(); ++step) {
        std::vector<int> used = module(m_order[step]).parameters;
        std::sort(used.begin(), used.end());
        std::int64_t elements = m_traversed.back();
        for (int id : used) {
            m_uses.push_back({id, static_cast<std::int64_t>(step)});
            m_usesOf[static_cast<std::size_t>(id)].push_back(static_cast<std::int64_t>(step));
            elements += parameter(id).elements;
        }
        m_traversed.push_back(elements);
    }
}

void ParameterCoordinator::invalidate()
{
    m_mode = Mode::Invalid;
    m_order.clear();
    m_uses.clear();
    m_next = 0;
    std::fill(m_fetchedFor.begin(), m_fetchedFor.end(), never);
    cleanInFlight();
}

void ParameterCoordinator::cleanInFlight()
{
    for (const auto &[id, gather] : m_inFlight) {
        wait(*gather);
        release(id);
    }
    m_inFlight.clear();
}

// ---------------------------------------------------------------------------------------------------------------------
// fetching

void ParameterCoordinator::beforeModule(int id, bool forward)
{
    if (m_mode == Mode::Complete && (static_cast<std::size_t>(m_step) >= m_order.size() || m_order[static_cast<std::size_t>(m_step)] != id))
        invalidate(); // trace_prologue()
    if (m_mode == Mode::Record)
        m_order.push_back(id);
    if (!forward)
        addOnce(m_activeBackward, id);
    fetch(id, forward);
}

void ParameterCoordinator::fetch(int id, bool forward)
{
    const std::vector<int> &needed = module(id).parameters;
    gather(needed);
    const bool recomputing = forward && m_tape.phase() == TracePhase::Backward && !m_activeBackward.empty();
    for (int p : needed) {
        ShardedParameter &parameter = this->parameter(p);
        addOnce(parameter.activeModules, id);
        if (recomputing && !parameter.tensor.requiresGrad()) { // a trainable one is released by its own backward
            addOnce(module(m_activeBackward.back()).recomputed, p);
            addOnce(parameter.activeModules, m_activeBackward.back());
        }
        const auto found = std::find_if(m_inFlight.begin(), m_inFlight.end(), [p](const auto &entry) { return entry.first == p; });
        if (found != m_inFlight.end()) {
            Tape::Stream stream(m_tape, m_options.overlap ? gatherStream : std::uint8_t{0});
            const std::shared_ptr<Gather> gather = std::move(found->second);
            m_inFlight.erase(found);
            wait(*gather);
        }
    }
    if (m_mode == Mode::Complete)
        prefetch(needed);
    ++m_step;
}

void ParameterCoordinator::prefetch(const std::vector<int> &current)
{
    std::size_t expected = 0;
    for (int p : current)
        expected += m_fetchedFor[static_cast<std::size_t>(p)] < m_step;
    for (; expected > 0 && m_next < m_uses.size(); --expected, ++m_next)
        m_fetchedFor[static_cast<std::size_t>(m_uses[m_next].parameter)] = m_uses[m_next].step;

    if (m_options.prefetchBucket <= 0)
        return;
    const std::int64_t most = std::min(m_options.maxLiveParameters - m_available, m_options.prefetchBucket);
    std::vector<int> &ahead = m_ahead;
    ahead.clear();
    std::int64_t elements = 0;
    for (; m_next < m_uses.size() && elements < most; ++m_next) {
        const Use use = m_uses[m_next];
        std::int64_t &fetchedFor = m_fetchedFor[static_cast<std::size_t>(use.parameter)];
        fetchedFor = std::max(fetchedFor, use.step);
        if (parameter(use.parameter).status != Status::NotAvailable || contains(ahead, use.parameter))
            continue;
        ahead.push_back(use.parameter);
        elements += parameter(use.parameter).elements;
    }
    gather(ahead);
}

/// all_gather_coalesced(): one parameter into a buffer that it then is; several into a flat buffer, from which all are
/// copied when the first of them is waited for.
void ParameterCoordinator::gather(const std::vector<int> &wanted)
{
    const auto isMissing = [this](int id) { return parameter(id).status == Status::NotAvailable; };
    if (std::none_of(wanted.begin(), wanted.end(), isMissing)) // as nearly always: they were fetched ahead
        return;
    std::vector<int> ids;
    std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(ids), isMissing);
    std::sort(ids.begin(), ids.end());
    Tape::Stream stream(m_tape, m_options.overlap ? gatherStream : std::uint8_t{0});
    auto gather = std::make_shared<Gather>();
    std::int64_t partitions = 0;
    for (int id : ids) {
        ShardedParameter &parameter = this->parameter(id);
        parameter.status = Status::InFlight;
        partitions += parameter.partition;
        m_available += parameter.elements;
        m_inFlight.emplace_back(id, gather);
    }
    if (m_options.ranks == 1) {
        for (int id : ids)
            m_tape.setData(parameter(id).tensor, parameter(id).shard);
    } else {
        const Tensor flat = m_tape.empty({checkedMultiply(partitions, m_options.ranks)}, m_options.parameters, gatherName);
        m_tape.setRole(flat, Role::EngineBuffer);
        if (ids.size() == 1)
            m_tape.setData(parameter(ids.front()).tensor, flat);
        else
            gather->flat = flat;
    }
    gather->parameters = std::move(ids);
}

void ParameterCoordinator::wait(Gather &gather)
{
    if (std::exchange(gather.complete, true))
        return;
    for (int id : gather.parameters) {
        ShardedParameter &parameter = this->parameter(id);
        if (gather.flat) {
            const Tensor copy = flat(m_tape, parameter.elements, m_options.parameters, gatherCopyName);
            m_tape.setRole(copy, Role::EngineBuffer);
            m_tape.setData(parameter.tensor, copy);
        }
        parameter.status = Status::Available;
    }
}

void ParameterCoordinator::gatherNow(int id)
{
    ShardedParameter &parameter = this->parameter(id);
    if (parameter.status != Status::NotAvailable)
        return;
    parameter.status = Status::Available;
    const Tensor whole = m_tape.empty({checkedMultiply(parameter.partition, m_options.ranks)}, m_options.parameters, gatherName);
    m_tape.setRole(whole, parameter.persistent ? Role::Parameter : Role::EngineBuffer);
    m_tape.setData(parameter.tensor, whole);
}

void ParameterCoordinator::showShard(int id)
{
    m_tape.setData(parameter(id).tensor, parameter(id).shard);
    parameter(id).status = Status::Available;
}

// ---------------------------------------------------------------------------------------------------------------------
// releasing

void ParameterCoordinator::partition(int id)
{
    m_tape.setData(parameter(id).tensor, {});
    parameter(id).status = Status::NotAvailable;
}

void ParameterCoordinator::release(int id)
{
    ShardedParameter &parameter = this->parameter(id);
    if (parameter.status != Status::Available || !parameter.activeModules.empty())
        return;
    partition(id);
    m_available -= parameter.elements;
}

/// __params_to_release(): persistent ones stay, and those whose next use was skipped by the prefetcher or is near.
bool ParameterCoordinator::stays(int id, std::int64_t step) const
{
    const auto p = static_cast<std::size_t>(id);
    if (m_parameters[p].persistent || m_fetchedFor[p] > step)
        return true;
    const std::vector<std::int64_t> &uses = m_usesOf[p];
    const auto next = std::lower_bound(uses.begin(), uses.end(), step);
    return next != uses.end() &&
           m_traversed[static_cast<std::size_t>(*next)] - m_traversed[static_cast<std::size_t>(step)] < m_options.maxReuseDistance;
}

void ParameterCoordinator::afterModule(int id, bool forward)
{
    std::vector<int> &released = m_released;
    released.clear();
    const std::vector<int> &own = module(id).parameters;
    for (int p : own)
        if (m_mode != Mode::Complete || !stays(p, m_step))
            released.push_back(p);
    std::vector<int> recomputed;
    if (!forward) {
        recomputed = std::exchange(module(id).recomputed, {});
        for (int p : recomputed)
            if (!parameter(p).persistent)
                addOnce(released, p);
        std::erase(m_activeBackward, id);
    }
    const auto endUse = [&](int p) {
        std::erase(parameter(p).activeModules, id);
        if (contains(released, p))
            release(p);
    };
    for (int p : own)
        endUse(p);
    for (int p : recomputed)
        if (!contains(own, p))
            endUse(p);
}

void ParameterCoordinator::releaseLeftovers()
{
    while (!m_activeBackward.empty()) {
        const int id = m_activeBackward.back();
        m_activeBackward.pop_back();
        std::vector<int> candidates = module(id).parameters;
        for (int p : module(id).recomputed)
            addOnce(candidates, p);
        module(id).recomputed.clear();
        for (int p : candidates) {
            std::erase(parameter(p).activeModules, id);
            if (!parameter(p).persistent)
                release(p);
        }
    }
}

void ParameterCoordinator::releaseAll()
{
    for (int id = 0; id < static_cast<int>(m_parameters.size()); ++id) {
        const auto found = std::find_if(m_inFlight.begin(), m_inFlight.end(), [id](const auto &entry) { return entry.first == id; });
        if (found != m_inFlight.end()) {
            const std::shared_ptr<Gather> gather = std::move(found->second);
            m_inFlight.erase(found);
            wait(*gather);
        }
        parameter(id).activeModules.clear();
        release(id);
    }
}

} // namespace headroom::training::deepspeed
