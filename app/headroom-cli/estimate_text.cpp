// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-cli/estimate_text.h"

#include "app/headroom-cli/text_table.h"
#include "core/estimate/checkpointing_cost.h"
#include "core/report/report.h"

#include <fmt/format.h>

namespace headroom::cli {

std::string formatEstimate(const Estimate &estimate, ByteUnit unit)
{
    std::string out = planTitle(estimate.plan) + '\n';
    out += fmt::format("{} parameters, {} of them trainable\n\n", formatCount(estimate.parametersTotal),
                       formatCount(estimate.parametersTrainable));
    if (estimate.gpus.empty())
        out += summarySentence(estimate, unit) + '\n';
    for (const GpuEstimate &gpu : estimate.gpus)
        out += verdictSentence(gpu, unit) + '\n';

    if (estimate.peak.phase == estimate.firstStep.phase)
        out += fmt::format("\nAt the peak, {}\n", phraseOf(estimate.peak.phase));
    else
        out += fmt::format("\nAt the peak: {} of later steps, {} of the first\n", phraseOf(estimate.peak.phase),
                           phraseOf(estimate.firstStep.phase));
    out += formatTable(componentsTable(estimate, unit));
    out += "\nPhase by phase\n";
    out += formatTable(phasesTable(estimate, unit));
    out += fmt::format("\nKept for backward at the end of forward: {}\n", formatBytes(estimate.savedActivations, unit));
    if (const std::optional<Bytes> saved = bytesSavedByCheckpointing(estimate))
        out += savedSentence(*saved, unit) + '\n';
    if (estimate.hostPeak.value > 0)
        out += fmt::format("Host memory: {} between steps, {} at most\n", formatBytes(estimate.hostSteady, unit),
                           formatBytes(estimate.hostPeak, unit));
    out += wrapped(bandSentence(estimate.band), {}) + '\n';
    if (!estimate.notes.empty())
        out += "\nNotes\n";
    for (const Note &note : estimate.notes)
        out += "  " +
               wrapped(fmt::format("{}{}{}: {}", note.severity == Severity::Warning ? "warning" : "note", note.where.empty() ? "" : ", ",
                                   note.where, note.text),
                       "    ") +
               '\n';
    return out;
}

} // namespace headroom::cli
