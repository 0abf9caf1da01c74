// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/plan_document.h"

#include <QLockFile>
#include <QThreadPool>
#include <QTimer>

#include <memory>
#include <vector>

namespace headroom {

/// Unsaved work that another window left behind. Its lock is held, so that no other window offers it too.
struct LeftWork {
    QString file; ///< the working copy
    TrainingPlan plan;
    QString home; ///< where the plan was to be saved; empty: nowhere yet
    std::unique_ptr<QLockFile> lock;
};

/// What a start brought back.
struct Restored {
    bool isUnsaved = false;           ///< the document now holds changes that were never saved
    std::vector<Issue> damages;       ///< copies that could not be read; each text names the file that it was kept in
    std::vector<LeftWork> leftBehind; ///< further unsaved work, not yet in any document
};

/// Keeps the working plan safe: writes it shortly after each change (whole or not at all), brings it back at the next
/// start. It is written in the background, because putting a file safely on its disk takes as long as drawing the window several times.
/// A file that cannot be read is kept aside under another name. Each running window has a file of its own, held by a lock, so that
/// two windows never overwrite each other's work.
class WorkingCopy : public QObject
{
    Q_OBJECT
public:
    /// `folder`: where the files lie; it is made if need be.
    WorkingCopy(PlanDocument &document, const QString &folder, QObject *parent = nullptr);
    /// Writes what is not written yet.
    ~WorkingCopy() override;

    /// Brings work back into the document: the first unsaved one of those that no window holds, else this window's last
    /// plan. Where there is nothing to bring back, or it cannot be read, the document is as before.
    Restored restore();
    /// Takes over what another window left: it is in the document and in this window's copy then, and left nowhere else.
    void adopt(LeftWork work);
    /// Writes now what is not written yet, and returns when it is. False: it could not be written.
    bool flush();
    /// The file written to; empty: no place could be locked.
    const QString &file() const { return m_file; }

signals:
    /// The document has no file and is what another window left: its working copy was this file.
    void adopted(const QString &file);
    /// The copy could not be written (disk full, folder gone); said once until it works again.
    void failed(const headroom::Issue &issue);

private:
    void flushInBackground();
    QByteArray content() const;
    /// Takes note of what came out of a write.
    void wrote(const std::optional<Issue> &issue);

    PlanDocument &m_document;
    QString m_folder;
    QString m_file;
    std::unique_ptr<QLockFile> m_lock;
    QTimer m_timer;
    bool m_failed = false;
    int m_latestWrite = 0;
    QThreadPool m_writer; ///< one thread, so that writes keep their order; last: it uses the lock's file until it is done
};

} // namespace headroom
