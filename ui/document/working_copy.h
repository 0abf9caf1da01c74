// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/plan_document.h"

#include <QLockFile>
#include <QTimer>

#include <memory>

namespace headroom {

/// Keeps the working plan safe: writes it shortly after each change (whole or not at all), brings it back at the next
/// start. A file that cannot be read is kept aside under another name. Each running window has a file of its own, held by
/// a lock, so that two windows never overwrite each other's work.
class WorkingCopy : public QObject
{
    Q_OBJECT
public:
    /// `folder`: where the files lie; it is made if need be.
    WorkingCopy(PlanDocument &document, const QString &folder, QObject *parent = nullptr);
    /// Writes what is not written yet.
    ~WorkingCopy() override;

    /// Brings the last working plan back into the document. An Issue: it was damaged; its text names the file that it was
    /// kept in, the document is as before. Nothing to bring back is no issue.
    std::optional<Issue> restore();
    /// Writes now what is not written yet.
    void flush();
    /// The file written to; empty: no place could be locked.
    const QString &file() const { return m_file; }

signals:
    /// The copy could not be written (disk full, folder gone); said once until it works again.
    void failed(const headroom::Issue &issue);

private:
    PlanDocument &m_document;
    QString m_file;
    std::unique_ptr<QLockFile> m_lock;
    QTimer m_timer;
    bool m_failed = false;
};

} // namespace headroom
