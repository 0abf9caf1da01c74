// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/estimate/estimate.h"
#include "core/units/bytes.h"

#include <QByteArray>
#include <QSettings>
#include <QString>
#include <QStringList>

namespace headroom {

/// How the plan is measured.
struct MeasureSettings {
    enum class How { Here, There, Dry };
    How how = How::Here;
    QString host;   ///< for There, as ssh takes it
    QString python; ///< on the machine that runs the plan; empty: python3
    int steps = 3;
    bool snapshot = false; ///< also record a memory snapshot of the last step; not in a dry run
    bool operator==(const MeasureSettings &) const = default;
};

/// What the window remembers between two starts, each value with its type. A missing, damaged or meaningless value reads
/// as its default: no settings file can keep the window from opening.
class Settings
{
public:
    /// `file`: an INI file; empty: the user's own, in the configuration folder of the system.
    explicit Settings(const QString &file = {});

    static constexpr int maximumRecentFiles = 10;

    QByteArray windowGeometry() const;
    void setWindowGeometry(const QByteArray &geometry);
    /// State of the named splitter; empty: never saved.
    QByteArray splitter(const QString &name) const;
    void setSplitter(const QString &name, const QByteArray &state);
    ByteUnit unit() const;
    void setUnit(ByteUnit unit);
    Estimate::Step step() const;
    void setStep(Estimate::Step step);
    MeasureSettings measure() const;
    void setMeasure(const MeasureSettings &settings);
    /// Names of the panel's groups that are folded.
    QStringList foldedGroups() const;
    void setFoldedGroups(const QStringList &names);
    /// Newest first, absolute, without doubles.
    QStringList recentFiles() const;
    void addRecentFile(const QString &file);
    void removeRecentFile(const QString &file);
    void clearRecentFiles();
    /// Folder that the next file dialog opens in.
    QString lastFolder() const;
    void setLastFolder(const QString &folder);

    /// Writes what changed to the disk now.
    void sync();

private:
    QByteArray bytes(const QString &key) const;
    QStringList strings(const QString &key) const;

    QSettings m_store;
};

} // namespace headroom
