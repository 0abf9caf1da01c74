// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/estimate/trace_writer.h"

#include "core/estimate/rules_sharding.h"
#include "core/estimate/step_record.h"

#include <fmt/format.h>

#include <iterator>

namespace headroom {

using namespace autograd;

namespace {

/// "model.layers.3.self_attn.q_proj", as named_modules() has it.
std::string moduleName(const StorageRecord &storage, bool adapted)
{
    std::string out = adapted && !madeByEngine(storage) ? "base_model.model." : "";
    if (storage.layer >= 0)
        out += fmt::format("model.layers.{}{}", storage.layer, *storage.module ? "." : "");
    return out + storage.module;
}

} // namespace

std::string writeTraceEvents(const Estimate &estimate)
{
    const std::shared_ptr<const StepRecord> whole = recordOfSteps(estimate, 3);
    const StepRecord &record = *whole;
    const bool adapted = estimate.plan.method.kind != MethodKind::Full;
    std::string out = "index\tsign\tid\tbytes\tlive\tphase\tmodule\top\tshape\tdtype\n";
    std::int64_t live = 0;
    const auto &events = record.trace().events;
    for (std::uint32_t i = 0; i < events.size(); ++i) {
        const StorageRecord &storage = record.trace().storages[events[i].storage];
        const std::int64_t bytes = record.bytes(events[i].storage).value;
        live += events[i].release ? -bytes : bytes;
        fmt::format_to(std::back_inserter(out), "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", i, events[i].release ? '-' : '+',
                       events[i].storage + 0U, bytes, live, name(static_cast<Phase>(record.phaseOf(i))), moduleName(storage, adapted),
                       storage.op, toString(storage.shape), name(storage.dtype));
    }
    return out;
}

std::string writeTraceSaved(const Estimate &estimate)
{
    const StepRecord &record = *estimate.record;
    const bool adapted = estimate.plan.method.kind != MethodKind::Full;
    std::string out = "bytes\tmodule\top\tshape\tdtype\n";
    for (const StorageId id : record.savedStorages()) {
        const StorageRecord &storage = record.trace().storages[id];
        fmt::format_to(std::back_inserter(out), "{}\t{}\t{}\t{}\t{}\n", record.bytes(id).value, moduleName(storage, adapted), storage.op,
                       toString(storage.shape), name(storage.dtype));
    }
    return out;
}

} // namespace headroom
