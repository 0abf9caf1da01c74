// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/plan_document.h"

#include <QUndoCommand>

namespace headroom {

/// One change of the plan. Plans are small values, so the command keeps both: what companions a change brought along
/// comes back with it. Changes of the same field in the same gesture merge.
class PlanCommand : public QUndoCommand
{
public:
    PlanCommand(PlanDocument &document, TrainingPlan after, const QString &text, std::string subject, int gesture);

    void undo() override;
    void redo() override { m_document.apply(m_after); }
    int id() const override { return 1; }
    bool mergeWith(const QUndoCommand *other) override;

private:
    PlanDocument &m_document;
    TrainingPlan m_before;
    TrainingPlan m_after;
    std::string m_subject; ///< path of the field, or "model", "gpus"
    int m_gesture;
};

/// Pins or releases the baseline.
class BaselineCommand : public QUndoCommand
{
public:
    BaselineCommand(PlanDocument &document, std::shared_ptr<const Estimate> after);

    void undo() override { m_document.applyBaseline(m_before); }
    void redo() override { m_document.applyBaseline(m_after); }

private:
    PlanDocument &m_document;
    std::shared_ptr<const Estimate> m_before;
    std::shared_ptr<const Estimate> m_after;
};

} // namespace headroom
