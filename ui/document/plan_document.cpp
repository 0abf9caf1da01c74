// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/plan_document.h"

#include "core/hardware/gpu.h"
#include "core/plan/plan_json.h"
#include "ui/document/companions.h"
#include "ui/document/plan_command.h"
#include "ui/document/plan_files.h"

#include <QFileInfo>

#include <algorithm>

namespace headroom {
namespace {

/// Keys and wheel steps that follow each other this fast are one change to the person who makes them.
constexpr int keyGestureMs = 600;

QString modelTitle(const ModelChoice &model)
{
    if (!model.preset.empty())
        return QString::fromStdString(model.preset);
    return model.configPath.empty() ? PlanDocument::tr("own config.json") : QString::fromStdString(model.configPath);
}

QString gpuTitle(const std::string &id)
{
    const Gpu *gpu = findGpu(id);
    return QString::fromStdString(gpu ? gpu->title() : id);
}

} // namespace

PlanDocument::PlanDocument(QObject *parent)
    : QObject(parent)
    , m_plan(startPlan())
    , m_origin(m_plan)
{
    m_gestureEnd.setSingleShot(true);
    m_gestureEnd.setInterval(keyGestureMs);
    connect(&m_gestureEnd, &QTimer::timeout, this, [this] { m_gestureStart.reset(); });
}

PlanDocument::~PlanDocument()
{
    // The stack's last words must not reach a half-destroyed document.
    m_undoStack.disconnect(this);
}

const TrainingPlan &PlanDocument::reference() const { return m_baseline ? m_baseline->plan : m_origin; }

QString titleOf(const TrainingPlan &plan, const QString &file)
{
    if (!file.isEmpty())
        return QFileInfo(file).fileName();
    return plan.name.empty() ? PlanDocument::tr("Untitled") : QString::fromStdString(plan.name);
}

void PlanDocument::updateModified()
{
    // Steps from before a save know the plan by its old folder.
    const bool modified = m_isFileGone || movedTo(m_plan, QString::fromStdString(m_origin.folder.string())) != m_origin;
    if (modified == m_modified)
        return;
    m_modified = modified;
    emit modifiedChanged(modified);
}

std::optional<Issue> PlanDocument::setField(const Field &field, const FieldValue &value)
{
    const std::string subject(field.path);
    if (!m_gestureStart || m_gestureSubject != subject) {
        m_gestureStart = m_plan;
        m_gestureSubject = subject;
        ++m_gesture;
    }
    if (!m_inGesture)
        m_gestureEnd.start();

    TrainingPlan after = *m_gestureStart;
    if (auto issue = headroom::setField(after, field, value))
        return issue;
    settleCompanions(after, field.path);
    push(after, QString::fromStdString(changeText(field, field.get(m_plan), value)), subject);
    return std::nullopt;
}

void PlanDocument::resetField(const Field &field)
{
    m_gestureStart.reset();
    TrainingPlan after = m_plan;
    const FieldValue value = field.get(reference());
    field.set(after, value);
    settleCompanions(after, field.path);
    ++m_gesture;
    push(after, QString::fromStdString(changeText(field, field.get(m_plan), value)), std::string(field.path));
}

bool PlanDocument::isChanged(const Field &field) const { return field.get(m_plan) != field.get(reference()); }

void PlanDocument::setModel(const ModelChoice &model)
{
    TrainingPlan after = m_plan;
    after.model = model;
    m_gestureStart.reset();
    ++m_gesture;
    push(after, tr("Model %1 -> %2").arg(modelTitle(m_plan.model), modelTitle(model)), "model");
}

void PlanDocument::setGpus(const std::vector<std::string> &ids)
{
    TrainingPlan after = m_plan;
    after.gpus = ids;
    m_gestureStart.reset();
    ++m_gesture;
    QStringList changes;
    for (const std::string &id : ids)
        if (std::find(m_plan.gpus.begin(), m_plan.gpus.end(), id) == m_plan.gpus.end())
            changes << tr("Add %1").arg(gpuTitle(id));
    for (const std::string &id : m_plan.gpus)
        if (std::find(ids.begin(), ids.end(), id) == ids.end())
            changes << tr("Remove %1").arg(gpuTitle(id));
    push(after, changes.isEmpty() ? tr("Order of GPUs") : changes.join(QLatin1String(", ")), "gpus");
}

void PlanDocument::beginGesture()
{
    m_gestureEnd.stop();
    m_gestureStart.reset();
    m_inGesture = true;
}

void PlanDocument::endGesture()
{
    m_inGesture = false;
    m_gestureStart.reset();
}

void PlanDocument::setBaseline(std::shared_ptr<const Estimate> baseline)
{
    if (baseline != m_baseline)
        m_undoStack.push(new BaselineCommand(*this, std::move(baseline)));
}

void PlanDocument::setPlan(const TrainingPlan &plan, const QString &text)
{
    m_gestureStart.reset();
    ++m_gesture;
    push(plan, text, "plan");
}

void PlanDocument::push(const TrainingPlan &after, const QString &text, const std::string &subject)
{
    if (after != m_plan)
        m_undoStack.push(new PlanCommand(*this, after, text, subject, m_gesture));
}

void PlanDocument::apply(const TrainingPlan &plan)
{
    const bool renamed = plan.name != m_plan.name;
    m_plan = plan;
    updateModified();
    emit planChanged();
    if (renamed)
        emit fileChanged();
}

void PlanDocument::applyBaseline(std::shared_ptr<const Estimate> baseline)
{
    m_baseline = std::move(baseline);
    emit baselineChanged();
}

void PlanDocument::replace(const TrainingPlan &plan, const TrainingPlan &origin, const QString &file)
{
    m_gestureStart.reset();
    m_inGesture = false;
    m_plan = plan;
    m_origin = origin;
    m_file = file;
    m_baseline.reset();
    m_isFileGone = false;
    m_undoStack.clear();
    updateModified();
    emit baselineChanged();
    emit planChanged();
    emit fileChanged();
}

void PlanDocument::reset() { replace(startPlan(), startPlan(), {}); }

std::optional<Issue> PlanDocument::open(const QString &file)
{
    auto opened = openPlanOrConfig(file);
    if (!opened)
        return opened.issue();
    if (opened->kind == OpenedFile::Kind::Config)
        setModel(opened->plan.model);
    else
        replace(opened->plan, opened->plan, QFileInfo(file).absoluteFilePath());
    return std::nullopt;
}

std::optional<Issue> PlanDocument::save()
{
    Q_ASSERT(!m_file.isEmpty());
    return saveAs(m_file);
}

std::optional<Issue> PlanDocument::saveAs(const QString &file)
{
    const QFileInfo info(file);
    const TrainingPlan moved = movedTo(m_plan, info.absolutePath());
    if (auto issue = writeFile(file, QByteArray::fromStdString(writePlan(moved) + '\n')))
        return issue;
    m_gestureStart.reset();
    ++m_gesture;
    const bool pathChanged = moved != m_plan;
    m_plan = moved;
    m_origin = moved;
    m_file = info.absoluteFilePath();
    m_isFileGone = false;
    updateModified();
    emit fileChanged();
    if (pathChanged)
        emit planChanged();
    return std::nullopt;
}

void PlanDocument::restore(const TrainingPlan &plan, const QString &file, bool modified)
{
    if (file.isEmpty()) {
        replace(plan, modified ? startPlan() : plan, {});
    } else if (const auto saved = openPlanOrConfig(file); saved && saved->kind == OpenedFile::Kind::Plan) {
        // Without changes of ours the file is right, also where another program has written it since.
        replace(modified ? plan : saved->plan, saved->plan, file);
    } else {
        // The file is gone: the working copy is all there is.
        replace(plan, plan, file);
        m_isFileGone = true;
        updateModified();
    }
}

void PlanDocument::discardChanges()
{
    if (m_file.isEmpty() || open(m_file))
        reset();
}

} // namespace headroom
