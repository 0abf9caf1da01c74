// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// bench_window [runs]: how long the command line takes for a plan, the window until its first painted chart, and a drag of the
// sequence slider from each change to the painted chart, and of what these times are made. Figures to look at, nothing is
// asserted; let nothing else run. Without QT_QPA_PLATFORM the offscreen platform is used.
//
// bench_window --drag [runs]: the drags alone, that often. On a machine that does other things too, instructions tell more than
// milliseconds: valgrind --tool=callgrind --toggle-collect='*dragStep*' bench_window --drag 1 counts the window's, of all steps.
#include "app/keep_memory.h"
#include "core/estimate/estimate.h"
#include "tests/core/bench_statistics.h"
#include "tests/ui/chart_events.h"
#include "ui/charts/memory_chart.h"
#include "ui/panel/field_row.h"
#include "ui/panel/plan_panel.h"
#include "ui/panel/stop_slider.h"
#include "ui/window/main_window.h"

#include <QApplication>
#include <QEventLoop>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

extern char **environ;

namespace {

using namespace headroom;

constexpr const char *childOption = "--until-first-chart";
constexpr const char *dragOption = "--drag";
constexpr int timeout = 20'000; ///< ms: after that something is wrong

std::string example(const char *name) { return std::string(HEADROOM_SOURCE_DIR "/presets/examples/") + name + ".headroom.json"; }

/// One run's time in milliseconds: by the clock, and of processors, which other programs do not lengthen.
struct Time {
    double wall = 0.0, processor = 0.0;
};

void print(const char *what, const std::vector<Time> &times)
{
    std::vector<double> wall, processor;
    for (const Time &time : times) {
        wall.push_back(time.wall);
        processor.push_back(time.processor);
    }
    std::printf("%-56s best %6.1f  median %6.1f  p95 %6.1f ms   processor time: median %6.1f  p95 %6.1f ms  (%zu)\n", what,
                bench::quantile(wall, 0.0), bench::median(wall), bench::quantile(wall, 0.95), bench::median(processor),
                bench::quantile(processor, 0.95), times.size());
}

/// Runs a program to its end, its output thrown away; nothing where it failed.
std::optional<Time> runProgram(const std::vector<std::string> &arguments)
{
    std::vector<char *> argv;
    for (const std::string &argument : arguments)
        argv.push_back(const_cast<char *>(argument.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    const bench::Stopwatch watch;
    pid_t pid = 0;
    int status = -1;
    const bool started = posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    rusage used{};
    const bool ended = started && wait4(pid, &status, 0, &used) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    const double wall = watch.milliseconds();
    if (!ended)
        return {};
    const auto milliseconds = [](const timeval &t) { return 1e3 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_usec); };
    return Time{wall, milliseconds(used.ru_utime) + milliseconds(used.ru_stime)};
}

void reportProgram(const char *what, const std::vector<std::string> &arguments, int runs)
{
    std::vector<Time> times;
    for (int i = 0; i <= runs; ++i) { // the first fills the caches
        const std::optional<Time> time = runProgram(arguments);
        if (!time) {
            std::printf("%-56s failed: %s\n", what, arguments[0].c_str());
            return;
        }
        if (i > 0)
            times.push_back(*time);
    }
    print(what, times);
}

/// Moments of a step, in milliseconds of the clock of the session. Those of an estimate come from its thread.
struct Moments {
    std::atomic<double> estimateBegins{0.0}, estimateEnds{0.0};
    double resultComes = 0.0; ///< the window's thread takes the result
    double resultShown = 0.0; ///< the views have taken it
    double paintBegins = 0.0; ///< of the memory chart on the screen
};

/// Notes when the runner's result reaches the window's thread, and when the memory chart begins to paint.
class Watcher : public QObject
{
public:
    Watcher(const bench::Stopwatch &clock, Moments &moments)
        : m_clock(clock)
        , m_moments(moments)
    {}

    bool eventFilter(QObject *watched, QEvent *event) override
    {
        if (event->type() == QEvent::MetaCall && qobject_cast<EstimateRunner *>(watched))
            m_moments.resultComes = m_clock.milliseconds();
        else if (event->type() == QEvent::Paint)
            m_moments.paintBegins = m_clock.milliseconds();
        return false;
    }

private:
    const bench::Stopwatch &m_clock;
    Moments &m_moments;
};

/// The window as the program makes it, with settings and working plan in a folder of its own.
class Session
{
public:
    explicit Session(const std::string &plan)
        : m_watcher(m_clock, m_moments)
        , m_window(
              [this](const TrainingPlan &asked, std::stop_token cancel) {
                  m_moments.estimateBegins = m_clock.milliseconds();
                  auto outcome = estimate(asked, std::move(cancel));
                  m_moments.estimateEnds = m_clock.milliseconds();
                  return outcome;
              },
              {m_folder.filePath(QStringLiteral("headroom.ini")), m_folder.filePath(QStringLiteral("data")), {}})
    {
        m_window.runner().installEventFilter(&m_watcher);
        // Connected after the window's own: by now the views have it.
        QObject::connect(&m_window.runner(), &EstimateRunner::finished, &m_watcher,
                         [this] { m_moments.resultShown = m_clock.milliseconds(); });
        m_window.start(QString::fromStdString(plan));
        m_window.resize(1280, 800);
        m_window.show();
        samples::canvasOf(*m_window.memoryChart())->installEventFilter(&m_watcher);
    }

    MainWindow &window() { return m_window; }
    const bench::Stopwatch &clock() const { return m_clock; }
    const Moments &moments() const { return m_moments; }

    /// Runs the event loop until the memory chart has been painted with what `isShown` asks for.
    template<typename Condition>
    bool waitForChart(Condition isShown)
    {
        bool done = false;
        QEventLoop loop;
        const auto connection = QObject::connect(m_window.memoryChart(), &ChartWidget::painted, &loop, [&] {
            done = m_window.shown() && isShown(*m_window.shown());
            if (done)
                loop.quit();
        });
        QTimer::singleShot(timeout, &loop, &QEventLoop::quit);
        loop.exec();
        QObject::disconnect(connection);
        return done;
    }

private:
    QTemporaryDir m_folder;
    bench::Stopwatch m_clock;
    Moments m_moments;
    Watcher m_watcher;
    MainWindow m_window;
};

/// What a step's time is made of, in milliseconds. All but the estimate happens in the window's thread; what that does while the
/// estimate runs (the panel, and its painting) is part of the whole only where the estimate is there first.
struct Step {
    Time whole;
    double panel = 0.0;    ///< from the change until the window is done with it: form, undo, plan, request
    double request = 0.0;  ///< from the change until the estimate begins
    double estimate = 0.0; ///< its own time
    double handOver = 0.0; ///< from its end until the window's thread takes it
    double views = 0.0;    ///< until memory chart, verdict, notes and figures have taken it
    double draw = 0.0;     ///< until the chart begins to paint: its drawing, and what is painted before it
    double paint = 0.0;    ///< until it is painted
};

/// Moves the slider by a stop and waits for the chart; nothing where two stops lie on one pixel. A function of its own, which
/// callgrind can be told.
[[gnu::noinline]] std::optional<Step> dragStep(Session &session, StopSlider *slider, int stop, bool &wasPainted)
{
    const auto tokens = [&] { return session.window().document().plan().batch.sequenceLength; };
    const std::int64_t before = tokens();
    const double begin = session.clock().milliseconds();
    const bench::ProcessorStopwatch processor;
    QTest::mouseMove(slider, slider->handleCentre(stop));
    const double moved = session.clock().milliseconds();
    const std::int64_t wanted = tokens();
    if (wanted == before)
        return {};
    wasPainted = session.waitForChart([wanted](const Estimate &e) { return e.plan.batch.sequenceLength == wanted; });
    const double end = session.clock().milliseconds();
    const Moments &at = session.moments();
    return Step{{end - begin, processor.milliseconds()},
                moved - begin,
                at.estimateBegins - begin,
                at.estimateEnds - at.estimateBegins,
                at.resultComes - at.estimateEnds,
                at.resultShown - at.resultComes,
                at.paintBegins - at.resultShown,
                end - at.paintBegins};
}

void printParts(const std::vector<Step> &steps)
{
    struct Part {
        const char *name;
        double Step::*of;
    };
    constexpr Part parts[] = {{"panel", &Step::panel},       {"until the estimate begins", &Step::request},
                              {"estimate", &Step::estimate}, {"hand-over", &Step::handOver},
                              {"views", &Step::views},       {"drawing", &Step::draw},
                              {"painting", &Step::paint}};
    std::printf("  median of:");
    for (const Part &part : parts) {
        std::vector<double> times;
        for (const Step &step : steps)
            times.push_back(step.*part.of);
        std::printf("%s %s %.1f", &part == parts ? "" : ",", part.name, bench::median(times));
    }
    std::printf(" ms\n");
}

/// Presses the slider's handle and moves it over its stops, each time waiting for the chart.
void reportDrag(const char *name)
{
    Session session(example(name));
    if (!session.waitForChart([](const Estimate &) { return true; })) {
        std::printf("%s: no chart was painted\n", name);
        return;
    }
    PlanPanel *panel = session.window().panel();
    auto *slider = static_cast<StopSlider *>(panel->row("batch.sequence_length")->editor().slider());
    panel->ensureWidgetVisible(slider);
    QApplication::processEvents();
    constexpr int steps = 40;
    if (slider->maximum() < steps) {
        std::printf("%s: the slider has %d stops only\n", name, slider->maximum() + 1);
        return;
    }
    QTest::mousePress(slider, Qt::LeftButton, {}, slider->handleCentre(slider->value()));
    QTest::mouseMove(slider, slider->handleCentre(0));
    session.waitForChart(
        [&](const Estimate &e) { return e.plan.batch.sequenceLength == session.window().document().plan().batch.sequenceLength; });

    std::vector<Step> taken;
    for (int stop = 1; stop <= steps; ++stop) {
        bool wasPainted = true;
        const std::optional<Step> step = dragStep(session, slider, stop, wasPainted);
        if (!wasPainted) {
            std::printf("%s: no chart was painted for stop %d\n", name, stop);
            return;
        }
        if (step)
            taken.push_back(*step);
    }
    QTest::mouseRelease(slider, Qt::LeftButton, {}, slider->handleCentre(steps));
    std::printf("\n%s: drag of the sequence slider, ms from each change to the painted chart\n ", name);
    std::vector<Time> times;
    for (const Step &step : taken) {
        times.push_back(step.whole);
        std::printf(" %.1f", step.whole.wall);
    }
    std::printf("\n");
    print("  all steps", times);
    printParts(taken);
}

void reportDrags()
{
    for (const char *name : {"qwen3-8b-lora-24gb", "llama-3.1-8b-full-zero3-8xa100", "qwen2.5-0.5b-full-12gb"})
        reportDrag(name);
}

} // namespace

int main(int argc, char *argv[])
{
    keepFreedMemory(); // as the program does
    if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM"))
        qputenv("QT_QPA_PLATFORM", "offscreen");
    const bool isChild = argc == 2 && std::strcmp(argv[1], childOption) == 0;
    if (isChild) {
        QApplication app(argc, argv);
        Session session(example("qwen3-8b-lora-24gb"));
        const bool painted = session.waitForChart([](const Estimate &) { return true; });
        std::fflush(nullptr);
        _exit(painted ? 0 : 1); // what is torn down after the first chart is not start-up
    }

    const bool isDragAlone = argc > 1 && std::strcmp(argv[1], dragOption) == 0;
    const int last = isDragAlone ? 2 : 1;
    const int runs = argc > last ? std::atoi(argv[last]) : isDragAlone ? 1 : 20;
    if (runs < 1 || argc > last + 1) {
        std::fprintf(stderr, "bench_window: %s is no number of runs (bench_window [%s] [runs])\n", argv[argc - 1], dragOption);
        return 2;
    }
    if (isDragAlone) {
        QApplication app(argc, argv);
        for (int run = 0; run < runs; ++run)
            reportDrags();
        return 0;
    }
    reportProgram("command line: one plan's estimate", {HEADROOM_CLI, "estimate", example("qwen3-8b-lora-24gb")}, runs);
    reportProgram("window: from start to its first painted chart", {argv[0], childOption}, runs);
    QApplication app(argc, argv);
    reportDrags();
    return 0;
}
