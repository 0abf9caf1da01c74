// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/plan_command.h"

#include <QCoreApplication>

namespace headroom {

PlanCommand::PlanCommand(PlanDocument &document, TrainingPlan after, const QString &text, std::string subject, int gesture)
    : QUndoCommand(text)
    , m_document(document)
    , m_before(document.plan())
    , m_after(std::move(after))
    , m_subject(std::move(subject))
    , m_gesture(gesture)
{}

void PlanCommand::undo()
{
    // A step back ends whatever drag goes on: its start is no longer where the plan comes from.
    m_document.m_gestureStart.reset();
    m_document.apply(m_before);
}

bool PlanCommand::mergeWith(const QUndoCommand *other)
{
    const auto *next = dynamic_cast<const PlanCommand *>(other);
    if (!next || next->m_gesture != m_gesture || next->m_subject != m_subject)
        return false;
    m_after = next->m_after;
    if (const Field *field = findField(m_subject))
        setText(QString::fromStdString(changeText(*field, field->get(m_before), field->get(m_after))));
    else
        setText(next->text());
    setObsolete(m_before == m_after);
    return true;
}

BaselineCommand::BaselineCommand(PlanDocument &document, std::shared_ptr<const Estimate> after)
    : QUndoCommand(after ? QCoreApplication::translate("headroom::PlanDocument", "Pin baseline")
                         : QCoreApplication::translate("headroom::PlanDocument", "Release baseline"))
    , m_document(document)
    , m_before(document.baseline())
    , m_after(std::move(after))
{}

} // namespace headroom
