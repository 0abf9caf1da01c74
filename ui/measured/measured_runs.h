// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/measure/memory_timeline.h"
#include "core/measure/probe_result.h"
#include "core/units/result.h"

#include <QDateTime>
#include <QObject>
#include <QString>
#include <QStringList>

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace headroom {

/// A result of the probe that is kept with the plan.
struct StoredRun {
    QString file;   ///< where it is kept
    QString name;   ///< the file's, without its ending
    QDateTime when; ///< the file was written
    ProbeResult result;
};

/// A memory snapshot of PyTorch, converted, that is kept with the plan.
struct StoredSnapshot {
    QString file, name; ///< as of a run
    QDateTime when;
    std::shared_ptr<const MemoryTimeline> timeline;
};

/// The runs of a plan, and the memory snapshots. A plan's format has no place for them, and results are files in their own right, to be
/// handed on and given to headroom-cli compare: so they are copied into a folder beside the plan, "name.runs" for "name.headroom.json".
/// Those of a plan that has no file yet are kept in the window's own folder, and move when the plan is saved.
class MeasuredRuns : public QObject
{
    Q_OBJECT
public:
    explicit MeasuredRuns(const QString &unsavedFolder, QObject *parent = nullptr);

    static constexpr int maximumRuns = 100;
    static constexpr int maximumSnapshots = 20;

    /// The plan's file; empty: none yet. Reads what is kept with it. Returns what could not be read.
    std::vector<Issue> setPlanFile(const QString &file);
    /// The plan was saved under another name: its runs go with it; those of a plan that had no file move.
    std::optional<Issue> follow(const QString &before, const QString &file);
    /// A new plan without a file has none.
    void clearUnsaved();
    /// The plan has no file, and runs or snapshots that would go with it.
    bool hasUnsaved() const;
    /// Where the runs of a plan without a file are kept, whose working copy is this file: each window has a place of its own.
    static QString unsavedFolder(const QString &workingCopy);
    /// The plan without a file that another window left is here now: its runs come too.
    void adopt(const QString &leftFolder);

    /// Copies a result to the others and makes it the current one. The same result twice is one. `name` empty: the file's.
    std::optional<Issue> add(const QString &file, const QString &name = {});
    /// As add(), for a run of the plan with that file (empty: none), which need not be the one that is open.
    std::optional<Issue> addTo(const QString &planFile, const QString &file, const QString &name = {});
    /// What was measured and could not be added is copied into the first of these folders that takes it. Returns its file; empty: none
    /// does, or it is no result or timeline.
    static QString keepElsewhere(const QStringList &folders, const QString &file, const QString &name);
    /// Removes the file that is kept.
    std::optional<Issue> remove(int index);

    /// Copies a converted snapshot to those of the plan with that file (empty: none) and, where that plan is open, shows it.
    std::optional<Issue> addSnapshot(const QString &planFile, const QString &file, const QString &name = {});
    std::optional<Issue> removeSnapshot(int index);
    const std::vector<StoredSnapshot> &snapshots() const { return m_snapshots; }
    /// Index of the snapshot that lies over the timeline; -1: none.
    int shownSnapshot() const { return m_shownSnapshot; }
    void setShownSnapshot(int index);
    /// The run in which a snapshot was recorded, as far as it is kept here: its marks hold the time of the recording, and of
    /// several ranks its rank is the one of the snapshot's GPU. Null: none.
    const StoredRun *runOf(const MemoryTimeline &snapshot) const;

    const std::vector<StoredRun> &runs() const { return m_runs; }
    /// Index of the run that is shown; -1: none.
    int current() const { return m_current; }
    const StoredRun *currentRun() const { return m_current < 0 ? nullptr : &m_runs[static_cast<std::size_t>(m_current)]; }
    void setCurrent(int index);

signals:
    void changed();
    void currentChanged();
    void snapshotsChanged();

private:
    QString folderOf(const QString &planFile) const;
    void read(const QString &folder, std::vector<Issue> &issues);

    /// Moves or copies what is kept in one folder into another.
    std::optional<Issue> bring(const QString &from, const QString &to, bool moves);

    QString m_unsavedFolder, m_folder;
    std::vector<StoredRun> m_runs; ///< newest last
    int m_current = -1;
    std::vector<StoredSnapshot> m_snapshots; ///< newest last
    int m_shownSnapshot = -1;
};

} // namespace headroom
