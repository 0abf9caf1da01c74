// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panel/field_row.h"

#include "ui/document/companions.h"
#include "ui/icons.h"
#include "ui/palette.h"
#include "ui/panel/component_dots.h"
#include "ui/panel/stop_slider.h"

#include <QEvent>
#include <QGridLayout>
#include <QLabel>
#include <QSlider>
#include <QToolButton>

namespace headroom {
namespace {

/// Width of the boxes at the right, in characters of the form's font: all rows line up.
constexpr int boxCharacters = 22;
/// More names of a slider's stops than this find no room beside a box.
constexpr qsizetype mostNamesBesideBox = 4;

} // namespace

FieldRow::FieldRow(const Field &field, QWidget *parent)
    : QWidget(parent)
    , m_field(field)
    , m_editor(FieldEditor::create(field, this))
    , m_label(new QLabel(fromView(field.label), this))
    , m_dots(new ComponentDots(field.moves, this))
    , m_reset(new QToolButton(this))
    , m_issue(new QLabel(this))
{
    setObjectName(fromView(field.path));
    QWidget *box = m_editor->box();
    QSlider *slider = m_editor->slider();

    m_label->setBuddy(box);
    m_label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_reset->setIcon(themedIcon(QStringLiteral("reset"), palette()));
    m_reset->setAutoRaise(true);
    const int small = fontMetrics().height();
    m_reset->setIconSize({small - 2, small - 2});
    m_reset->setFixedSize(small + 2, small + 2);
    m_reset->setAccessibleName(tr("Reset %1").arg(fromView(field.label)));
    QSizePolicy keepsItsPlace = m_reset->sizePolicy();
    keepsItsPlace.setRetainSizeWhenHidden(true);
    m_reset->setSizePolicy(keepsItsPlace);
    m_reset->hide();
    m_issue->setWordWrap(true);
    m_issue->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_issue->hide();

    // A tick needs no width of its own, so that its label has it; all other boxes line up.
    // Names and lists of names get a line of their own.
    const bool isWide = field.type == FieldType::TextList || (field.type == FieldType::Text && !field.advanced);
    if (!isWide && (field.type != FieldType::Boolean || field.nullable))
        box->setFixedWidth(fontMetrics().averageCharWidth() * boxCharacters + 8);
    m_label->setWordWrap(true);
    auto *grid = new QGridLayout(this);
    grid->setContentsMargins(0, 1, 0, 1);
    grid->setHorizontalSpacing(4);
    grid->setVerticalSpacing(0);
    grid->setColumnStretch(0, 1);
    // The columns are the same in all rows, with a slider or without: the eye finds dots and boxes in line.
    grid->addWidget(m_label, 0, 0);
    grid->addWidget(m_dots, 0, 1);
    grid->addWidget(m_reset, 0, 2);
    // Many names need the whole width.
    const auto *stops = qobject_cast<const StopSlider *>(slider);
    const bool hasManyNames = stops && stops->stopNames().size() > mostNamesBesideBox;
    if (isWide)
        grid->addWidget(box, 1, 0, 1, 4);
    else
        grid->addWidget(box, 0, 3, slider && !hasManyNames ? 2 : 1, 1, Qt::AlignVCenter);
    if (slider)
        grid->addWidget(slider, 1, 0, 1, hasManyNames ? 4 : 3);
    grid->addWidget(m_issue, 2, 0, 1, 4);

    if (slider) {
        setTabOrder(slider, box);
        slider->setAccessibleName(tr("%1, slider").arg(fromView(field.label)));
    }
    setTabOrder(box, m_reset);
    box->setAccessibleName(fromView(field.label));
    describe({}, {});

    connect(m_editor.get(), &FieldEditor::edited, this, &FieldRow::edited);
    connect(m_editor.get(), &FieldEditor::dragStarted, this, &FieldRow::dragStarted);
    connect(m_editor.get(), &FieldEditor::dragFinished, this, &FieldRow::dragFinished);
    connect(m_reset, &QToolButton::clicked, this, &FieldRow::resetRequested);
}

FieldRow::~FieldRow() = default;

QString FieldRow::issue() const { return m_issue->isHidden() ? QString() : m_issue->text(); }

void FieldRow::describe(const QString &reason, const QString &referenceText)
{
    QStringList lines;
    lines << fromView(m_field.tip);
    if (const QString moved = movedComponents(m_field.moves); !moved.isEmpty())
        lines << tr("Moves: %1.").arg(moved);
    if (!reason.isEmpty())
        lines << tr("Has no effect here: %1.").arg(reason);
    if (!referenceText.isEmpty())
        lines << tr("Changed from: %1.").arg(referenceText);
    lines << tr("In the file: %1").arg(fromView(m_field.path));
    const QString plain = lines.join(QLatin1Char(' '));
    for (QString &line : lines)
        line = line.toHtmlEscaped();
    setToolTip(QStringLiteral("<p>%1</p>").arg(lines.join(QLatin1String("<br>"))));
    for (QWidget *widget : m_editor->focusWidgets()) {
        widget->setToolTip(toolTip());
        widget->setAccessibleDescription(plain);
    }
    m_reset->setToolTip(tr("Back to %1").arg(referenceText));
    m_reset->setAccessibleDescription(m_reset->toolTip());
}

void FieldRow::showPlan(const TrainingPlan &plan, const TrainingPlan &reference)
{
    const FieldValue value = m_field.get(plan);
    const FieldValue before = m_field.get(reference);
    m_editor->setValue(value);

    const bool changed = value != before;
    const bool judged = m_field.inapplicable && !bringsWhatItNeeds(m_field.path);
    const QString reason = judged ? QString::fromStdString(m_field.inapplicable(plan)) : QString();
    const QString referenceText = changed ? QString::fromStdString(displayValue(m_field, before)) : QString();
    if (changed != m_changed) {
        m_changed = changed;
        QFont font = m_label->font();
        font.setBold(changed);
        m_label->setFont(font);
        m_reset->setVisible(changed);
    }
    if (reason != m_reason || referenceText != m_referenceText) {
        m_reason = reason;
        m_referenceText = referenceText;
        const bool applies = reason.isEmpty();
        m_label->setEnabled(applies);
        for (QWidget *widget : m_editor->focusWidgets())
            widget->setEnabled(applies);
        m_dots->setEnabled(applies);
        describe(reason, referenceText);
    }
}

void FieldRow::setIssue(const QString &text)
{
    if (text == issue())
        return;
    m_issue->setText(text);
    m_issue->setAccessibleName(tr("Problem with %1: %2").arg(fromView(m_field.label), text));
    colourIssue();
    m_issue->setVisible(!text.isEmpty());
}

void FieldRow::setMnemonic(QChar letter)
{
    QString text = fromView(m_field.label);
    text.replace(QLatin1Char('&'), QLatin1String("&&"));
    if (const qsizetype at = letter.isNull() ? -1 : text.indexOf(letter, 0, Qt::CaseInsensitive); at >= 0)
        text.insert(at, QLatin1Char('&'));
    m_label->setText(text);
}

void FieldRow::takeFocus() { m_editor->box()->setFocus(Qt::OtherFocusReason); }

void FieldRow::colourIssue()
{
    QPalette colours = m_issue->palette();
    colours.setColor(QPalette::WindowText, readableOn(overLimitColour(), palette().color(QPalette::Window)));
    m_issue->setPalette(colours);
}

void FieldRow::changeEvent(QEvent *event)
{
    if (event->type() == QEvent::PaletteChange) {
        m_reset->setIcon(themedIcon(QStringLiteral("reset"), palette()));
        colourIssue();
    }
    QWidget::changeEvent(event);
}

} // namespace headroom
