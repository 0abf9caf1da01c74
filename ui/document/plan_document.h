// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"
#include "core/plan/fields.h"
#include "core/plan/training_plan.h"
#include "core/units/result.h"

#include <QObject>
#include <QString>
#include <QTimer>
#include <QUndoStack>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

class PlanCommand;

/// A plan's title for people: the name of its file; where there is none yet its own, else "Untitled".
QString titleOf(const TrainingPlan &plan, const QString &file);

/// The plan that the window works on, with the history of its changes. Every change goes through here and can be undone;
/// views read plan() and redraw on planChanged(). Files are checked whole before they replace anything: where an Issue
/// comes back the open plan is as it was.
class PlanDocument : public QObject
{
    Q_OBJECT
public:
    /// Starts with startPlan(), unmodified and without a file.
    explicit PlanDocument(QObject *parent = nullptr);
    ~PlanDocument() override;

    const TrainingPlan &plan() const { return m_plan; }
    /// What changes are marked against: the pinned baseline's plan, else the plan as it was opened or begun.
    const TrainingPlan &reference() const;
    QUndoStack *undoStack() { return &m_undoStack; }
    /// Whether the plan is another one than file() holds, or than it was begun with. A pinned baseline is no part of it.
    bool isModified() const { return m_modified; }
    /// The file of the plan; empty: never saved.
    const QString &file() const { return m_file; }
    QString title() const { return titleOf(m_plan, m_file); }

    /// Sets a field as an undoable step named by changeText(). A change that alone makes no plan brings with it what it
    /// needs, in the same step (several GPUs need an engine). An Issue: out of range, nothing happened.
    std::optional<Issue> setField(const Field &field, const FieldValue &value);
    /// Back to reference()'s value.
    void resetField(const Field &field);
    /// Whether the field differs from reference().
    bool isChanged(const Field &field) const;
    void setModel(const ModelChoice &model);
    void setGpus(const std::vector<std::string> &ids);
    /// The whole plan as one undoable step, which `text` names.
    void setPlan(const TrainingPlan &plan, const QString &text);

    /// All changes of one field between the two calls are one step of undo: a slider drag.
    void beginGesture();
    void endGesture();

    /// The result that others are compared with, undoable too; null: none.
    std::shared_ptr<const Estimate> baseline() const { return m_baseline; }
    void setBaseline(std::shared_ptr<const Estimate> baseline);

    /// A new plan: startPlan(), history empty.
    void reset();
    /// Reads a plan (replaces everything, history empty) or a config.json (an undoable change of the model).
    std::optional<Issue> open(const QString &file);
    /// Writes to file(), which must not be empty.
    std::optional<Issue> save();
    std::optional<Issue> saveAs(const QString &file);
    /// Takes over a working copy: unsaved changes are still unsaved, `file` is where it will be saved;
    /// an unmodified one is read from its file again.
    void restore(const TrainingPlan &plan, const QString &file, bool modified);

    /// Back to what file() holds, or to startPlan().
    void discardChanges();

signals:
    void planChanged();
    void baselineChanged();
    /// file() or title() is another one.
    void fileChanged();
    void modifiedChanged(bool modified);

private:
    friend class PlanCommand;
    friend class BaselineCommand;

    void apply(const TrainingPlan &plan);
    void applyBaseline(std::shared_ptr<const Estimate> baseline);
    void push(const TrainingPlan &after, const QString &text, const std::string &subject);
    void replace(const TrainingPlan &plan, const TrainingPlan &origin, const QString &file);
    void updateModified();

    TrainingPlan m_plan;
    TrainingPlan m_origin;
    std::shared_ptr<const Estimate> m_baseline;
    QUndoStack m_undoStack;
    QString m_file;
    bool m_isFileGone = false; ///< the plan is in no file, whatever it is
    bool m_modified = false;
    QTimer m_gestureEnd; ///< ends the gesture of keys and wheel, which have no release to wait for
    int m_gesture = 0;   ///< number of the gesture that goes on; changes of another gesture never merge
    bool m_inGesture = false;
    std::optional<TrainingPlan> m_gestureStart; ///< each change of a drag is made from here, so that dragging back undoes it
    std::string m_gestureSubject;
};

} // namespace headroom
