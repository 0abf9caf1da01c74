// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"
#include "ui/display_settings.h"

#include <QWidget>

#include <memory>
#include <vector>

class QLabel;
class QListWidget;
class QToolButton;

namespace headroom {

/// What the plan comes to in words: a sentence for each GPU, the worst first, with an icon; the peak; and on demand the
/// list of what is wrong or worth knowing, whose entries lead to their field.
class VerdictBar : public QWidget
{
    Q_OBJECT
public:
    explicit VerdictBar(DisplaySettings *display, QWidget *parent = nullptr);

    void setEstimate(std::shared_ptr<const Estimate> estimate);
    void setStep(Estimate::Step step);
    /// What keeps the plan from being estimated; the first one becomes the headline.
    void setIssues(const std::vector<Issue> &issues);

    /// Puts a control at the right, below the button of the notes.
    void addCorner(QWidget *widget);

    QString headline() const;
    QString details() const;
    QListWidget *notes() const { return m_notes; }
    QToolButton *notesButton() const { return m_notesButton; }

signals:
    /// An entry of the list was chosen: lead to the field with this path.
    void jumpRequested(const QString &where);

protected:
    void changeEvent(QEvent *event) override;
    void resizeEvent(QResizeEvent *event) override;

private:
    void refresh();
    /// One entry of the list of notes.
    struct Entry {
        bool warning = false;
        QString where, text;
        bool operator==(const Entry &) const = default;
    };
    struct HeadlineIcon {
        QString name;
        QColor colour;
        int size = 0;
        bool operator==(const HeadlineIcon &) const = default;
    };
    void fillNotes();
    void fitNotes();
    void showHeadline(const QString &icon, bool warn, const QString &text);
    QString peakText() const;

    DisplaySettings *m_display;
    std::shared_ptr<const Estimate> m_estimate;
    std::vector<Issue> m_issues;
    Estimate::Step m_step = Estimate::Step::Steady;
    QLabel *m_icon;
    HeadlineIcon m_iconShown;
    QLabel *m_headline;
    QLabel *m_details;
    QToolButton *m_notesButton;
    QListWidget *m_notes;
    std::vector<Entry> m_entries; ///< as listed: while a slider moves they mostly stay
};

/// The GPUs of an estimate, the worst first: what does not fit, what is tight, then by room left.
std::vector<GpuEstimate> worstFirst(std::vector<GpuEstimate> gpus);

} // namespace headroom
