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

/// The place of the n-th window, counted from 1.
QString placeOf(const QString &folder, int n)
{
    return QDir(folder).filePath(n == 1 ? QStringLiteral("working-plan.json") : QStringLiteral("working-plan-%1.json").arg(n));
}

/// The lock of a place; null: a running window holds it.
std::unique_ptr<QLockFile> lockOf(const QString &file)
{
    auto lock = std::make_unique<QLockFile>(file + QStringLiteral(".lock"));
    lock->setStaleLockTime(0);
    return lock->tryLock(0) ? std::move(lock) : nullptr;
}

struct Copy {
    TrainingPlan plan;
    QString home; ///< file of the plan
    bool isModified = false;
};

/// What lies at a place; one that cannot be read is kept aside, and the Issue names where.
Result<Copy> readCopy(const QString &path)
{
    QFile file(path);
    Issue damage;
    if (!file.open(QIODevice::ReadOnly)) {
        damage.what = file.errorString().toStdString();
    } else {
        const QJsonObject copy = QJsonDocument::fromJson(file.read(2 * maximumFileBytes)).object();
        file.close();
        auto plan = readPlan(copy.value(planKey).toString().toStdString());
        if (copy.value(formatKey).toInt() == 1 && plan) {
            plan->folder = copy.value(folderKey).toString().toStdString();
            return Copy{std::move(plan).value(), copy.value(fileKey).toString(), copy.value(modifiedKey).toBool()};
        }
        damage.what = plan ? "not a working plan of this program" : plan.issue().what;
    }
    const QString aside = keptAsideName(path);
    const bool kept = QFile::rename(path, aside);
    damage.file = QDir::toNativeSeparators(kept ? aside : path).toStdString();
    damage.what = WorkingCopy::tr("the last working plan could not be read (%1)").arg(QString::fromStdString(damage.what)).toStdString();
    damage.hint = (kept ? WorkingCopy::tr("it was kept under this name; a new plan was begun") : WorkingCopy::tr("a new plan was begun"))
                      .toStdString();
    return damage;
}

} // namespace

WorkingCopy::WorkingCopy(PlanDocument &document, const QString &folder, QObject *parent)
    : QObject(parent)
    , m_document(document)
    , m_folder(folder)
{
    m_timer.setSingleShot(true);
    m_timer.setInterval(writeDelayMs);
    connect(&m_timer, &QTimer::timeout, this, &WorkingCopy::flushInBackground);
    m_writer.setMaxThreadCount(1);

    QDir().mkpath(folder);
    for (int n = 1; n <= maximumWindows && m_file.isEmpty(); ++n) {
        if (auto lock = lockOf(placeOf(folder, n))) {
            m_lock = std::move(lock);
            m_file = placeOf(folder, n);
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

Restored WorkingCopy::restore()
{
    Restored result;
    std::optional<Copy> own;
    const auto read = [&](const QString &path) -> std::optional<Copy> {
        auto copy = readCopy(path);
        if (copy)
            return std::move(copy).value();
        result.damages.push_back(copy.issue());
        return std::nullopt;
    };
    if (!m_file.isEmpty() && QFile::exists(m_file))
        own = read(m_file);
    for (int n = 1; n <= maximumWindows; ++n) {
        const QString path = placeOf(m_folder, n);
        if (path == m_file || !QFile::exists(path))
            continue;
        // Held from here on: a second window that starts meanwhile must not offer the same work.
        auto lock = lockOf(path);
        if (!lock)
            continue;
        if (auto copy = read(path); copy && copy->isModified)
            result.leftBehind.push_back({path, std::move(copy->plan), copy->home, std::move(lock)});
    }
    if (own && (own->isModified || result.leftBehind.empty())) {
        m_document.restore(own->plan, own->home, own->isModified);
        result.isUnsaved = m_document.isModified();
        m_timer.stop();
    } else if (!result.leftBehind.empty()) {
        // This window's own last plan is saved: what is not comes first.
        LeftWork first = std::move(result.leftBehind.front());
        result.leftBehind.erase(result.leftBehind.begin());
        adopt(std::move(first));
        result.isUnsaved = m_document.isModified();
    }
    return result;
}

void WorkingCopy::adopt(LeftWork work)
{
    m_document.restore(work.plan, work.home, true);
    if (work.home.isEmpty())
        emit adopted(work.file);
    if (!m_file.isEmpty() && flush())
        QFile::remove(work.file);
}

QByteArray WorkingCopy::content() const
{
    const TrainingPlan &plan = m_document.plan();
    const QJsonObject copy{{formatKey, 1},
                           {fileKey, m_document.file()},
                           {folderKey, QString::fromStdString(plan.folder.string())},
                           {modifiedKey, m_document.isModified()},
                           {planKey, QString::fromStdString(writePlan(plan))}};
    return QJsonDocument(copy).toJson();
}

void WorkingCopy::flushInBackground()
{
    if (m_file.isEmpty())
        return;
    if (m_writer.activeThreadCount() > 0) {
        m_timer.start(); // a slow disk: the next one then, of the plan as it is by then
        return;
    }
    m_writer.start([this, file = m_file, bytes = content(), number = ++m_latestWrite] {
        const auto issue = writeFile(file, bytes);
        QMetaObject::invokeMethod(
            this,
            [this, number, issue] {
                if (number == m_latestWrite)
                    wrote(issue);
            },
            Qt::QueuedConnection);
    });
}

bool WorkingCopy::flush()
{
    m_timer.stop();
    if (m_file.isEmpty())
        return true;
    m_writer.waitForDone();
    ++m_latestWrite; // what is known of older ones no longer matters
    wrote(writeFile(m_file, content()));
    return !m_failed;
}

void WorkingCopy::wrote(const std::optional<Issue> &issue)
{
    if (issue && !m_failed)
        emit failed(*issue);
    m_failed = issue.has_value();
}

} // namespace headroom
