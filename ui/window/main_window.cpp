// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/main_window.h"

#include "core/model/parameters.h"
#include "core/plan/plan_json.h"
#include "ui/breakdown/breakdown_view.h"
#include "ui/charts/memory_chart.h"
#include "ui/charts/timeline_chart.h"
#include "ui/choosers/model_chooser.h"
#include "ui/choosers/model_list.h"
#include "ui/document/plan_files.h"
#include "ui/icons.h"
#include "ui/measured/measured_runs.h"
#include "ui/measured/measured_view.h"
#include "ui/measured/probe_process.h"
#include "ui/panel/field_row.h"
#include "ui/panel/plan_panel.h"
#include "ui/window/file_controller.h"
#include "ui/window/message_bar.h"
#include "ui/window/plain_label.h"
#include "ui/window/verdict_bar.h"
#include "ui/window/window_actions.h"

#include <QCloseEvent>
#include <QDir>
#include <QFile>
#include <QLabel>
#include <QMessageBox>
#include <QMimeData>
#include <QRegularExpression>
#include <QSplitter>
#include <QStandardPaths>
#include <QStatusBar>
#include <QTabWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace headroom {
namespace {

constexpr QSize firstSize(1280, 800);
constexpr QSize smallestSize(1024, 640);
/// An estimate that is there sooner is not announced.
constexpr int slowEstimateMs = 200;
constexpr int statusMs = 6000;
/// While a slider moves without a rest, the views below the memory chart follow this often: less than a twentieth of the steps
/// wait for them.
constexpr int restMs = 200;

QString dataFolderOf(const WindowPaths &paths)
{
    return paths.dataFolder.isEmpty() ? QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) : paths.dataFolder;
}

/// A place of this window's own, as its working copy is; beyond all places, of this process.
QString unsavedRunsOf(const WorkingCopy &copy, const QString &dataFolder)
{
    if (!copy.file().isEmpty())
        return MeasuredRuns::unsavedFolder(copy.file());
    return QDir(dataFolder).filePath(QStringLiteral("unsaved-runs-of-process-%1").arg(QCoreApplication::applicationPid()));
}

/// The file of a drop, if it is exactly one of this machine.
QString droppedFile(const QMimeData *data)
{
    return data->urls().size() == 1 && data->urls().first().isLocalFile() ? data->urls().first().toLocalFile() : QString();
}

/// The model of a plan without an estimate. A file is not read here, where a slow disk would hold up the window.
std::optional<ModelConfig> modelWithoutFile(const TrainingPlan &plan)
{
    if (!plan.model.configPath.empty())
        return std::nullopt;
    auto model = resolveModel(plan);
    return model ? std::optional(std::move(model).value()) : std::nullopt;
}

QString shapeText(const ModelConfig &model)
{
    return MainWindow::tr("%1 layers, hidden %2, vocabulary %3").arg(model.layers).arg(model.hiddenSize).arg(model.vocabSize) +
           QLatin1Char('\n');
}

/// Two lines on the model, whether the plan can be estimated or not, so that the form below does not jump.
QString modelText(const TrainingPlan &plan)
{
    if (const auto model = modelWithoutFile(plan))
        return shapeText(*model) + MainWindow::tr("%1 parameters").arg(shortCount(parameterCount(*model)));
    return (plan.model.configPath.empty() ? MainWindow::tr("unknown model") : QString::fromStdString(plan.model.configPath)) +
           QLatin1Char('\n');
}

QString modelText(const Estimate &estimate)
{
    const double share = estimate.parametersTotal > 0
                             ? 100.0 * static_cast<double>(estimate.parametersTrainable) / static_cast<double>(estimate.parametersTotal)
                             : 0;
    return shapeText(estimate.model) +
           MainWindow::tr("%1 parameters, %2 trained (%3 %)")
               .arg(shortCount(estimate.parametersTotal), shortCount(estimate.parametersTrainable), QString::number(share, 'g', 3));
}

} // namespace

MainWindow::MainWindow(EstimateRunner::Function estimate, const WindowPaths &paths)
    : m_settings(paths.settingsFile)
    , m_dataFolder(dataFolderOf(paths))
    , m_workingCopy(m_document, m_dataFolder)
    , m_runner(estimate)
    , m_estimate(estimate)
    , m_comparer(std::move(estimate))
    , m_runs(new MeasuredRuns(unsavedRunsOf(m_workingCopy, m_dataFolder), this))
    , m_probe(new ProbeProcess(paths.probeProgram, this))
{
    setObjectName(QStringLiteral("mainWindow"));
    setWindowIcon(programIcon());
    setAcceptDrops(true);
    setMinimumSize(smallestSize);
    // Before the views connect: while the form follows a change, its estimate is made.
    connect(&m_document, &PlanDocument::planChanged, this, &MainWindow::requestEstimate);
    makeViews();
    makeActions();
    makeMenus();
    makeToolBar();
    connectViews();
    loadSettings();
    updateTitle();
}

MainWindow::~MainWindow()
{
    // Views hold the document, and a field that loses the focus still puts what was typed into it: they go first, the
    // focus before them, while all of the window is there to follow.
    if (QWidget *focused = focusWidget())
        focused->clearFocus();
    m_document.disconnect(this);
    qDeleteAll(findChildren<QWidget *>(Qt::FindDirectChildrenOnly));
    delete m_files;
}

void MainWindow::makeViews()
{
    m_messages = new MessageBar(this);
    m_files = new FileController(m_document, m_settings, *m_messages, this);
    m_model = new ModelChooser(this);
    m_panel = new PlanPanel(m_document, &m_display, this);
    m_model->setFixedWidth(m_panel->sizeHint().width() - 8);
    m_verdict = new VerdictBar(&m_display, this);
    m_chart = new MemoryChart(&m_display, &m_highlight, this);
    m_timeline = new TimelineChart(&m_display, &m_highlight, this);
    m_breakdown = new BreakdownView(&m_display, &m_highlight, this);
    m_tabs = new QTabWidget(this);
    m_tabs->setDocumentMode(true);
    m_tabs->setAccessibleName(tr("Views"));
    m_tabs->addTab(m_timeline, tr("&Timeline"));
    m_tabs->addTab(m_breakdown, tr("Brea&kdown"));
    m_measured = new MeasuredView(&m_display, m_runs, this);
    m_tabs->addTab(m_measured, tr("Measure&d"));

    m_rows = new QSplitter(Qt::Vertical, this);
    m_rows->addWidget(m_chart);
    m_rows->addWidget(m_tabs);
    m_rows->setChildrenCollapsible(false);
    m_rows->setStretchFactor(0, 1);
    m_rows->setStretchFactor(1, 1);

    auto *right = new QWidget(this);
    auto *column = new QVBoxLayout(right);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_messages);
    column->addWidget(m_verdict);
    column->addWidget(m_rows, 1);

    m_columns = new QSplitter(Qt::Horizontal, this);
    m_columns->addWidget(m_panel);
    m_columns->addWidget(right);
    m_columns->setChildrenCollapsible(false);
    m_columns->setStretchFactor(0, 0);
    m_columns->setStretchFactor(1, 1);
    setCentralWidget(m_columns);

    m_busy = new QLabel(tr("Estimating..."), this);
    m_busy->hide();
    m_figures = new PlainLabel(false, this);
    statusBar()->addWidget(m_busy);
    statusBar()->addPermanentWidget(m_figures);
}

void MainWindow::connectViews()
{
    connect(&m_document, &PlanDocument::planChanged, this, &MainWindow::planChanged);
    connect(&m_document, &PlanDocument::baselineChanged, this, &MainWindow::baselineChanged);
    connect(&m_document, &PlanDocument::fileChanged, this, &MainWindow::updateTitle);
    connect(&m_document, &PlanDocument::modifiedChanged, this, &MainWindow::updateTitle);
    connect(&m_workingCopy, &WorkingCopy::failed, m_files, &FileController::report);
    connect(m_files, &FileController::commitRequested, this, &MainWindow::commitEdits);
    connect(m_files, &FileController::done, this, [this](const QString &text) { statusBar()->showMessage(text, statusMs); });

    connect(m_model, &ModelChooser::presetChosen, this, [this](const QString &id) { m_document.setModel({id.toStdString(), {}, {}}); });
    connect(m_model, &ModelChooser::openConfigRequested, m_files, &FileController::chooseAndOpenConfig);
    connect(m_verdict, &VerdictBar::jumpRequested, this, &MainWindow::jumpTo);
    connect(m_chart, &MemoryChart::clicked, this, [this](Component component) {
        m_tabs->setCurrentWidget(m_breakdown);
        m_highlight.setSelected({component, {}});
    });
    for (ChartWidget *chart : {static_cast<ChartWidget *>(m_chart), static_cast<ChartWidget *>(m_timeline)}) {
        connect(chart, &ChartWidget::savePictureRequested, this, [this, chart] { savePictureOf(chart); });
        connect(chart, &ChartWidget::saveTableRequested, this, [this, chart] { saveTableOf(chart); });
    }
    // The memory chart is what a slider is moved for: it is painted first, what else shows the result after it.
    m_rest.setSingleShot(true);
    connect(m_chart, &ChartWidget::painted, this, &MainWindow::showRestSoon);
    connect(&m_rest, &QTimer::timeout, this, [this] {
        if (m_runner.isBusy() && !m_restWaits.hasExpired(restMs))
            showRestSoon();
        else
            showRest();
    });
    connect(m_breakdown, &BreakdownView::exportRequested, this, &MainWindow::exportBreakdown);

    connect(&m_runner, &EstimateRunner::finished, this, &MainWindow::showEstimate);
    connect(&m_runner, &EstimateRunner::failed, this, &MainWindow::showIssue);
    m_slowEstimate.setSingleShot(true);
    m_slowEstimate.setInterval(slowEstimateMs);
    connect(&m_slowEstimate, &QTimer::timeout, m_busy, &QWidget::show);
    connect(&m_runner, &EstimateRunner::busyChanged, this, [this](bool busy) {
        if (busy) {
            m_slowEstimate.start();
        } else {
            m_slowEstimate.stop();
            m_busy->hide();
        }
    });
    connect(&m_display, &DisplaySettings::changed, this, [this] {
        m_settings.setUnit(m_display.unit());
        showFigures();
    });
    baselineChanged();
    resultChanged();
}

void MainWindow::start(const QString &file)
{
    const bool isUnsaved = bringBackWork();
    m_runs->setPlanFile(m_document.file());
    if (!file.isEmpty()) {
        if (const auto opened = openPlanOrConfig(file); !opened) {
            m_files->report(opened.issue());
        } else if (opened->kind == OpenedFile::Kind::Config || !(m_document.isModified() || m_runs->hasUnsaved()) || keepUnsavedWork()) {
            if (const auto issue = m_document.open(file))
                m_files->report(*issue);
            else if (opened->kind == OpenedFile::Kind::Plan)
                m_settings.addRecentFile(file);
        }
    }
    if (isUnsaved && m_document.isModified())
        m_messages->show(MessageBar::Kind::Information, tr("Unsaved work of the last time came back: %1.").arg(m_document.title()));
    requestEstimate();
    planChanged();
    m_panel->row("method.kind")->takeFocus();
}

bool MainWindow::bringBackWork()
{
    Restored restored = m_workingCopy.restore();
    for (const Issue &damage : restored.damages)
        m_messages->show(MessageBar::Kind::Warning, issueText(damage));
    for (LeftWork &work : restored.leftBehind)
        offer(std::move(work));
    return restored.isUnsaved;
}

void MainWindow::offer(LeftWork work)
{
    const QString name = titleOf(work.plan, work.home);
    auto kept = std::make_shared<LeftWork>(std::move(work));
    m_messages->offer(tr("There is more unsaved work of the last time: %1.").arg(name), tr("Bring back"), tr("Bring back %1").arg(name),
                      [this, kept] {
                          if (!m_files->mayDiscard()) {
                              offer(std::move(*kept));
                              return;
                          }
                          m_workingCopy.adopt(std::move(*kept));
                      });
}

bool MainWindow::keepUnsavedWork()
{
    const QDir folder(m_dataFolder);
    QString file = folder.filePath(QStringLiteral("unsaved.headroom.json"));
    for (int n = 2; QFile::exists(file); ++n)
        file = folder.filePath(QStringLiteral("unsaved-%1.headroom.json").arg(n));
    const std::string text = writePlan(movedTo(m_document.plan(), folder.absolutePath()));
    if (const auto issue = writeFile(file, QByteArray::fromStdString(text + '\n'))) {
        m_files->report(*issue);
        return false;
    }
    if (const auto issue = m_runs->follow({}, file))
        m_files->report(*issue);
    m_settings.addRecentFile(file);
    m_messages->show(MessageBar::Kind::Information,
                     tr("The unsaved plan of the last time was kept as %1.").arg(QDir::toNativeSeparators(file)));
    return true;
}

void MainWindow::commitEdits() { m_panel->commit(); }

void MainWindow::whenShown(std::function<void()> action)
{
    if (m_runner.isBusy())
        m_afterEstimate = std::move(action);
    else if (m_shown) {
        showRest();
        action();
    }
}

void MainWindow::requestEstimate() { m_runner.request(m_document.plan()); }

void MainWindow::planChanged()
{
    m_model->setModel(m_document.plan().model);
    requestComparison();
}

void MainWindow::showEstimate(std::shared_ptr<const Estimate> estimate)
{
    m_shown = std::move(estimate);
    m_panel->setIssues({});
    m_panel->setModelSummary(modelText(*m_shown));
    showFigures();
    m_verdict->setEstimate(m_shown);
    m_chart->setEmptyReason({});
    m_timeline->setEmptyReason({});
    m_chart->setEstimate(m_shown);
    if (!std::exchange(m_hasRest, true)) {
        m_restWaits.start();
        m_rest.start(restMs); // where the chart is not painted, as in a window that lies below others
    }
    if (!m_chart->isVisible() || m_afterEstimate)
        showRest();
    resultChanged();
    if (m_afterEstimate && !m_runner.isBusy())
        std::exchange(m_afterEstimate, nullptr)();
}

void MainWindow::showRestSoon()
{
    if (!m_hasRest)
        return;
    // A newer estimate is on its way, and its chart must not wait for what it replaces. Else at once, but after what the user
    // did meanwhile: that is what an interval of nothing means.
    const qint64 left = m_runner.isBusy() ? std::max<qint64>(0, restMs - m_restWaits.elapsed()) : 0;
    m_rest.start(static_cast<int>(left));
}

void MainWindow::showRest()
{
    m_rest.stop();
    if (!std::exchange(m_hasRest, false))
        return;
    m_timeline->setEstimate(m_shown);
    m_breakdown->setEstimate(m_shown);
}

void MainWindow::resultChanged()
{
    for (QAction *action : {m_actions->pinBaseline, m_actions->exportReport, m_actions->exportBreakdown})
        action->setEnabled(m_shown != nullptr);
}

void MainWindow::showFigures()
{
    m_figures->setText(m_shown ? tr("Between steps %1, saved for backward %2")
                                     .arg(m_display.bytes(m_shown->steady.allocated), m_display.bytes(m_shown->savedActivations))
                               : QString());
}

void MainWindow::showIssue(const Issue &issue)
{
    std::vector<Issue> issues = validate(m_document.plan());
    const auto same = [&](const Issue &other) { return other.where == issue.where && other.what == issue.what; };
    if (std::none_of(issues.begin(), issues.end(), same))
        issues.insert(issues.begin(), issue);
    m_shown.reset();
    m_afterEstimate = nullptr;
    m_panel->setIssues(issues);
    m_panel->setModelSummary(modelText(m_document.plan()));
    showFigures();
    m_verdict->setIssues(issues);
    const QString reason = tr("This plan cannot be estimated. %1").arg(issueText(issues.front()));
    m_chart->setEstimate(nullptr);
    m_hasRest = true;
    showRest();
    m_chart->setEmptyReason(reason);
    m_timeline->setEmptyReason(reason);
    resultChanged();
}

void MainWindow::baselineChanged()
{
    m_chart->setBaseline(m_document.baseline());
    m_timeline->setBaseline(m_document.baseline());
    m_actions->releaseBaseline->setEnabled(m_document.baseline() != nullptr);
}

void MainWindow::setStep(Estimate::Step step)
{
    m_step = step;
    (step == Estimate::Step::First ? m_actions->firstStep : m_actions->steadyState)->setChecked(true);
    m_verdict->setStep(step);
    m_chart->setStep(step);
    m_timeline->setStep(step);
    m_breakdown->setStep(step);
    m_settings.setStep(step);
}

void MainWindow::updateTitle()
{
    setWindowTitle(tr("%1[*] - Headroom").arg(m_document.title()));
    setWindowModified(m_document.isModified());
    setWindowFilePath(m_document.file());
}

void MainWindow::jumpTo(const QString &where)
{
    m_actions->panel->setChecked(true);
    if (where == QLatin1String("model") || where.startsWith(QLatin1String("model."))) {
        m_model->setFocus(Qt::OtherFocusReason);
        return;
    }
    // The path may go on below a field ("method.targets[2]"), or name nothing in the form.
    for (QString path = where; !path.isEmpty(); path.truncate(std::max<qsizetype>(0, path.lastIndexOf(QRegularExpression("[.[]")))))
        if (m_panel->reveal(path.toStdString()))
            return;
    statusBar()->showMessage(tr("%1 has no place in the form").arg(where), statusMs);
}

void MainWindow::loadSettings()
{
    resize(firstSize);
    restoreGeometry(m_settings.windowGeometry());
    const int panelWidth = m_panel->sizeHint().width();
    m_columns->setSizes({panelWidth, firstSize.width() - panelWidth});
    m_rows->setSizes({firstSize.height() / 2, firstSize.height() / 2});
    m_columns->restoreState(m_settings.splitter(QStringLiteral("columns")));
    m_rows->restoreState(m_settings.splitter(QStringLiteral("rows")));
    if (const QStringList folded = m_settings.foldedGroups(); !folded.isEmpty())
        m_panel->setFoldedGroups(folded);
    m_display.setUnit(m_settings.unit());
    (m_display.unit() == ByteUnit::Decimal ? m_actions->gb : m_actions->gib)->setChecked(true);
    setStep(m_settings.step());
}

void MainWindow::storeSettings()
{
    m_settings.setWindowGeometry(saveGeometry());
    m_settings.setSplitter(QStringLiteral("columns"), m_columns->saveState());
    m_settings.setSplitter(QStringLiteral("rows"), m_rows->saveState());
    m_settings.setFoldedGroups(m_panel->foldedGroups());
    m_settings.sync();
}

void MainWindow::closeEvent(QCloseEvent *event)
{
    if (!m_files->mayDiscard(true)) {
        event->ignore();
        return;
    }
    if (m_document.isModified())
        m_document.discardChanges();
    m_workingCopy.flush();
    storeSettings();
    event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent *event)
{
    if (!droppedFile(event->mimeData()).isEmpty())
        event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent *event)
{
    const QString file = droppedFile(event->mimeData());
    if (file.isEmpty())
        return;
    event->acceptProposedAction();
    m_files->open(file);
}

void MainWindow::changeEvent(QEvent *event)
{
    if (event->type() == QEvent::PaletteChange && m_actions)
        drawIcons();
    QMainWindow::changeEvent(event);
}

void MainWindow::about()
{
    QMessageBox::about(this, tr("About Headroom"),
                       tr("<h3>Headroom %1</h3><p>Plans the GPU memory of LLM training.</p>"
                          "<p>Free software under the GNU General Public License, version 3 or later.</p>")
                           .arg(QLatin1String(HEADROOM_VERSION)));
}

} // namespace headroom
