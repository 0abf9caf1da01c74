// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/plan/training_plan.h"
#include "core/units/result.h"
#include "ui/document/settings.h"

#include <QObject>
#include <QProcess>
#include <QStringList>
#include <QTemporaryDir>
#include <QTimer>

#include <memory>
#include <optional>

namespace headroom {

/// Runs headroom-probe on a plan or a memory snapshot, as a process of its own with a list of arguments. One at a time.
class ProbeProcess : public QObject
{
    Q_OBJECT
public:
    /// `program`: headroom-probe; empty: the one beside this program.
    explicit ProbeProcess(const QString &program, QObject *parent = nullptr);
    /// Ends what runs.
    ~ProbeProcess() override;

    bool isRunning() const { return m_process != nullptr; }
    /// `title`: what the user calls the plan, for messages.
    std::optional<Issue> start(const TrainingPlan &plan, const QString &title, const MeasureSettings &settings);
    /// Converts a memory snapshot, a pickle that only Python reads (`python` empty: python3). converted(), failed() or cancelled() follows.
    std::optional<Issue> convert(const QString &snapshot, const QString &python);
    /// Asks the run to end; finished(), converted() or failed() does not come then, cancelled() does.
    void cancel();

signals:
    void progress(const QString &text);
    /// The results, of rank 0 first; the files are gone when the slot returns. A snapshot that was recorded is converted next.
    void finished(const QStringList &resultFiles);
    /// As finished(), for a snapshot; `snapshot`: what was converted, empty for what a run recorded.
    void converted(const QString &timelineFile, const QString &snapshot);
    /// `ofConversion`: of a snapshot; else of a run, which may have told its results nevertheless.
    void failed(const QString &text, bool ofConversion);
    void cancelled(bool ofConversion);
    /// All of it has been told, and nothing runs: the next one can be started.
    void idle();

private:
    void launch(const QStringList &arguments);
    /// `told`: what converted() names.
    std::optional<Issue> launchConversion(const QString &snapshot, const QString &python, const QString &told);
    void readLines();
    void end(int status, QProcess::ExitStatus how);
    void tell(int status, QProcess::ExitStatus how);

    QString m_program;
    std::unique_ptr<QProcess> m_process;
    std::unique_ptr<QTemporaryDir> m_folder;
    QString m_planFile, m_title;               ///< the file that is run, and what the user calls it
    QString m_python;                          ///< for a snapshot that is recorded
    QString m_snapshot;                        ///< that is being converted, as converted() names it
    bool m_isConversion = false;               ///< what runs converts a snapshot
    std::unique_ptr<QTemporaryDir> m_recorded; ///< the folder of the snapshot that is being converted
    QByteArray m_unfinished;
    QStringList m_complaints; ///< the last lines that were said, for when it fails
    QTimer m_patience;        ///< until it is killed
    bool m_isCancelled = false;
};

} // namespace headroom
