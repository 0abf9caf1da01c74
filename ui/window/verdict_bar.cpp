// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/verdict_bar.h"

#include "core/report/report.h"
#include "ui/document/plan_files.h"
#include "ui/icons.h"
#include "ui/palette.h"
#include "ui/panel/field_editor.h"
#include "ui/window/plain_label.h"

#include <QEvent>
#include <QGridLayout>
#include <QLabel>
#include <QListWidget>
#include <QToolButton>

#include <algorithm>

namespace headroom {
namespace {

constexpr int mostLinesOfNotes = 8;

QString iconOf(Verdict verdict)
{
    switch (verdict) {
    case Verdict::Fits: return QStringLiteral("check");
    case Verdict::Tight: return QStringLiteral("warning");
    case Verdict::DoesNotFit: return QStringLiteral("cross");
    }
    return {};
}

} // namespace

std::vector<GpuEstimate> worstFirst(std::vector<GpuEstimate> gpus)
{
    std::stable_sort(gpus.begin(), gpus.end(), [](const GpuEstimate &a, const GpuEstimate &b) {
        return a.verdict != b.verdict ? a.verdict > b.verdict : a.headroom < b.headroom;
    });
    return gpus;
}

VerdictBar::VerdictBar(DisplaySettings *display, QWidget *parent)
    : QWidget(parent)
    , m_display(display)
    , m_icon(new QLabel(this))
    , m_headline(new PlainLabel(true, this))
    , m_details(new PlainLabel(true, this))
    , m_notesButton(new QToolButton(this))
    , m_notes(new QListWidget(this))
{
    setObjectName(QStringLiteral("verdictBar"));
    QFont large = m_headline->font();
    large.setBold(true);
    if (large.pointSizeF() > 0)
        large.setPointSizeF(large.pointSizeF() * 1.25);
    m_headline->setFont(large);
    m_notesButton->setCheckable(true);
    m_notesButton->setAutoRaise(true);
    m_notesButton->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_notesButton->setAccessibleName(tr("Notes"));
    m_notesButton->setAccessibleDescription(tr("Shows or hides the list of what is wrong or worth knowing"));
    m_notesButton->setToolTip(m_notesButton->accessibleDescription());
    m_notes->setAccessibleName(tr("Notes on this plan"));
    m_notes->setAccessibleDescription(tr("Enter leads to the field that an entry is about"));
    m_notes->setWordWrap(true);
    m_notes->setIconSize(QSize(fontMetrics().height(), fontMetrics().height()));
    m_notes->setFrameShape(QFrame::StyledPanel);
    m_notes->setAlternatingRowColors(true);
    m_notes->hide();

    auto *grid = new QGridLayout(this);
    grid->setContentsMargins(10, 6, 8, 4);
    grid->setHorizontalSpacing(8);
    grid->setVerticalSpacing(2);
    grid->setColumnStretch(1, 1);
    grid->addWidget(m_icon, 0, 0, Qt::AlignTop);
    grid->addWidget(m_headline, 0, 1);
    grid->addWidget(m_notesButton, 0, 2, Qt::AlignTop | Qt::AlignRight);
    grid->addWidget(m_details, 1, 1);
    grid->addWidget(m_notes, 2, 0, 1, 3);

    connect(m_notesButton, &QToolButton::toggled, this, [this](bool shown) {
        m_notes->setVisible(shown);
        // Text wraps by the list's width, which it gets from the layout.
        layout()->activate();
        fitNotes();
    });
    const auto jump = [this](const QListWidgetItem *item) {
        if (const QString where = item->data(Qt::UserRole).toString(); !where.isEmpty())
            emit jumpRequested(where);
    };
    connect(m_notes, &QListWidget::itemActivated, this, jump);
    connect(m_notes, &QListWidget::itemClicked, this, jump);
    connect(display, &DisplaySettings::changed, this, &VerdictBar::refresh);
    refresh();
}

void VerdictBar::setEstimate(std::shared_ptr<const Estimate> estimate)
{
    m_estimate = std::move(estimate);
    m_issues.clear();
    refresh();
}

void VerdictBar::setIssues(const std::vector<Issue> &issues)
{
    m_estimate.reset();
    m_issues = issues;
    refresh();
}

void VerdictBar::setStep(Estimate::Step step)
{
    m_step = step;
    refresh();
}

void VerdictBar::addCorner(QWidget *widget)
{
    static_cast<QGridLayout *>(layout())->addWidget(widget, 1, 2, Qt::AlignRight | Qt::AlignTop);
}

QString VerdictBar::headline() const { return m_headline->text(); }

QString VerdictBar::details() const { return m_details->text(); }

QString VerdictBar::peakText() const
{
    const bool first = m_step == Estimate::Step::First;
    const Peak &peak = first ? m_estimate->firstStep : m_estimate->peak;
    QString device = m_display->bytes(peak.device);
    if (const auto &band = m_estimate->band.device)
        device += tr(" (±%1 %)").arg(QString::number(*band * 100, 'g', 2));
    return tr("%1: peak %2 allocated, %3 reserved, %4 on the device, %5.")
        .arg(first ? tr("First step") : tr("Steady state"), m_display->bytes(peak.allocated), m_display->bytes(peak.reserved), device,
             fromView(phraseOf(peak.phase)));
}

void VerdictBar::showHeadline(const QString &icon, bool warn, const QString &text)
{
    const QColor window = palette().color(QPalette::Window);
    const QColor colour = warn ? readableOn(overLimitColour(), window) : palette().color(QPalette::WindowText);
    const int size = m_headline->fontMetrics().height();
    if (const HeadlineIcon wanted{icon, colour, size}; wanted != m_iconShown) {
        m_iconShown = wanted;
        m_icon->setPixmap(icon.isEmpty() ? QPixmap() : colouredIcon(icon, colour).pixmap(size, size));
    }
    if (QPalette colours = m_headline->palette(); colours.color(QPalette::WindowText) != colour) {
        colours.setColor(QPalette::WindowText, colour);
        m_headline->setPalette(colours);
    }
    m_headline->setText(text);
    m_headline->setAccessibleName(text);
}

void VerdictBar::refresh()
{
    fillNotes();
    m_details->setToolTip(m_estimate ? QString::fromStdString(bandSentence(m_estimate->band)) : QString());
    if (!m_issues.empty()) {
        showHeadline(QStringLiteral("cross"), true, tr("This plan cannot be estimated"));
        m_details->setText(issueText(m_issues.front()));
        return;
    }
    if (!m_estimate) {
        showHeadline({}, false, tr("Estimating..."));
        m_details->clear();
        return;
    }
    const std::vector<GpuEstimate> gpus = worstFirst(m_estimate->gpus);
    if (gpus.empty()) {
        showHeadline(QStringLiteral("information"), false, tr("No GPU chosen: tick one at the left to see whether the plan fits"));
        m_details->setText(peakText());
        return;
    }
    const auto sentence = [this](const GpuEstimate &gpu) { return QString::fromStdString(verdictSentence(gpu, m_display->unit())); };
    showHeadline(iconOf(gpus.front().verdict), gpus.front().verdict != Verdict::Fits, sentence(gpus.front()));
    QStringList others;
    for (std::size_t i = 1; i < gpus.size(); ++i)
        others << sentence(gpus[i]);
    others << peakText();
    m_details->setText(others.join(QStringLiteral("  ")));
}

void VerdictBar::fillNotes()
{
    std::vector<Entry> entries;
    for (const Issue &issue : m_issues)
        entries.push_back({true, QString::fromStdString(issue.where), issueText(issue)});
    if (m_estimate)
        for (const Note &note : m_estimate->notes)
            entries.push_back({note.severity == Severity::Warning, QString::fromStdString(note.where), QString::fromStdString(note.text)});
    if (entries == m_entries && m_notes->count() == static_cast<int>(entries.size()))
        return;
    m_entries = std::move(entries);

    m_notes->clear();
    const QColor warning = readableOn(overLimitColour(), palette().color(QPalette::Base));
    for (const Entry &entry : m_entries) {
        auto *item = new QListWidgetItem(entry.text, m_notes);
        item->setIcon(entry.warning ? colouredIcon(QStringLiteral("warning"), warning)
                                    : themedIcon(QStringLiteral("information"), palette()));
        item->setData(Qt::UserRole, entry.where);
        if (!entry.where.isEmpty())
            item->setToolTip(tr("Go to %1").arg(entry.where));
    }
    const int count = m_notes->count();
    m_notesButton->setText(m_issues.empty() ? (count == 1 ? tr("1 note") : tr("%1 notes").arg(count))
                                            : (count == 1 ? tr("1 problem") : tr("%1 problems").arg(count)));
    m_notesButton->setIcon(themedIcon(!m_issues.empty() ? QStringLiteral("warning") : QStringLiteral("information"), palette()));
    m_notesButton->setVisible(count > 0);
    m_notes->setVisible(count > 0 && m_notesButton->isChecked());
    fitNotes();
}

void VerdictBar::fitNotes()
{
    if (m_notes->isHidden())
        return; // laying out what nobody sees took longer than the estimate
    // As high as the notes with their text wrapped, but never so high that the charts have no room.
    m_notes->doItemsLayout();
    int height = 2 * m_notes->frameWidth() + 2;
    for (int row = 0; row < m_notes->count(); ++row)
        height += m_notes->visualItemRect(m_notes->item(row)).height();
    m_notes->setFixedHeight(std::min(height, mostLinesOfNotes * m_notes->fontMetrics().lineSpacing()));
}

void VerdictBar::resizeEvent(QResizeEvent *event)
{
    QWidget::resizeEvent(event);
    fitNotes();
}

void VerdictBar::changeEvent(QEvent *event)
{
    if (event->type() == QEvent::PaletteChange) {
        m_entries.clear();
        refresh();
    }
    QWidget::changeEvent(event);
}

} // namespace headroom
