// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/hardware/gpu.h"
#include "core/model/catalogue.h"
#include "ui/document/estimate_runner.h"
#include "ui/window/main_window.h"

#include <QAction>
#include <QApplication>
#include <QFile>
#include <QMessageBox>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>

#include <memory>

namespace headroom::test {

/// A result whose figures follow the plan in a way that a test can foresee: every component is `sequence length` KiB
/// times its place in the stack, reserved 1 MiB and the device 2 MiB above. No engine runs.
inline std::shared_ptr<Estimate> foreseeableEstimate(const TrainingPlan &plan)
{
    auto estimate = std::make_shared<Estimate>();
    estimate->plan = plan;
    if (const ModelPreset *preset = findModelPreset(plan.model.preset))
        estimate->model = preset->config;
    estimate->parametersTotal = 1000;
    estimate->parametersTrainable = 10;
    for (Peak *peak : {&estimate->peak, &estimate->firstStep}) {
        for (Component component : allComponents)
            peak->components[component] = kib(plan.batch.sequenceLength) * (static_cast<std::int64_t>(component) + 1);
        peak->allocated = peak->components.total();
        peak->reserved = peak->allocated + mib(1);
        peak->device = peak->reserved + mib(1);
    }
    estimate->steady.allocated = kib(plan.batch.sequenceLength);
    for (const std::string &id : plan.gpus) {
        const Gpu *gpu = findGpu(id);
        GpuEstimate own;
        own.id = id;
        own.name = gpu ? gpu->title() : id;
        own.capacity = gpu ? gpu->capacity : gib(1);
        own.allocated = estimate->peak.allocated;
        own.reserved = estimate->peak.reserved;
        own.device = estimate->peak.device;
        own.headroom = own.capacity - own.device;
        own.fits = own.headroom.value >= 0;
        own.verdict = own.fits ? Verdict::Fits : Verdict::DoesNotFit;
        estimate->gpus.push_back(own);
    }
    estimate->notes.push_back({Severity::Warning, "batch.sequence_length", "a note about the sequence length"});
    return estimate;
}

inline EstimateRunner::Function foreseeable()
{
    return [](const TrainingPlan &plan, std::stop_token) -> EstimateRunner::Outcome {
        return std::shared_ptr<const Estimate>(foreseeableEstimate(plan));
    };
}

/// Settings and working plan in a folder of their own, gone at the end.
class Folder
{
public:
    QString path(const QString &name) const { return m_dir.filePath(name); }
    WindowPaths paths() const { return {path(QStringLiteral("headroom.ini")), path(QStringLiteral("data")), {}}; }
    QString write(const QString &name, const QByteArray &content) const
    {
        QFile file(path(name));
        const bool written = file.open(QIODevice::WriteOnly) && file.write(content) == content.size();
        Q_ASSERT(written);
        return written ? file.fileName() : QString();
    }

private:
    QTemporaryDir m_dir;
};

/// A window on the screen, active, with the result of its plan; `file` is what it is started with.
std::unique_ptr<MainWindow> opened(const Folder &folder, EstimateRunner::Function function = foreseeable(), const QString &file = {});

/// The window's action whose text begins like this; null: none.
inline QAction *actionOf(const MainWindow &window, const QString &text)
{
    for (QAction *candidate : window.findChildren<QAction *>())
        if (candidate->text().remove(QLatin1Char('&')).startsWith(text))
            return candidate;
    return nullptr;
}

/// Does something with the next modal dialog of this kind, as soon as it is there.
template<typename Dialog, typename Act>
void whenAsked(Act act)
{
    constexpr int everyMs = 5;
    constexpr int tries = 1000;
    auto *timer = new QTimer(qApp);
    QObject::connect(timer, &QTimer::timeout, timer, [timer, act, left = tries]() mutable {
        auto *dialog = qobject_cast<Dialog *>(QApplication::activeModalWidget());
        if (!dialog && --left > 0)
            return;
        timer->stop();
        timer->deleteLater();
        QVERIFY(dialog);
        act(dialog);
    });
    timer->start(everyMs);
}

/// Presses a button of the question that the next modal box asks.
inline void answer(QMessageBox::StandardButton button, int *asked)
{
    whenAsked<QMessageBox>([button, asked](QMessageBox *box) {
        ++*asked;
        QTest::mouseClick(box->button(button), Qt::LeftButton);
    });
}

/// Waits until the window shows the result of the plan as it is.
inline bool settled(MainWindow &window)
{
    return QTest::qWaitFor([&] { return !window.runner().isBusy(); });
}

inline std::unique_ptr<MainWindow> opened(const Folder &folder, EstimateRunner::Function function, const QString &file)
{
    auto window = std::make_unique<MainWindow>(std::move(function), folder.paths());
    window->start(file);
    window->show();
    const bool isActive = QTest::qWaitForWindowActive(window.get());
    const bool isSettled = settled(*window);
    return isActive && isSettled ? std::move(window) : nullptr;
}

} // namespace headroom::test
