// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"
#include "core/plan/training_plan.h"
#include "core/units/bytes.h"
#include "core/units/result.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// Newest format of probe results that this program reads.
inline constexpr int probeFormat = 1;

/// How a result came about.
enum class ProbeKind : std::uint8_t {
    Gpu,    ///< on a real GPU
    DryRun, ///< on PyTorch's fake tensors: allocated memory alone, each storage rounded up to 512 bytes, no workspaces
};
std::string_view name(ProbeKind kind); ///< "gpu" | "dry-run", as in the file

/// The phase with this name(); nothing: there is none.
std::optional<Phase> phaseNamed(std::string_view text);

/// What was installed where the run took place; empty: not used, or not known.
struct ProbeVersions {
    std::string torch, transformers, peft, bitsandbytes, deepspeed, ligerKernel, cuda, driver;
    bool operator==(const ProbeVersions &) const = default;
};

struct ProbeGpu {
    std::string name;              ///< as the driver says: "NVIDIA H200"
    Bytes capacity;                ///< the device's memory
    std::string computeCapability; ///< "9.0"
    Bytes usedByOthers;            ///< of the device, before the run began
    bool operator==(const ProbeGpu &) const = default;
};

/// The highest figures within one phase of a step.
struct ProbePhase {
    Phase phase = Phase::Forward;
    Bytes allocated;
    std::optional<Bytes> active, reserved, device; ///< not known to a dry run; device also where NVML is missing
    bool operator==(const ProbePhase &) const = default;
};

/// One optimizer step.
struct ProbeStep {
    std::optional<double> seconds, tokensPerSecond;
    Bytes allocated;
    std::optional<Bytes> active, reserved, device; ///< as in a phase
    std::vector<ProbePhase> phases;                ///< in the order in which they ran, each at most once
    bool operator==(const ProbeStep &) const = default;
};

/// Bytes counted tensor by tensor, and what PyTorch reports as allocated; unset: not known.
struct ProbeAlive {
    std::optional<Bytes> weights, gradients, optimizer, allocated;
    bool operator==(const ProbeAlive &) const = default;
};

/// Where a phase began, by the clock of PyTorch's memory snapshots.
struct ProbeMark {
    std::optional<int> step; ///< 0-based; unset: while loading
    Phase phase = Phase::Load;
    std::int64_t microseconds = 0; ///< since 1970
    bool operator==(const ProbeMark &) const = default;
};

/// What ended the run early. The figures up to then are kept.
struct ProbeError {
    std::string kind;           ///< "out-of-memory" or another word
    std::string message;        ///< PyTorch's own
    std::string place;          ///< in which function, for errors that should not be; may be empty
    std::optional<int> step;    ///< 0-based; unset: before the first step
    std::optional<Phase> phase; ///< unset: not known
    ProbeAlive alive;           ///< at that moment
    bool outOfMemory() const { return kind == "out-of-memory"; }
    bool operator==(const ProbeError &) const = default;
};

/// A `*.headroom-probe.json`: what one rank of one run took.
struct ProbeResult {
    TrainingPlan plan; ///< the plan that ran, complete
    ProbeKind how = ProbeKind::Gpu;
    ProbeVersions versions;
    std::optional<ProbeGpu> gpu; ///< unset in a dry run
    int rank = 0, ranks = 1;
    std::optional<std::int64_t> parametersTotal, parametersTrainable; ///< elements; unset where the run ended before they were known
    ProbeAlive steady;                                                ///< between two steps
    std::optional<Bytes> savedActivations;
    std::optional<ProbePhase> load; ///< while the model was built; unset: not known
    std::vector<ProbeStep> steps;
    std::vector<ProbeMark> marks;   ///< in the order of the run; none in a dry run, which knows no time
    std::vector<std::string> notes; ///< what the probe says about its own run
    std::optional<ProbeError> error;
};

/// Reads one result, which is taken for untrusted: unknown and repeated keys, wrong types, numbers that no run can have, a newer
/// format number, invalid UTF-8 and deep nesting are an Issue with the path, the line and how to mend it. Never throws.
Result<ProbeResult> readProbeResult(std::string_view json);

/// Reads a file of at most 16 MiB; the Issue carries its name.
Result<ProbeResult> readProbeFile(const std::filesystem::path &file);

/// Whether a file of this name is taken for a probe's result ("*.headroom-probe.json").
bool isProbeFileName(std::string_view name);

/// "NVIDIA H200, torch 2.13.0", "dry run, torch 2.13.0": what tells runs apart, in a few words.
std::string probeTitle(const ProbeResult &result);

} // namespace headroom
