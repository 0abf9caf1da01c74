// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/settings.h"

#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

namespace headroom {
namespace {

QString defaultFile()
{
    return QDir(QStandardPaths::writableLocation(QStandardPaths::AppConfigLocation)).filePath(QStringLiteral("headroom.ini"));
}

const QString geometryKey = QStringLiteral("window/geometry");
const QString splitterKey = QStringLiteral("window/splitter-%1");
const QString unitKey = QStringLiteral("display/unit");
const QString stepKey = QStringLiteral("display/step");
const QString foldedKey = QStringLiteral("panel/folded");
const QString recentKey = QStringLiteral("files/recent");
const QString folderKey = QStringLiteral("files/folder");
const QString howKey = QStringLiteral("measure/how");
const QString hostKey = QStringLiteral("measure/host");
const QString pythonKey = QStringLiteral("measure/python");
const QString stepsKey = QStringLiteral("measure/steps");
const QString snapshotKey = QStringLiteral("measure/snapshot");

/// Longest list taken from a settings file: a damaged one must not fill the menus.
constexpr qsizetype maximumStrings = 64;

} // namespace

Settings::Settings(const QString &file)
    : m_store(file.isEmpty() ? defaultFile() : file, QSettings::IniFormat)
{}

QByteArray Settings::bytes(const QString &key) const
{
    const QVariant value = m_store.value(key);
    return value.typeId() == QMetaType::QByteArray || value.typeId() == QMetaType::QString ? value.toByteArray() : QByteArray();
}

QStringList Settings::strings(const QString &key) const
{
    QStringList list = m_store.value(key).toStringList();
    list.removeAll(QString());
    list.removeDuplicates();
    return list.mid(0, maximumStrings);
}

QByteArray Settings::windowGeometry() const { return bytes(geometryKey); }

void Settings::setWindowGeometry(const QByteArray &geometry) { m_store.setValue(geometryKey, geometry); }

QByteArray Settings::splitter(const QString &name) const { return bytes(splitterKey.arg(name)); }

void Settings::setSplitter(const QString &name, const QByteArray &state) { m_store.setValue(splitterKey.arg(name), state); }

ByteUnit Settings::unit() const { return m_store.value(unitKey).toString() == QLatin1String("GB") ? ByteUnit::Decimal : ByteUnit::Binary; }

void Settings::setUnit(ByteUnit unit) { m_store.setValue(unitKey, QLatin1String(gigaName(unit))); }

Estimate::Step Settings::step() const
{
    return m_store.value(stepKey).toString() == QLatin1String("first") ? Estimate::Step::First : Estimate::Step::Steady;
}

void Settings::setStep(Estimate::Step step)
{
    m_store.setValue(stepKey, step == Estimate::Step::First ? QLatin1String("first") : QLatin1String("steady"));
}

MeasureSettings Settings::measure() const
{
    MeasureSettings settings;
    const QString how = m_store.value(howKey).toString();
    if (how == QLatin1String("ssh"))
        settings.how = MeasureSettings::How::There;
    else if (how == QLatin1String("dry-run"))
        settings.how = MeasureSettings::How::Dry;
    settings.host = m_store.value(hostKey).toString();
    settings.python = m_store.value(pythonKey).toString();
    bool isNumber = false;
    const int steps = m_store.value(stepsKey).toInt(&isNumber);
    if (isNumber && steps >= 3 && steps <= 1000)
        settings.steps = steps;
    settings.snapshot = m_store.value(snapshotKey, false).toBool();
    return settings;
}

void Settings::setMeasure(const MeasureSettings &settings)
{
    m_store.setValue(howKey, settings.how == MeasureSettings::How::There ? QLatin1String("ssh")
                             : settings.how == MeasureSettings::How::Dry ? QLatin1String("dry-run")
                                                                         : QLatin1String("gpu"));
    m_store.setValue(hostKey, settings.host);
    m_store.setValue(pythonKey, settings.python);
    m_store.setValue(stepsKey, settings.steps);
    m_store.setValue(snapshotKey, settings.snapshot);
}

QStringList Settings::foldedGroups() const { return strings(foldedKey); }

void Settings::setFoldedGroups(const QStringList &names) { m_store.setValue(foldedKey, names); }

QStringList Settings::recentFiles() const { return strings(recentKey).mid(0, maximumRecentFiles); }

void Settings::addRecentFile(const QString &file)
{
    const QString absolute = QFileInfo(file).absoluteFilePath();
    QStringList files = recentFiles();
    files.removeAll(absolute);
    files.prepend(absolute);
    m_store.setValue(recentKey, files.mid(0, maximumRecentFiles));
}

void Settings::removeRecentFile(const QString &file)
{
    QStringList files = recentFiles();
    files.removeAll(QFileInfo(file).absoluteFilePath());
    m_store.setValue(recentKey, files);
}

void Settings::clearRecentFiles() { m_store.remove(recentKey); }

QString Settings::lastFolder() const
{
    const QString folder = m_store.value(folderKey).toString();
    return QFileInfo(folder).isDir() ? folder : QDir::homePath();
}

void Settings::setLastFolder(const QString &folder) { m_store.setValue(folderKey, folder); }

void Settings::sync() { m_store.sync(); }

} // namespace headroom
