// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/display_settings.h"
#include "ui/document/plan_document.h"

#include <QScrollArea>
#include <QSet>

#include <string_view>
#include <vector>

class QLabel;

namespace headroom {

class FieldRow;
class FoldSection;
class GpuChooser;

/// The form of the plan, generated from the field table: a section a group, a row a field, the GPUs at the end. Reads the
/// document on planChanged(), changes it through its commands.
class PlanPanel : public QScrollArea
{
    Q_OBJECT
public:
    PlanPanel(PlanDocument &document, DisplaySettings *display, QWidget *parent = nullptr);

    FieldRow *row(std::string_view path) const;
    GpuChooser *gpuChooser() const { return m_gpus; }
    const std::vector<FoldSection *> &sections() const { return m_sections; }

    /// Gives the fields that are always in sight a letter each. `taken`: those of the window's menus and tabs, in lower case.
    void assignMnemonics(QSet<QChar> taken);

    /// Two lines about the model below its heading; empty: none.
    void setModelSummary(const QString &text);
    /// Shows each issue at its field, unfolding what hides it. Returns those that belong to no field of the form.
    std::vector<Issue> setIssues(const std::vector<Issue> &issues);
    /// Unfolds, scrolls to and focuses the field with this path, or the first one below it ("precision"). False: none.
    bool reveal(std::string_view path);

    /// Puts what is being typed into the plan.
    void commit();

    QStringList foldedGroups() const;
    void setFoldedGroups(const QStringList &names);

    QSize sizeHint() const override;

private:
    void addField(const Field &field, FoldSection *section);
    FoldSection *section(FieldGroup group) const;
    FieldRow *find(std::string_view path) const;
    void showPlan();

    PlanDocument &m_document;
    std::vector<FoldSection *> m_sections; ///< by FieldGroup; null: no field of the form is in it
    std::vector<FieldRow *> m_rows;
    QSet<FieldRow *> m_withoutEffect; ///< shown only where the plan sets them
    QLabel *m_model;
    GpuChooser *m_gpus;
};

} // namespace headroom
