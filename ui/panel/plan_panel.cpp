// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panel/plan_panel.h"

#include "core/training/executed_fields.h"
#include "ui/choosers/gpu_chooser.h"
#include "ui/document/plan_files.h"
#include "ui/panel/field_row.h"
#include "ui/panel/fold_section.h"

#include <QApplication>
#include <QLabel>
#include <QSet>
#include <QVBoxLayout>

#include <algorithm>
#include <array>

namespace headroom {
namespace {

struct SectionStyle {
    FieldGroup group;
    const char *name; ///< for the settings
    const char *title;
    bool folded; ///< at first
};

// In the order of the form: what decides most comes first.
constexpr std::array sectionStyles = {
    SectionStyle{FieldGroup::Model, "model", QT_TRANSLATE_NOOP("headroom::PlanPanel", "Model"), false},
    SectionStyle{FieldGroup::Method, "method", QT_TRANSLATE_NOOP("headroom::PlanPanel", "Method"), false},
    SectionStyle{FieldGroup::Batch, "batch", QT_TRANSLATE_NOOP("headroom::PlanPanel", "Batch"), false},
    SectionStyle{FieldGroup::Precision, "precision", QT_TRANSLATE_NOOP("headroom::PlanPanel", "Precision"), false},
    SectionStyle{FieldGroup::Optimizer, "optimizer", QT_TRANSLATE_NOOP("headroom::PlanPanel", "Optimizer and loop"), false},
    SectionStyle{FieldGroup::Saving, "saving", QT_TRANSLATE_NOOP("headroom::PlanPanel", "Saving memory"), false},
    SectionStyle{FieldGroup::Parallelism, "parallelism", QT_TRANSLATE_NOOP("headroom::PlanPanel", "Parallelism"), false},
    SectionStyle{FieldGroup::Gpus, "gpus", QT_TRANSLATE_NOOP("headroom::PlanPanel", "GPUs"), false},
    SectionStyle{FieldGroup::Runtime, "runtime", QT_TRANSLATE_NOOP("headroom::PlanPanel", "Software"), true},
    SectionStyle{FieldGroup::Plan, "plan", QT_TRANSLATE_NOOP("headroom::PlanPanel", "Plan"), true},
};

/// Fields that nothing this engine executes can make effective, and whose list has no choices that say so. Where a file
/// sets one it is shown all the same, so that what the engine refuses can be found and reset.
bool isWithoutEffect(const Field &field)
{
    const auto isRefused = [](const FieldChoice &choice) { return !choice.refused.empty(); };
    return std::none_of(field.choices.begin(), field.choices.end(), isRefused) && !training::canTakeEffect(field);
}

} // namespace

PlanPanel::PlanPanel(PlanDocument &document, DisplaySettings *display, QWidget *parent)
    : QScrollArea(parent)
    , m_document(document)
    , m_sections(sectionStyles.size())
    , m_model(new QLabel(this))
    , m_gpus(new GpuChooser(display, this))
{
    setObjectName(QStringLiteral("planPanel"));
    setAccessibleName(tr("Plan"));
    setFrameShape(QFrame::NoFrame);
    setWidgetResizable(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFocusPolicy(Qt::NoFocus);

    auto *form = new QWidget(this);
    auto *layout = new QVBoxLayout(form);
    layout->setContentsMargins(6, 4, 6, 8);
    layout->setSpacing(2);
    for (const SectionStyle &style : sectionStyles) {
        auto *section = new FoldSection(QLatin1String(style.name), tr(style.title), form);
        section->setFolded(style.folded);
        m_sections[static_cast<std::size_t>(style.group)] = section;
        layout->addWidget(section);
    }
    layout->addStretch(1);

    m_model->setWordWrap(true);
    m_model->setTextInteractionFlags(Qt::TextSelectableByMouse);
    section(FieldGroup::Model)->addRow(m_model);
    for (const Field &field : fields())
        if (field.path != "gpus")
            addField(field, section(field.group));
    section(FieldGroup::Gpus)->addRow(m_gpus);
    setWidget(form);
    setMinimumWidth(sizeHint().width());

    connect(m_gpus, &GpuChooser::chosenEdited, &document, &PlanDocument::setGpus);
    connect(&document, &PlanDocument::planChanged, this, &PlanPanel::showPlan);
    connect(&document, &PlanDocument::baselineChanged, this, &PlanPanel::showPlan);
    connect(&document, &PlanDocument::fileChanged, this, &PlanPanel::showPlan);
    showPlan();
}

void PlanPanel::addField(const Field &field, FoldSection *section)
{
    auto *row = new FieldRow(field, this);
    m_rows.push_back(row);
    if (isWithoutEffect(field))
        m_withoutEffect.insert(row);
    // A section that is folded as a whole has no second fold inside.
    section->addRow(row, field.advanced && field.group != FieldGroup::Runtime);
    connect(row, &FieldRow::edited, this, [this, row](const FieldValue &value) {
        const auto issue = m_document.setField(row->field(), value);
        row->setIssue(issue ? issueText(*issue) : QString());
        if (issue)
            row->showPlan(m_document.plan(), m_document.reference());
    });
    connect(row, &FieldRow::resetRequested, this, [this, row] {
        // The button goes away with the change: the focus stays in the row.
        row->takeFocus();
        m_document.resetField(row->field());
    });
    connect(row, &FieldRow::dragStarted, &m_document, &PlanDocument::beginGesture);
    connect(row, &FieldRow::dragFinished, &m_document, &PlanDocument::endGesture);
}

FoldSection *PlanPanel::section(FieldGroup group) const { return m_sections[static_cast<std::size_t>(group)]; }

void PlanPanel::assignMnemonics(QSet<QChar> taken)
{
    for (FieldRow *row : m_rows) {
        if (row->field().advanced || row->field().group == FieldGroup::Plan || m_withoutEffect.contains(row))
            continue;
        const QString label = fromView(row->field().label).toLower();
        const auto letter = std::find_if(label.begin(), label.end(), [&](QChar c) { return c.isLetter() && !taken.contains(c); });
        if (letter == label.end())
            continue;
        taken.insert(*letter);
        row->setMnemonic(*letter);
    }
}

void PlanPanel::showPlan()
{
    static const TrainingPlan defaults;
    const TrainingPlan &plan = m_document.plan();
    for (FieldRow *row : m_rows) {
        row->showPlan(plan, m_document.reference());
        if (m_withoutEffect.contains(row))
            row->setVisible(row->field().get(plan) != row->field().get(defaults));
    }
    m_gpus->setChosen(plan.gpus);
}

FieldRow *PlanPanel::row(std::string_view path) const
{
    const auto found = std::find_if(m_rows.begin(), m_rows.end(), [&](const FieldRow *row) { return row->field().path == path; });
    return found == m_rows.end() ? nullptr : *found;
}

FieldRow *PlanPanel::find(std::string_view path) const
{
    if (FieldRow *exact = row(path))
        return exact;
    const auto isBelow = [&](const FieldRow *row) {
        const std::string_view candidate = row->field().path;
        return !path.empty() && candidate.size() > path.size() && candidate.substr(0, path.size()) == path && candidate[path.size()] == '.';
    };
    const auto found = std::find_if(m_rows.begin(), m_rows.end(), isBelow);
    return found == m_rows.end() ? nullptr : *found;
}

void PlanPanel::commit()
{
    for (FieldRow *row : m_rows)
        if (row->isAncestorOf(QApplication::focusWidget()))
            row->editor().commit();
}

void PlanPanel::setModelSummary(const QString &text)
{
    if (text != m_model->text())
        m_model->setText(text);
}

std::vector<Issue> PlanPanel::setIssues(const std::vector<Issue> &issues)
{
    std::vector<Issue> elsewhere;
    std::vector<QStringList> texts(m_rows.size());
    for (const Issue &issue : issues) {
        const auto at = std::find(m_rows.begin(), m_rows.end(), row(issue.where));
        if (at == m_rows.end()) {
            elsewhere.push_back(issue);
            continue;
        }
        Issue short_ = issue;
        short_.where.clear();
        short_.file.clear();
        texts[static_cast<std::size_t>(at - m_rows.begin())] << issueText(short_);
    }
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        m_rows[i]->setIssue(texts[i].join(QLatin1Char('\n')));
        if (!texts[i].isEmpty())
            for (FoldSection *section : m_sections)
                if (section->isAncestorOf(m_rows[i]))
                    section->reveal(m_rows[i]);
    }
    return elsewhere;
}

bool PlanPanel::reveal(std::string_view path)
{
    if (path == "gpus" || path.substr(0, 5) == "gpus[" || path.substr(0, 5) == "gpus.") {
        section(FieldGroup::Gpus)->reveal(m_gpus);
        ensureWidgetVisible(m_gpus);
        m_gpus->takeFocus();
        return true;
    }
    FieldRow *row = find(path);
    if (!row)
        return false;
    row->show();
    for (FoldSection *section : m_sections)
        if (section->isAncestorOf(row))
            section->reveal(row);
    // Rows that were just unfolded have no place yet.
    widget()->layout()->activate();
    ensureWidgetVisible(row);
    row->takeFocus();
    return true;
}

QStringList PlanPanel::foldedGroups() const
{
    QStringList names;
    for (const FoldSection *section : m_sections)
        if (section->isFolded())
            names << section->name();
    return names;
}

void PlanPanel::setFoldedGroups(const QStringList &names)
{
    for (FoldSection *section : m_sections)
        section->setFolded(names.contains(section->name()));
}

QSize PlanPanel::sizeHint() const
{
    // About 340 pixels with a usual font; labels wrap where that is too little.
    return {fontMetrics().averageCharWidth() * 57, 600};
}

} // namespace headroom
