// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/plan_document.h"
#include "ui/document/settings.h"
#include "ui/window/message_bar.h"

#include <QObject>

#include <functional>

class QMenu;
class QWidget;

namespace headroom {

/// What a person does with files: new, open, save, recent ones, and the question before unsaved changes are given up.
/// What goes wrong is said in the message bar; the open plan stays as it was.
class FileController : public QObject
{
    Q_OBJECT
public:
    /// `window`: parent of the dialogs.
    FileController(PlanDocument &document, Settings &settings, MessageBar &messages, QWidget *window);

    void newPlan();
    void chooseAndOpen();
    void chooseAndOpenConfig();
    /// Opens a plan or a config.json; asks first where a plan would replace unsaved changes. False: it did not come to that.
    bool open(const QString &file);
    bool save();
    bool saveAs();
    /// Asks whether unsaved changes are to be saved, and the runs of a plan that has no file; at a window's `closing` those of an
    /// unchanged plan come back with it and are not asked for. False: the person wants to stay.
    bool mayDiscard(bool closing = false);
    /// Whether measured runs or snapshots go with a plan that has no file.
    void setUnsavedRuns(std::function<bool()> hasAny) { m_hasUnsavedRuns = std::move(hasAny); }
    /// Fills the menu of recent files anew whenever it opens.
    void attachRecentMenu(QMenu *menu);
    void report(const Issue &issue);

signals:
    /// The plan is about to be written or judged: what is being typed is to be put into it now.
    void commitRequested();
    /// The person gave up what is not saved.
    void discarded();
    /// The plan was saved; `before`: the file that it had until then.
    void saved(const QString &before, const QString &file);
    /// A new plan was begun.
    void begun();
    /// A result of the probe is to be imported.
    void resultOpened(const QString &file);
    /// A memory snapshot, converted or not, is to be laid over the timeline.
    void snapshotOpened(const QString &file);
    /// For the status bar.
    void done(const QString &text);

private:
    void fillRecentMenu(QMenu *menu);
    bool saveTo(const QString &file);

    PlanDocument &m_document;
    Settings &m_settings;
    MessageBar &m_messages;
    QWidget *m_window;
    std::function<bool()> m_hasUnsavedRuns;
};

} // namespace headroom
