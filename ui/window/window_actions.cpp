// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/window_actions.h"

#include "ui/breakdown/breakdown_view.h"
#include "ui/charts/memory_chart.h"
#include "ui/charts/timeline_chart.h"
#include "ui/choosers/gpu_chooser.h"
#include "ui/choosers/model_chooser.h"
#include "ui/icons.h"
#include "ui/panel/plan_panel.h"
#include "ui/window/file_controller.h"
#include "ui/window/verdict_bar.h"

#include <QApplication>
#include <QHBoxLayout>
#include <QMenuBar>
#include <QTabWidget>
#include <QToolBar>
#include <QToolButton>

namespace headroom {
namespace {

void describe(QToolButton &button, const QAction &action)
{
    button.setFocusPolicy(Qt::TabFocus);
    button.setAccessibleName(action.iconText());
    button.setAccessibleDescription(action.statusTip().isEmpty() ? action.toolTip() : action.statusTip());
}

} // namespace

void MainWindow::makeActions()
{
    m_actions = std::make_unique<Actions>();
    Actions &a = *m_actions;
    const auto make = [this](const QString &text, const QKeySequence &shortcut, const QString &tip, const char *drawing = nullptr) {
        auto *action = new QAction(text, this);
        action->setShortcut(shortcut);
        const QString keys = shortcut.toString(QKeySequence::NativeText);
        action->setToolTip(keys.isEmpty() ? tip : QStringLiteral("%1 (%2)").arg(tip, keys));
        action->setStatusTip(tip);
        if (drawing)
            m_actions->drawings.emplace_back(action, QLatin1String(drawing));
        return action;
    };

    a.newPlan = make(tr("&New"), QKeySequence::New, tr("Begin a new plan"));
    a.open = make(tr("&Open..."), QKeySequence::Open, tr("Open a plan or a Hugging Face config.json"), "open");
    a.open->setIconText(tr("Open"));
    a.openConfig = make(tr("Open &config.json..."), {}, tr("Take the model from a Hugging Face config.json"));
    a.save = make(tr("&Save"), QKeySequence::Save, tr("Save the plan"), "save");
    a.saveAs = make(tr("Save &as..."), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S), tr("Save the plan under another name"));
    a.exportReport = make(tr("&Export..."), Qt::CTRL | Qt::Key_E, tr("Write the report as PDF, or the chart as PNG or SVG"), "export");
    a.exportBreakdown = make(tr("Export the &breakdown as CSV..."), {}, tr("Write the whole breakdown as a table"));
    a.quit = make(tr("&Quit"), QKeySequence::Quit, tr("Close Headroom"));

    // The undo stack names what is undone; the tool bar has room for the bare word.
    a.undo = m_document.undoStack()->createUndoAction(this, tr("&Undo"));
    a.undo->setShortcut(QKeySequence::Undo);
    a.undo->setIconText(tr("Undo"));
    a.redo = m_document.undoStack()->createRedoAction(this, tr("&Redo"));
    a.redo->setShortcuts({QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z), QKeySequence(Qt::CTRL | Qt::Key_Y)});
    a.redo->setIconText(tr("Redo"));
    a.drawings.emplace_back(a.undo, QStringLiteral("undo"));
    a.drawings.emplace_back(a.redo, QStringLiteral("redo"));
    a.pinBaseline = make(tr("&Pin baseline"), Qt::CTRL | Qt::Key_B, tr("Keep this result beside the next ones, to compare"), "pin");
    a.releaseBaseline = make(tr("Re&lease baseline"), Qt::CTRL | Qt::SHIFT | Qt::Key_B, tr("Compare with nothing"));

    a.measureHere = make(tr("On a &GPU of this machine..."), Qt::CTRL | Qt::Key_M, tr("Run the plan with PyTorch here and compare"));
    a.measureThere = make(tr("On another machine over &SSH..."), {}, tr("Run the plan with PyTorch on another machine and compare"));
    a.measureDry = make(tr("&Dry run..."), {}, tr("Run the plan on PyTorch's fake tensors, without a GPU, and compare"));
    a.cancelMeasuring = make(tr("&Cancel measuring"), {}, tr("End the run that goes on"));
    a.cancelMeasuring->setEnabled(false);
    a.importResult = make(tr("&Import a result..."), Qt::CTRL | Qt::Key_I, tr("Add a result that the probe wrote elsewhere"));
    a.removeRun = make(tr("&Remove the chosen run..."), {}, tr("Remove a measured run from this plan"));
    a.openSnapshot = make(tr("Open a memory s&napshot..."), Qt::CTRL | Qt::SHIFT | Qt::Key_I,
                          tr("Lay what torch.cuda.memory._dump_snapshot wrote over the timeline"));
    a.snapshotShown =
        make(tr("Show the snapshot on the &timeline"), Qt::CTRL | Qt::Key_7, tr("Draw the memory snapshot over the timeline, or not"));
    a.snapshotShown->setCheckable(true);
    a.removeSnapshot = make(tr("Remove the s&hown snapshot..."), {}, tr("Remove the memory snapshot that is drawn from this plan"));
    a.exportComparison = make(tr("&Export the comparison as CSV..."), {}, tr("Write predicted and measured figures as a table"));

    a.findModel = make(tr("Find a &model"), Qt::CTRL | Qt::Key_L, tr("Search the model presets"));
    a.findGpu = make(tr("Find a &GPU"), Qt::CTRL | Qt::Key_G, tr("Search the GPUs"));
    a.toPlan = make(tr("Go to the &plan"), Qt::Key_F6, tr("Move the keyboard to the plan panel"));
    a.panel = make(tr("Show the plan pa&nel"), Qt::Key_F9, tr("Show or hide the plan panel"));
    a.panel->setCheckable(true);
    a.panel->setChecked(true);

    const auto group = [this](std::initializer_list<QAction *> actions) {
        auto *actionGroup = new QActionGroup(this);
        for (QAction *action : actions) {
            action->setCheckable(true);
            actionGroup->addAction(action);
        }
        return actionGroup;
    };
    a.gib = make(tr("Sizes in G&iB"), Qt::CTRL | Qt::Key_1, tr("Show sizes in GiB, 2^30 bytes"));
    a.gib->setIconText(QStringLiteral("GiB"));
    a.gb = make(tr("Sizes in G&B"), Qt::CTRL | Qt::Key_2, tr("Show sizes in GB, 10^9 bytes"));
    a.gb->setIconText(QStringLiteral("GB"));
    a.units = group({a.gib, a.gb});
    a.steadyState = make(tr("&Steady state"), Qt::CTRL | Qt::Key_3, tr("Show a later step, when the optimizer's state exists"));
    a.firstStep = make(tr("&First step"), Qt::CTRL | Qt::Key_4, tr("Show the first step, before the optimizer's state exists"));
    a.steps = group({a.steadyState, a.firstStep});

    a.about = make(tr("&About Headroom"), {}, tr("Version and licence"));
    a.aboutQt = make(tr("About &Qt"), {}, tr("Version of Qt"));
    a.quit->setMenuRole(QAction::QuitRole);
    a.about->setMenuRole(QAction::AboutRole);
    a.aboutQt->setMenuRole(QAction::AboutQtRole);
    drawIcons();
}

void MainWindow::drawIcons()
{
    for (const auto &[action, drawing] : m_actions->drawings)
        action->setIcon(themedIcon(drawing, palette()));
}

void MainWindow::makeMenus()
{
    const Actions &a = *m_actions;
    QMenu *file = menuBar()->addMenu(tr("&File"));
    file->addActions({a.newPlan, a.open, a.openConfig});
    m_files->attachRecentMenu(file->addMenu(tr("Open &recent")));
    file->addSeparator();
    file->addActions({a.save, a.saveAs});
    file->addSeparator();
    file->addActions({a.exportReport, a.exportBreakdown});
    file->addSeparator();
    file->addAction(a.quit);

    QMenu *edit = menuBar()->addMenu(tr("&Edit"));
    edit->addActions({a.undo, a.redo});
    edit->addSeparator();
    edit->addActions({a.pinBaseline, a.releaseBaseline});
    edit->addSeparator();
    edit->addActions({a.findModel, a.findGpu});

    QMenu *view = menuBar()->addMenu(tr("&View"));
    view->addActions(a.steps->actions());
    view->addSeparator();
    view->addActions(a.units->actions());
    view->addSeparator();
    // The charts' own menus: by context menu alone they would be hidden from the keyboard.
    m_chart->menu()->setTitle(tr("&Memory chart"));
    m_timeline->menu()->addSeparator();
    m_timeline->menu()->addAction(a.snapshotShown);
    m_chart->showTableAction()->setShortcut(Qt::CTRL | Qt::Key_5);
    m_timeline->menu()->setTitle(tr("&Timeline chart"));
    m_timeline->showTableAction()->setShortcut(Qt::CTRL | Qt::Key_6);
    for (QMenu *chart : {m_chart->menu(), m_timeline->menu()})
        view->addMenu(chart);
    view->addSeparator();
    view->addActions({a.panel, a.toPlan});

    QMenu *measure = menuBar()->addMenu(tr("&Measure"));
    measure->addActions({a.measureHere, a.measureThere, a.measureDry, a.cancelMeasuring});
    measure->addSeparator();
    measure->addActions({a.importResult, a.removeRun, a.exportComparison});
    measure->addSeparator();
    measure->addActions({a.openSnapshot, a.snapshotShown, a.removeSnapshot});

    QMenu *help = menuBar()->addMenu(tr("&Help"));
    help->addActions({a.about, a.aboutQt});

    QSet<QChar> letters;
    const auto take = [&letters](const QString &text) {
        if (const QKeySequence keys = QKeySequence::mnemonic(text); !keys.isEmpty())
            letters.insert(QChar(keys[0].key()).toLower());
    };
    for (const QAction *menu : menuBar()->actions())
        take(menu->text());
    for (int tab = 0; tab < m_tabs->count(); ++tab)
        take(m_tabs->tabText(tab));
    m_panel->assignMnemonics(letters);

    connect(a.newPlan, &QAction::triggered, m_files, &FileController::newPlan);
    connect(a.open, &QAction::triggered, m_files, &FileController::chooseAndOpen);
    connect(a.openConfig, &QAction::triggered, m_files, &FileController::chooseAndOpenConfig);
    connect(a.save, &QAction::triggered, m_files, &FileController::save);
    connect(a.saveAs, &QAction::triggered, m_files, &FileController::saveAs);
    connect(a.exportReport, &QAction::triggered, this, &MainWindow::exportReport);
    connect(a.exportBreakdown, &QAction::triggered, this, &MainWindow::exportBreakdown);
    connect(a.quit, &QAction::triggered, this, &QWidget::close);
    connect(a.pinBaseline, &QAction::triggered, this, [this] {
        commitEdits();
        whenShown([this] { m_document.setBaseline(m_shown); });
    });
    connect(a.releaseBaseline, &QAction::triggered, this, [this] { m_document.setBaseline(nullptr); });
    connectMeasuring();
    connect(a.findModel, &QAction::triggered, m_model, [this] { m_model->setFocus(Qt::ShortcutFocusReason); });
    connect(a.findGpu, &QAction::triggered, this, [this] {
        m_panel->reveal("gpus");
        m_panel->gpuChooser()->takeSearchFocus();
    });
    connect(a.toPlan, &QAction::triggered, this, [this] { m_panel->reveal("method.kind"); });
    connect(m_timeline->showTableAction(), &QAction::triggered, this, [this] { m_tabs->setCurrentWidget(m_timeline); });
    connect(a.panel, &QAction::toggled, m_panel, &QWidget::setVisible);
    connect(a.units, &QActionGroup::triggered, this,
            [this](const QAction *action) { m_display.setUnit(action == m_actions->gb ? ByteUnit::Decimal : ByteUnit::Binary); });
    connect(a.steps, &QActionGroup::triggered, this,
            [this](const QAction *action) { setStep(action == m_actions->firstStep ? Estimate::Step::First : Estimate::Step::Steady); });
    connect(a.about, &QAction::triggered, this, &MainWindow::about);
    connect(a.aboutQt, &QAction::triggered, qApp, &QApplication::aboutQt);
}

void MainWindow::makeToolBar()
{
    const Actions &a = *m_actions;
    auto *bar = addToolBar(tr("Tools"));
    bar->setObjectName(QStringLiteral("tools"));
    bar->setMovable(false);
    bar->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    const int line = fontMetrics().height();
    bar->setIconSize({line, line});
    bar->addWidget(m_model);
    bar->addActions({a.open, a.save, a.undo, a.redo});
    bar->addSeparator();
    bar->addActions({a.pinBaseline, a.exportReport});
    bar->addSeparator();
    bar->addActions(a.units->actions());
    for (QAction *action : bar->actions())
        if (auto *button = qobject_cast<QToolButton *>(bar->widgetForAction(action)))
            describe(*button, *action);
    setContextMenuPolicy(Qt::NoContextMenu);

    // The two steps of the charts, where the charts are.
    auto *steps = new QWidget(m_verdict);
    auto *row = new QHBoxLayout(steps);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(0);
    for (QAction *action : a.steps->actions()) {
        auto *button = new QToolButton(steps);
        button->setDefaultAction(action);
        button->setAutoRaise(true);
        describe(*button, *action);
        row->addWidget(button);
    }
    m_verdict->addCorner(steps);
}

} // namespace headroom
