// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/plan/training_plan.h"
#include "core/units/result.h"
#include "ui/document/settings.h"

#include <QObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTimer>

#include <memory>
#include <optional>

namespace headroom {

/// Runs headroom-probe on a plan, as a process of its own with a list of arguments. One at a time.
class ProbeProcess : public QObject
{
    Q_OBJECT
public:
    /// `program`: headroom-probe; empty: the one beside this program.
    explicit ProbeProcess(const QString &program, QObject *parent = nullptr);
    /// Ends what runs.
    ~ProbeProcess() override;

    bool isRunning() const { return m_process != nullptr; }
    std::optional<Issue> start(const TrainingPlan &plan, const MeasureSettings &settings);
    /// Asks the run to end; finished() or failed() does not come then, cancelled() does.
    void cancel();

signals:
    void progress(const QString &text);
    /// The file is gone when the slot returns.
    void finished(const QString &resultFile);
    void failed(const QString &text);
    void cancelled();

private:
    void readLines();
    void end(int status, QProcess::ExitStatus how);

    QString m_program;
    std::unique_ptr<QProcess> m_process;
    std::unique_ptr<QTemporaryDir> m_folder;
    QString m_resultFile;
    QByteArray m_unfinished;
    QStringList m_complaints; ///< the last lines that were said, for when it fails
    QTimer m_patience;        ///< until it is killed
    bool m_isCancelled = false;
};

} // namespace headroom
