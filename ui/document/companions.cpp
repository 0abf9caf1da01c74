// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/companions.h"

namespace headroom {

bool settleCompanions(TrainingPlan &plan, std::string_view path)
{
    Parallel &parallel = plan.parallel;
    const Parallel before = parallel;
    const Selective selectedBefore = plan.selective;
    if (path == "parallel.data" || path == "parallel.zero_stage") {
        // DeepSpeed is the engine whose every ZeRO stage the slider beside offers.
        if (parallel.engine == Engine::None && (parallel.data > 1 || parallel.zeroStage.value_or(0) > 0))
            parallel.engine = Engine::DeepSpeed;
    } else if (path == "parallel.engine" && parallel.engine == Engine::None) {
        parallel.data = 1;
        parallel.zeroStage.reset();
    } else if (path == "checkpointing") {
        if (plan.checkpointing != Checkpointing::Selective)
            plan.selective = {};
        else if (plan.selective == Selective())
            plan.selective.every = 2;
    }
    return parallel != before || plan.selective != selectedBefore;
}

bool bringsWhatItNeeds(std::string_view path) { return path == "parallel.data"; }

} // namespace headroom
