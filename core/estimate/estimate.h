// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model_config.h"
#include "core/plan/training_plan.h"
#include "core/units/bytes.h"
#include "core/units/result.h"

#include <array>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// The five parts of training memory. Their sum is what PyTorch calls allocated.
enum class Component : std::uint8_t { Weights, Gradients, Optimizer, Activations, Temporary };
inline constexpr std::size_t componentCount = 5;
inline constexpr std::array<Component, componentCount> allComponents = {Component::Weights, Component::Gradients, Component::Optimizer,
                                                                        Component::Activations, Component::Temporary};
std::string_view name(Component component); ///< "weights" ... as in the estimate format

struct ComponentBytes {
    std::array<Bytes, componentCount> bytes{};
    Bytes &operator[](Component c) { return bytes[static_cast<std::size_t>(c)]; }
    Bytes operator[](Component c) const { return bytes[static_cast<std::size_t>(c)]; }
    Bytes total() const
    {
        Bytes sum;
        for (Bytes b : bytes)
            sum += b;
        return sum;
    }
    bool operator==(const ComponentBytes &) const = default;
};

/// The parts of one pass of the loop. `loss` begins where the output head is called, `optimizer` holds clipping, the
/// step and zero_grad, `idle` is what lies between two steps.
enum class Phase : std::uint8_t { Load, Forward, Loss, Backward, Optimizer, Idle };
inline constexpr std::size_t phaseCount = 6;
std::string_view name(Phase phase);     ///< "load" ...
std::string_view phraseOf(Phase phase); ///< as it reads in a sentence: "while loading", "in backward", "between steps"

/// What is alive when a step's allocated memory is highest.
struct Peak {
    Bytes allocated; ///< torch.cuda.max_memory_allocated
    Bytes reserved;  ///< torch.cuda.max_memory_reserved, the highest of the step
    Bytes device;    ///< reserved + what is outside PyTorch
    Phase phase = Phase::Backward;
    ComponentBytes components; ///< sum == allocated
};

struct PhasePeak {
    Phase phase = Phase::Load;
    Bytes allocated, reserved;
};

struct Steady {
    Bytes weights, gradients, optimizer; ///< bytes alive between two steps
    Bytes allocated;                     ///< all that is, the batch's ids and labels included
};

enum class Verdict : std::uint8_t { Fits, Tight, DoesNotFit };
std::string_view name(Verdict verdict); ///< "fits" | "tight" | "does-not-fit"

struct GpuEstimate {
    std::string id, name; ///< catalogue id; title for people
    Bytes capacity;
    Verdict verdict = Verdict::Fits;
    bool fits = true;                  ///< device <= capacity
    Bytes headroom;                    ///< capacity - device; negative: short by that much
    Bytes allocated, reserved, device; ///< on this GPU, each the higher of first step and steady state
    Phase phase = Phase::Backward;     ///< where the peak lies, or where it would run out of memory
};

/// How far predictions have been from published measurements in this regime; relative to these, 90th percentile. A figure is
/// null where too few are on record.
struct Band {
    std::string regime = "unvalidated";
    std::optional<double> allocated, reserved, device;
};

enum class Severity : std::uint8_t { Information, Warning };
struct Note {
    Severity severity = Severity::Information;
    std::string where; ///< field path; may be empty
    std::string text;
};

/// A row of the breakdown: component -> group -> kind of tensor, at the instant of the peak.
struct BreakdownRow {
    std::string label; ///< "activations", "attention", "input of q_proj, k_proj, v_proj"
    Component component = Component::Weights;
    Bytes bytes;
    std::int64_t count = 0; ///< tensors
    std::string shape;      ///< "[1, 4096, 4096]", empty where rows differ
    std::string dtype;
    std::string rule;   ///< one sentence: why these bytes are there
    std::string source; ///< paper and equation, or repository, file and version
    std::vector<BreakdownRow> children;
};

/// Allocated by component and reserved after one event of the step.
struct TimelineSample {
    std::uint32_t event = 0; ///< index within the step, 0-based
    Phase phase = Phase::Forward;
    std::int16_t layer = -1; ///< decoder layer that runs; -1: none
    Bytes reserved;
    ComponentBytes components;
};

struct TimelineBand {
    std::string label;              ///< "forward", "layer 3"
    std::uint32_t from = 0, to = 0; ///< events, half-open
};

/// One step, event by event, thinned to at most the samples asked for: in each stretch its highest sample is kept,
/// so that no peak is lost. `from`, `to` cut out a part (zooming).
struct Timeline {
    std::vector<TimelineSample> samples;
    std::vector<TimelineBand> phases;
    std::vector<TimelineBand> layers;
    std::uint32_t events = 0; ///< of the whole step
    std::uint32_t peakEvent = 0;
};

/// A tensor that is alive at some instant.
struct AliveTensor {
    std::string label; ///< "log-softmax", "layers.3 down_proj input"
    Component component = Component::Temporary;
    Bytes bytes;
    std::string shape, dtype;
    std::int64_t count = 1; ///< equal ones summed up
};

class StepRecord;

/// The one result that every view, report and command shows. Immutable; share it by shared_ptr<const Estimate>.
class Estimate
{
public:
    TrainingPlan plan;
    ModelConfig model;
    std::int64_t parametersTotal = 0; ///< elements; adapters and copies of modules_to_save included, a tied tensor once
    std::int64_t parametersTrainable = 0;
    Steady steady;
    Peak peak; ///< of the third step, on the plan's first GPU: within its memory where that is enough
    Peak firstStep;
    Bytes savedActivations; ///< alive for backward at the end of forward
    std::array<PhasePeak, phaseCount> phases{};
    std::array<PhasePeak, phaseCount> firstPhases{}; ///< load as in `phases`
    Bytes hostSteady, hostPeak;                      ///< off the device
    double flopsForward = 0;                         ///< floating-point operations of products and attention in a step's forward passes
    double flopsRecomputed = 0;                      ///< of those that checkpointing runs again in backward
    Band band;
    std::vector<GpuEstimate> gpus;
    std::vector<Note> notes;

    enum class Step { First, Steady };
    /// Built on demand from the recorded step; cheap enough for a paint, safe from any thread.
    Timeline timeline(Step step, std::size_t samples, std::uint32_t from = 0, std::uint32_t to = UINT32_MAX) const;
    /// What is alive after an event of the step (or at its peak), largest first, equal tensors summed up.
    std::vector<AliveTensor> alive(Step step, std::optional<std::uint32_t> event = {}) const;
    /// The five components with their groups and tensors at the peak. Sums of children equal their parent.
    std::vector<BreakdownRow> breakdown(Step step) const;

    std::shared_ptr<const StepRecord> record; ///< internal: the trace behind the three views above
};

/// Executes the plan's training step symbolically. The one entry to the engine; thread-safe, no global state.
/// A plan that the engine cannot execute is refused with the reason, never approximated in silence.
/// Where `cancel` is requested meanwhile, returns an Issue whose `what` is "cancelled".
Result<std::shared_ptr<const Estimate>> estimate(const TrainingPlan &plan, std::stop_token cancel = {});

/// The model that a plan names: its preset, its inline config, or the file at config_path.
Result<ModelConfig> resolveModel(const TrainingPlan &plan);

/// The estimate as the format's JSON document, on one line or indented. `bytesSaved`: by checkpointing, where that was asked
/// for (checkpointing_cost.h).
std::string writeEstimate(const Estimate &estimate, bool indent = false, std::optional<Bytes> bytesSaved = {});

} // namespace headroom
