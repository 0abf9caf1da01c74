// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/plan/training_plan.h"
#include "core/units/result.h"

#include <QByteArray>
#include <QString>

#include <optional>
#include <string>

namespace headroom {

/// What a file that the user opened turned out to be, judged by its content and not by its name.
struct OpenedFile {
    enum class Kind {
        Plan,   ///< a whole plan
        Config, ///< a Hugging Face config.json: only `plan.model` is meaningful
    };
    Kind kind = Kind::Plan;
    TrainingPlan plan;
    std::string text; ///< the file's own, in which lineOf() finds the place of an issue
};

/// Largest file that is read at all.
inline constexpr qint64 maximumFileBytes = 16 << 20;

/// Reads a Headroom plan or a Hugging Face config.json. Whatever is wrong comes back as an Issue with the file's name.
/// A config is kept inline, so that the plan does not depend on where the file lies.
Result<OpenedFile> openPlanOrConfig(const QString &file);

/// Writes the file whole or not at all (QSaveFile); the Issue names the file and what the system said.
std::optional<Issue> writeFile(const QString &file, const QByteArray &content);

/// The same plan for a file in another folder: a relative model.config_path is made to lead to the same file from there.
TrainingPlan movedTo(const TrainingPlan &plan, const QString &folder);

/// The plan of a first start: Qwen3-8B with LoRA on one 24 GB card.
TrainingPlan startPlan();

/// An Issue as one paragraph for the window: "File, line 3: batch.micro_batch: must be at least 1. Write ...".
QString issueText(const Issue &issue);

} // namespace headroom
