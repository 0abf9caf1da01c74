// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/plan_files.h"

#include "core/model/model_config.h"
#include "core/plan/fields.h"
#include "core/plan/plan_json.h"
#include "core/units/strict_json.h"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>

namespace headroom {
namespace {

struct PlanFiles {
    Q_DECLARE_TR_FUNCTIONS(headroom::PlanFiles)
};

Issue issueFor(const QString &file, const QString &what, const QString &hint = {})
{
    return {QDir::toNativeSeparators(file).toStdString(), 0, {}, what.toStdString(), hint.toStdString()};
}

/// A config.json is an object with some of the keys that every decoder's has, and no plan's format number.
bool looksLikeConfig(const QJsonObject &object)
{
    if (object.contains(QLatin1String("headroom_plan")))
        return false;
    return object.contains(QLatin1String("model_type")) || object.contains(QLatin1String("architectures")) ||
           object.contains(QLatin1String("hidden_size"));
}

} // namespace

Result<OpenedFile> openPlanOrConfig(const QString &file)
{
    auto text = readTextFile(QFile::encodeName(file).toStdString(), maximumFileBytes);
    if (!text)
        return std::move(text.issue());
    const auto placed = [&](Issue issue) {
        issue.file = QDir::toNativeSeparators(file).toStdString();
        return issue;
    };
    const QJsonObject object = QJsonDocument::fromJson(QByteArray::fromStdString(*text)).object();
    if (looksLikeConfig(object)) {
        const auto config = readModelConfig(*text, "config");
        if (!config)
            return placed(config.issue());
        OpenedFile opened{OpenedFile::Kind::Config, {}, std::move(*text)};
        opened.plan.model.preset.clear();
        opened.plan.model.config = QJsonDocument(object).toJson(QJsonDocument::Compact).toStdString();
        return opened;
    }

    auto plan = readPlan(*text);
    if (!plan)
        return placed(plan.issue());
    plan->folder = QFileInfo(file).absolutePath().toStdString();
    return OpenedFile{OpenedFile::Kind::Plan, std::move(*plan), std::move(*text)};
}

std::optional<Issue> writeFile(const QString &file, const QByteArray &content)
{
    // QSaveFile would put a file in the place of a device, also through a link.
    if (const QFileInfo info(file); info.exists() && !info.isFile())
        return issueFor(file, info.isDir() ? PlanFiles::tr("is a folder") : PlanFiles::tr("is a pipe or a device"),
                        PlanFiles::tr("choose the name of a file"));
    QSaveFile target(file);
    if (target.open(QIODevice::WriteOnly) && target.write(content) == content.size() && target.commit())
        return std::nullopt;
    return issueFor(file, PlanFiles::tr("cannot be written: %1").arg(target.errorString()),
                    PlanFiles::tr("choose another folder or free some space"));
}

TrainingPlan movedTo(const TrainingPlan &plan, const QString &folder)
{
    TrainingPlan moved = plan;
    moved.folder = folder.toStdString();
    if (plan.model.configPath.empty() || plan.folder.empty())
        return moved;
    const QString path = QString::fromStdString(plan.model.configPath);
    if (QDir::isRelativePath(path)) {
        const QString absolute = QDir::cleanPath(QDir(QString::fromStdString(plan.folder.string())).absoluteFilePath(path));
        moved.model.configPath = QDir(folder).relativeFilePath(absolute).toStdString();
    }
    return moved;
}

TrainingPlan startPlan()
{
    TrainingPlan plan;
    plan.name = PlanFiles::tr("Qwen3-8B LoRA on one 24 GB card").toStdString();
    plan.model.preset = "Qwen/Qwen3-8B";
    plan.method.kind = MethodKind::Lora;
    plan.precision.autocast = {DtypeOverride::State::Given, DType::BFloat16};
    plan.batch.sequenceLength = 2048;
    plan.batch.gradientAccumulation = 8;
    plan.checkpointing = Checkpointing::Full;
    plan.gpus = {"nvidia-rtx-4090-24gb"};
    return plan;
}

QString issueText(const Issue &issue)
{
    QString text;
    if (!issue.file.empty()) {
        text = QString::fromStdString(issue.file);
        if (issue.line > 0)
            text += PlanFiles::tr(", line %1").arg(issue.line);
        text += QLatin1String(": ");
    }
    if (!issue.where.empty()) {
        // In a file the path leads to the place; in the window the field's name does.
        const Field *field = issue.file.empty() ? findField(issue.where) : nullptr;
        text += field ? QString::fromUtf8(field->label.data(), static_cast<qsizetype>(field->label.size()))
                      : QString::fromStdString(issue.where);
        text += QLatin1String(": ");
    }
    text += QString::fromStdString(issue.what);
    if (!issue.hint.empty())
        text += QStringLiteral(" (%1)").arg(QString::fromStdString(issue.hint));
    return text + QLatin1Char('.');
}

} // namespace headroom
