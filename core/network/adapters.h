// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model_config.h"
#include "core/network/decoder_model.h"
#include "core/plan/training_plan.h"
#include "core/units/result.h"

namespace headroom::network {

/// PEFT 0.21's get_peft_model() on `visit`, which shows every module of the model to a visitor: adapters born in the
/// base's dtype, then the copies of modules_to_save, then the adapters' cast to their own dtype, one tensor at a time.
void addAdapters(Tape &tape, const std::function<void(ModuleVisitor &)> &visit, const Method &method, const ModelConfig &config,
                 Version transformers);

/// Names that match no module: PEFT passes them by as long as one target matches.
struct PassedNames {
    std::vector<std::string> targets, modulesToSave; ///< of method.targets and method.modules_to_save
};
PassedNames namesPassedBy(const ModelConfig &config, const Method &method, Version transformers);

/// What PEFT would stop at in method.targets and method.modules_to_save, or what is not executed yet.
std::optional<Issue> checkAdapters(const ModelConfig &config, const Method &method, Version transformers);

} // namespace headroom::network
