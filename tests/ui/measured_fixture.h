// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "window_fixture.h"

#include "core/measure/probe_result.h"
#include "ui/measured/comparison_model.h"
#include "ui/measured/measure_dialog.h"
#include "ui/measured/measured_runs.h"
#include "ui/measured/measured_view.h"

#include <QDialogButtonBox>
#include <QLabel>
#include <QPushButton>

/// What the tests of the Measured tab share: results to import, and a stand-in for the probe.
namespace headroom::test {

inline const QString results = QStringLiteral(HEADROOM_SOURCE_DIR "/tests/data/results/");
inline const QString dryRun = results + "qwen3-8b-lora-dry-run.headroom-probe.json";
inline const QString gpuRun = results + "qwen3-8b-lora-rtx-4090-made-up.headroom-probe.json";
inline const QString snapshot = results + "qwen3-8b-lora-rtx-4090-made-up.headroom-timeline.json";
inline const QString outOfMemory = results + "qwen3-8b-lora-out-of-memory-made-up.headroom-probe.json";
inline const QString example = QStringLiteral(HEADROOM_SOURCE_DIR "/presets/examples/qwen3-8b-lora-24gb.headroom.json");

inline EstimateRunner::Function engine()
{
    return [](const TrainingPlan &plan, std::stop_token cancel) { return estimate(plan, std::move(cancel)); };
}

/// The example in the test's own folder: runs are kept beside it.
inline QString examplePlan(const Folder &folder)
{
    QFile file(example);
    return file.open(QIODevice::ReadOnly) ? folder.write("plan.headroom.json", file.readAll()) : QString();
}

inline QString cell(MainWindow &window, const char *figure, int column)
{
    const QModelIndex index = window.measured()->model()->find(figure);
    return index.isValid() ? index.siblingAtColumn(column).data().toString() : QStringLiteral("no row");
}

inline bool compared(MainWindow &window, const char *figure)
{
    return QTest::qWaitFor([&] { return window.measured()->model()->find(figure).isValid(); });
}

inline QPushButton *buttonOf(QWidget *of, const QString &text)
{
    for (QPushButton *button : of->findChildren<QPushButton *>())
        if (button->text().remove('&') == text)
            return button;
    return nullptr;
}

inline bool isSaid(QWidget *of, const QString &text)
{
    for (const QLabel *label : of->findChildren<QLabel *>())
        if (label->isVisible() && label->text().contains(text))
            return true;
    return false;
}

/// A stand-in for headroom-probe: a script that does what `body` says; $4 is the result's file.
inline QString program(const Folder &folder, const QByteArray &body)
{
    const QString file = folder.write("probe.sh", "#!/bin/sh\necho \"$@\" >" + folder.path("arguments").toUtf8() + "\n" + body + "\n");
    QFile::setPermissions(file, QFile::ReadOwner | QFile::ExeOwner);
    return file;
}

inline std::unique_ptr<MainWindow> openedWith(const Folder &folder, const QString &program)
{
    WindowPaths paths = folder.paths();
    paths.probeProgram = program;
    auto window = std::make_unique<MainWindow>(engine(), paths);
    window->start(examplePlan(folder));
    window->show();
    const bool isActive = QTest::qWaitForWindowActive(window.get());
    return isActive && settled(*window) ? std::move(window) : nullptr;
}

inline void measure(MainWindow &window, const QString &action, const std::function<void(MeasureDialog *)> &act)
{
    whenAsked<MeasureDialog>(act);
    actionOf(window, action)->trigger();
}

inline void accept(MeasureDialog *dialog)
{
    QTest::mouseClick(dialog->findChild<QDialogButtonBox *>()->button(QDialogButtonBox::Ok), Qt::LeftButton);
}

} // namespace headroom::test
