// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/working_copy.h"

#include "core/plan/plan_json.h"
#include "ui/document/plan_files.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>

namespace headroom {
namespace {

constexpr int writeDelayMs = 250;
/// More windows at once than anybody opens; the next ones work without a copy.
constexpr int maximumWindows = 32;

// The plan is kept as the text of a plan file: it comes back through the same reader, checked the same way.
const QLatin1String formatKey("headroom_working_plan");
const QLatin1String planKey("plan");
const QLatin1String fileKey("file");
const QLatin1String folderKey("folder");
const QLatin1String modifiedKey("modified");

QString keptAsideName(const QString &file)
{
    const QFileInfo info(file);
    const QString stem = info.absoluteDir().filePath(info.completeBaseName() + QStringLiteral(".damaged"));
    QString name = stem + QStringLiteral(".json");
    for (int n = 2; QFile::exists(name); ++n)
        name = QStringLiteral("%1-%2.json").arg(stem).arg(n);
    return name;
}

} // namespace

WorkingCopy::WorkingCopy(PlanDocument &document, const QString &folder, QObject *parent)
    : QObject(parent)
    , m_document(document)
{
    m_timer.setSingleShot(true);
    m_timer.setInterval(writeDelayMs);
    connect(&m_timer, &QTimer::timeout, this, &WorkingCopy::flush);

    QDir().mkpath(folder);
    const QDir dir(folder);
    for (int n = 1; n <= maximumWindows && m_file.isEmpty(); ++n) {
        const QString file = dir.filePath(n == 1 ? QStringLiteral("working-plan.json") : QStringLiteral("working-plan-%1.json").arg(n));
        auto lock = std::make_unique<QLockFile>(file + QStringLiteral(".lock"));
        lock->setStaleLockTime(0);
        if (lock->tryLock(0)) {
            m_lock = std::move(lock);
            m_file = file;
        }
    }

    // Started once and not restarted: while a slider moves without a rest the copy is still written.
    const auto later = [this] {
        if (!m_timer.isActive())
            m_timer.start();
    };
    connect(&document, &PlanDocument::planChanged, this, later);
    connect(&document, &PlanDocument::fileChanged, this, later);
    connect(&document, &PlanDocument::modifiedChanged, this, later);
}

WorkingCopy::~WorkingCopy()
{
    if (m_timer.isActive())
        flush();
}

std::optional<Issue> WorkingCopy::restore()
{
    QFile file(m_file);
    if (m_file.isEmpty() || !file.exists())
        return std::nullopt;
    Issue damage;
    if (!file.open(QIODevice::ReadOnly)) {
        damage.what = file.errorString().toStdString();
    } else {
        const QJsonObject copy = QJsonDocument::fromJson(file.read(2 * maximumFileBytes)).object();
        file.close();
        auto plan = readPlan(copy.value(planKey).toString().toStdString());
        if (copy.value(formatKey).toInt() == 1 && plan) {
            const QString home = copy.value(fileKey).toString();
            plan->folder = copy.value(folderKey).toString().toStdString();
            m_document.restore(*plan, home, copy.value(modifiedKey).toBool());
            m_timer.stop();
            return std::nullopt;
        }
        damage.what = plan ? "not a working plan of this program" : plan.issue().what;
    }
    const QString aside = keptAsideName(m_file);
    const bool kept = QFile::rename(m_file, aside);
    damage.file = QDir::toNativeSeparators(kept ? aside : m_file).toStdString();
    damage.what = tr("the last working plan could not be read (%1)").arg(QString::fromStdString(damage.what)).toStdString();
    damage.hint = (kept ? tr("it was kept under this name; a new plan was begun") : tr("a new plan was begun")).toStdString();
    return damage;
}

void WorkingCopy::flush()
{
    m_timer.stop();
    if (m_file.isEmpty())
        return;
    const TrainingPlan &plan = m_document.plan();
    const QJsonObject copy{{formatKey, 1},
                           {fileKey, m_document.file()},
                           {folderKey, QString::fromStdString(plan.folder.string())},
                           {modifiedKey, m_document.isModified()},
                           {planKey, QString::fromStdString(writePlan(plan))}};
    const auto issue = writeFile(m_file, QJsonDocument(copy).toJson());
    if (issue && !m_failed)
        emit failed(*issue);
    m_failed = issue.has_value();
}

} // namespace headroom
