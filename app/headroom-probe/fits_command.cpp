// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-probe/commands.h"
#include "app/headroom-probe/driver.h"
#include "app/headroom-probe/messages.h"
#include "core/estimate/estimate.h"
#include "core/estimate/outside.h"
#include "core/estimate/segments.h"
#include "core/hardware/gpu.h"
#include "core/measure/comparison.h"
#include "core/plan/plan_json.h"
#include "core/report/report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <unordered_map>

namespace headroom::probe {

namespace {

/// What came of the try.
struct Outcome {
    bool fits = true;
    Phase phase = Phase::Load; ///< where it failed
    int step = -1;
    Bytes tried, free; ///< there
    Bytes peak;        ///< highest that was held
    std::string driverSaid;

    Bytes missing() const { return std::max(tried - free, Bytes{1}); }
};

/// Does what the plan's allocator would do, with the driver's own calls.
Result<Outcome> tryOut(const SegmentPlan &plan, Cuda::Context &context)
{
    Outcome outcome;
    std::unordered_map<std::uint64_t, std::pair<std::uint64_t, Bytes>> held; // the replay's address -> the device's, bytes
    Bytes sum;
    for (const SegmentEvent &event : plan.events) {
        if (!event.taken) {
            const auto at = held.find(event.address);
            if (at == held.end())
                continue;
            if (std::optional<Issue> issue = context.release(at->second.first))
                return *issue;
            sum -= at->second.second;
            held.erase(at);
            continue;
        }
        const Result<std::uint64_t> address = context.allocate(event.bytes);
        if (!address) {
            const Result<Bytes> free = context.free();
            outcome.fits = false;
            outcome.phase = event.phase;
            outcome.step = event.step;
            outcome.tried = event.bytes;
            outcome.free = free ? *free : Bytes{};
            outcome.driverSaid = address.issue().what;
            return outcome;
        }
        held.emplace(event.address, std::pair(*address, event.bytes));
        sum += event.bytes;
        outcome.peak = std::max(outcome.peak, sum);
    }
    if (plan.shortage) {
        outcome.fits = false;
        outcome.phase = plan.shortage->phase;
        outcome.step = plan.shortage->step;
        outcome.tried = plan.shortage->tried;
        outcome.free = plan.shortage->free;
    }
    return outcome;
}

std::string place(const Outcome &outcome)
{
    return outcome.step < 0 ? std::string(phraseOf(outcome.phase))
                            : fmt::format("{} of step {}", phraseOf(outcome.phase), outcome.step + 1);
}

} // namespace

int runFits(const FitsArguments &arguments)
{
    Result<TrainingPlan> plan = readPlanFile(arguments.plan);
    if (!plan) {
        complain(toString(plan.issue()));
        return BadInput;
    }
    const Result<Nvml> nvml = Nvml::open();
    const Result<Cuda> cuda = nvml ? Cuda::open() : Result<Cuda>(nvml.issue());
    if (!cuda) {
        complain(toString(cuda.issue()));
        return NotAvailable;
    }
    Result<std::unique_ptr<Cuda::Context>> context = cuda->context(arguments.gpu);
    if (!context) {
        complain(toString(context.issue()));
        return cuda->count() == 0 ? NotAvailable : BadInput;
    }
    const DeviceInfo &device = (*context)->device();
    const Gpu *known = gpuOfProbe({device.name, device.capacity, fmt::format("{}.{}", device.computeMajor, device.computeMinor), {}});
    if (known != nullptr)
        plan->gpus = {known->id};
    const Result<std::shared_ptr<const Estimate>> predicted = estimate(*plan);
    if (!predicted) {
        Issue issue = predicted.issue();
        if (issue.file.empty())
            issue.file = arguments.plan;
        complain(toString(issue));
        return BadInput;
    }

    const Result<Bytes> usedBefore = nvml->usedOf((*context)->busId());
    if (std::optional<Issue> issue = usedBefore ? (*context)->enter() : std::optional(usedBefore.issue())) {
        complain(toString(*issue));
        return NotAvailable;
    }
    const Result<Bytes> usedAfter = nvml->usedOf((*context)->busId());
    const Result<Bytes> free = (*context)->free();
    if (!usedAfter || !free) {
        complain(toString(usedAfter ? free.issue() : usedAfter.issue()));
        return NotAvailable;
    }
    const Bytes footprint = *usedAfter - *usedBefore;
    // PyTorch loads kernels into the context as it goes, and NCCL has buffers: what the estimate counts outside beyond the bare context.
    const Bytes aside = std::max(total(outsideOfPyTorch(*plan, known)) - std::max(footprint, Bytes{0}), Bytes{0});
    const SegmentPlan segments = segmentPlan(**predicted, *free - aside);
    const Result<Outcome> outcome = tryOut(segments, **context);
    if (!outcome) {
        complain(toString(outcome.issue()));
        return NotAvailable;
    }

    const auto bytes = [&](Bytes amount) { return formatBytes(amount, arguments.unit); };
    if (arguments.json) {
        nlohmann::ordered_json document = {{"fits", outcome->fits},     {"gpu", device.name},  {"context", footprint.value},
                                           {"kept_aside", aside.value}, {"free", free->value}, {"peak", outcome->peak.value},
                                           {"phase", nullptr},          {"step", nullptr},     {"missing", nullptr}};
        if (!outcome->fits) {
            document["phase"] = name(outcome->phase);
            document["missing"] = outcome->missing().value;
            if (outcome->step >= 0)
                document["step"] = outcome->step;
        }
        if (!print(document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"))
            return NotAvailable;
        return outcome->fits ? Success : Failed;
    }
    std::string text =
        fmt::format("{}\n{}: the context takes {}, {} are free beside it, {} of them kept aside for kernels{}.\n", planTitle(*plan),
                    device.name, bytes(footprint), bytes(*free), bytes(aside), plan->parallel.data > 1 ? " and NCCL" : "");
    if (outcome->fits) {
        text += fmt::format("Fits now: PyTorch's segments were allocated as the run would, {} at their highest, {} to spare.\n",
                            bytes(outcome->peak), bytes(*free - aside - outcome->peak));
    } else {
        text += fmt::format("Does not fit now: {}, {} were asked for and {} free, {} too little. {} were held.\n", place(*outcome),
                            bytes(outcome->tried), bytes(outcome->free), bytes(outcome->missing()), bytes(outcome->peak));
        if (!outcome->driverSaid.empty())
            text += fmt::format("The driver said: {}.\n", outcome->driverSaid);
    }
    if (!print(text))
        return NotAvailable;
    return outcome->fits ? Success : Failed;
}

} // namespace headroom::probe
