// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/measure/comparison.h"
#include "ui/display_settings.h"
#include "ui/document/estimate_runner.h"
#include "ui/document/plan_document.h"
#include "ui/document/settings.h"
#include "ui/document/working_copy.h"
#include "ui/highlight.h"

#include <QElapsedTimer>
#include <QMainWindow>
#include <QTimer>

#include <deque>
#include <functional>

class QActionGroup;
class QLabel;
class QSplitter;
class QTabWidget;

namespace headroom {

class BreakdownView;
class ChartWidget;
class FileController;
class MeasuredRuns;
class MeasuredView;
class MemoryChart;
class MessageBar;
class ModelChooser;
class PlanPanel;
class ProbeProcess;
class TimelineChart;
class VerdictBar;
struct FileKind;

/// Where a window keeps what it keeps; tests use folders of their own.
struct WindowPaths {
    QString settingsFile; ///< INI file; empty: the user's own
    QString dataFolder;   ///< of the working plan; empty: the user's own
    QString probeProgram; ///< headroom-probe; empty: the one beside this program
};

/// The window: control -> command -> document -> background estimate -> one immutable result -> all views.
class MainWindow : public QMainWindow
{
    Q_OBJECT
public:
    explicit MainWindow(EstimateRunner::Function estimate, const WindowPaths &paths = {});
    ~MainWindow() override;

    /// Brings back the working plan of the last time, then opens `file` (empty: none) over it. Unsaved work that a file
    /// would replace is kept as a file of its own, which a message names.
    void start(const QString &file = {});

    PlanDocument &document() { return m_document; }
    EstimateRunner &runner() { return m_runner; }
    DisplaySettings &display() { return m_display; }
    Highlight &highlight() { return m_highlight; }
    PlanPanel *panel() const { return m_panel; }
    VerdictBar *verdict() const { return m_verdict; }
    MessageBar *messages() const { return m_messages; }
    MemoryChart *memoryChart() const { return m_chart; }
    TimelineChart *timeline() const { return m_timeline; }
    BreakdownView *breakdown() const { return m_breakdown; }
    ModelChooser *modelChooser() const { return m_model; }
    QTabWidget *tabs() const { return m_tabs; }
    MeasuredRuns *runs() const { return m_runs; }
    MeasuredView *measured() const { return m_measured; }
    ProbeProcess *probe() const { return m_probe; }
    /// Adds a result of the probe to the plan's runs and shows it; what is wrong with it is said in the message bar.
    bool importResult(const QString &file);
    /// Lays a memory snapshot over the timeline: a converted one now, a pickle once Python has read it, after what
    /// runs and the pickles that wait already. False: it did not come to that.
    bool openSnapshot(const QString &file);

    /// The result that the views show; null: none, or the plan cannot be estimated.
    const std::shared_ptr<const Estimate> &shown() const { return m_shown; }
    void setStep(Estimate::Step step);

protected:
    void closeEvent(QCloseEvent *event) override;
    void dragEnterEvent(QDragEnterEvent *event) override;
    void dropEvent(QDropEvent *event) override;
    void changeEvent(QEvent *event) override;

private:
    struct Actions;

    /// A pickle that is to be converted.
    struct WaitingSnapshot {
        QString file;
        QString planFile; ///< of the plan that it was opened for; empty: it has none
    };

    void makeActions();
    void makeMenus();
    void makeToolBar();
    void makeViews();
    void connectViews();
    void drawIcons();
    void loadSettings();
    void storeSettings();

    void requestEstimate();
    void planChanged();
    void showEstimate(std::shared_ptr<const Estimate> estimate);
    /// Shows the rest once there is time for it.
    void showRestSoon();
    /// The views below the memory chart, after it.
    void showRest();
    /// There is a result now, or none: what can be done with one.
    void resultChanged();
    void showFigures();
    void showIssue(const Issue &issue);
    void baselineChanged();
    void updateTitle();
    void jumpTo(const QString &where);
    void exportReport();
    void exportBreakdown();
    void savePictureOf(ChartWidget *chart);
    void saveTableOf(ChartWidget *chart);
    /// Asks for a file and writes what the views show into it; what goes wrong is said in the message bar.
    void writeShown(const QString &title, const std::vector<FileKind> &kinds,
                    const std::function<std::optional<Issue>(const QString &)> &write);
    void connectMeasuring();
    void measure(MeasureSettings::How how);
    /// Keeps what was measured and could not be stored with its plan. Returns its file; empty: it is not kept.
    QString keepElsewhere(const QString &file, const QString &name) const;
    /// Says why it could not be stored, and where it lies.
    void reportNotKept(const Issue &issue, QStringList kept);
    void chooseAndImport();
    void chooseAndOpenSnapshot();
    bool convertSnapshot(const WaitingSnapshot &snapshot);
    void convertNext();
    void removeSnapshot();
    /// The chosen snapshot on the timeline, or none.
    void showSnapshot();
    void removeRun();
    void takePlanOfRun();
    void exportComparison();
    /// Lays the chosen run beside an estimate of the plan as it is; without a run the marks go.
    void requestComparison();
    /// Does it once the comparison with the plan as it is stands in the tab.
    void whenCompared(std::function<void()> action);
    void showComparison(const std::shared_ptr<const Estimate> &estimate);
    /// All runs beside estimates of the plan, for the report.
    std::vector<MeasuredRun> measuredRuns() const;
    void about();
    /// Puts what is being typed into the plan.
    void commitEdits();
    /// Does it once the result of the plan as it is stands in the views; not at all where the plan has none.
    void whenShown(std::function<void()> action);
    /// True: the document now holds work that was never saved.
    bool bringBackWork();
    void offer(LeftWork work);
    /// False: it could not be written, and must not be replaced.
    bool keepUnsavedWork();

    Settings m_settings;
    QString m_dataFolder;
    PlanDocument m_document;
    WorkingCopy m_workingCopy;
    DisplaySettings m_display;
    Highlight m_highlight;
    EstimateRunner m_runner;
    EstimateRunner::Function m_estimate; ///< for the report's runs, made when it is written
    EstimateRunner m_comparer;           ///< of the plan as the chosen run took it
    std::shared_ptr<const Estimate> m_shown;
    bool m_hasRest = false; ///< only the memory chart has m_shown yet
    QTimer m_rest;
    QElapsedTimer m_restWaits; ///< since the views below began to lag behind
    Estimate::Step m_step = Estimate::Step::Steady;
    std::function<void()> m_afterComparison; ///< as m_afterEstimate
    std::function<void()> m_afterEstimate;   ///< waits for the result that is being calculated
    QTimer m_slowEstimate;                   ///< says that an estimate takes its time, not before it does

    std::unique_ptr<Actions> m_actions;
    FileController *m_files = nullptr;
    MessageBar *m_messages = nullptr;
    ModelChooser *m_model = nullptr;
    PlanPanel *m_panel = nullptr;
    VerdictBar *m_verdict = nullptr;
    MemoryChart *m_chart = nullptr;
    TimelineChart *m_timeline = nullptr;
    BreakdownView *m_breakdown = nullptr;
    QString m_hiddenSnapshot; ///< the file of the one that was drawn before it was switched off
    QString m_measuredName;   ///< of the run that is being measured, for its snapshot
    QString m_measuredFile;   ///< of the plan that is being measured; empty: it had none
    std::deque<WaitingSnapshot> m_waitingSnapshots;
    MeasuredRuns *m_runs = nullptr;
    MeasuredView *m_measured = nullptr;
    ProbeProcess *m_probe = nullptr;
    QTabWidget *m_tabs = nullptr;
    QSplitter *m_columns = nullptr;
    QSplitter *m_rows = nullptr;
    QLabel *m_busy = nullptr;
    QLabel *m_figures = nullptr;
};

} // namespace headroom
