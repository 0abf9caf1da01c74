// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/measure/probe_result.h"
#include "core/units/result.h"

#include <QDateTime>
#include <QObject>
#include <QString>

#include <optional>
#include <vector>

namespace headroom {

/// A result of the probe that is kept with the plan.
struct StoredRun {
    QString file;   ///< where it is kept
    QString name;   ///< the file's, without its ending
    QDateTime when; ///< the file was written
    ProbeResult result;
};

/// The runs of a plan. A plan's format has no place for them, and results are files in their own right, to be handed on and
/// given to headroom-cli compare: so they are copied into a folder beside the plan, "name.runs" for "name.headroom.json". Those
/// of a plan that has no file yet are kept in the window's own folder, and move when the plan is saved.
class MeasuredRuns : public QObject
{
    Q_OBJECT
public:
    explicit MeasuredRuns(const QString &unsavedFolder, QObject *parent = nullptr);

    static constexpr int maximumRuns = 100;

    /// The plan's file; empty: none yet. Reads what is kept with it. Returns what could not be read.
    std::vector<Issue> setPlanFile(const QString &file);
    /// The plan was saved under another name: its runs go with it; those of a plan that had no file move.
    std::optional<Issue> follow(const QString &before, const QString &file);
    /// A new plan without a file has none.
    void clearUnsaved();

    /// Copies a result to the others and makes it the current one. The same result twice is one. `name` empty: the file's.
    std::optional<Issue> add(const QString &file, const QString &name = {});
    /// As add(), for a run of the plan with that file (empty: none), which need not be the one that is open.
    std::optional<Issue> addTo(const QString &planFile, const QString &file, const QString &name = {});
    /// Removes the file that is kept.
    std::optional<Issue> remove(int index);

    const std::vector<StoredRun> &runs() const { return m_runs; }
    /// Index of the run that is shown; -1: none.
    int current() const { return m_current; }
    const StoredRun *currentRun() const { return m_current < 0 ? nullptr : &m_runs[static_cast<std::size_t>(m_current)]; }
    void setCurrent(int index);

signals:
    void changed();
    void currentChanged();

private:
    QString folderOf(const QString &planFile) const;
    void read(const QString &folder, std::vector<Issue> &issues);

    QString m_unsavedFolder, m_folder;
    std::vector<StoredRun> m_runs; ///< newest last
    int m_current = -1;
};

} // namespace headroom
