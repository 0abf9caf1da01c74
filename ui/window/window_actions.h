// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/window/main_window.h"

#include <QAction>
#include <QActionGroup>

namespace headroom {

/// Everything that the window's menus and tool bar offer. The actions belong to the window.
struct MainWindow::Actions {
    QAction *newPlan, *open, *openConfig, *save, *saveAs, *exportReport, *exportBreakdown, *quit;
    QAction *undo, *redo, *pinBaseline, *releaseBaseline;
    QAction *measureHere, *measureThere, *measureDry, *cancelMeasuring, *importResult, *removeRun, *openSnapshot, *snapshotShown,
        *removeSnapshot, *exportComparison;
    QAction *findModel, *findGpu, *toPlan, *panel;
    QAction *gib, *gb, *firstStep, *steadyState;
    QAction *about, *aboutQt;
    QActionGroup *units, *steps;
    /// Actions with a drawing, which is made anew when the palette changes.
    std::vector<std::pair<QAction *, QString>> drawings;
};

} // namespace headroom
