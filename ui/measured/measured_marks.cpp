// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/measured/measured_marks.h"

#include "core/hardware/gpu.h"

namespace headroom {

MeasuredMarks measuredMarks(const QString &run, const Comparison &comparison, const ProbeResult &result)
{
    MeasuredMarks marks;
    marks.run = run;
    if (result.gpu)
        if (const Gpu *gpu = gpuOfProbe(*result.gpu))
            marks.gpuId = gpu->id;
    for (const ComparisonRow &row : comparison.rows) {
        const bool first = row.group == ComparisonGroup::FirstStep;
        if (!first && row.group != ComparisonGroup::LaterSteps)
            continue;
        MeasuredStep &step = first ? marks.first : marks.later;
        const Bytes measured{row.measured};
        if (row.total && row.figure.ends_with(".reserved"))
            step.reserved = measured;
        if (row.total && row.figure.ends_with(".allocated"))
            step.allocated = measured;
        if (row.total && row.figure.ends_with(".device"))
            step.device = measured;
        for (std::size_t p = 0; p < phaseCount; ++p)
            if (row.figure.ends_with("phases." + std::string(name(static_cast<Phase>(p))) + ".allocated"))
                step.phases[p] = measured;
    }
    return marks;
}

} // namespace headroom
