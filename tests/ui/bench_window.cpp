// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// bench_window [runs]: how long the command line takes for a plan, the window until its first painted chart, and a drag of the
// sequence slider from each change to the painted chart. Figures to look at, nothing is asserted; let nothing else run. Without
// QT_QPA_PLATFORM the offscreen platform is used.
#include "app/keep_memory.h"
#include "core/estimate/estimate.h"
#include "tests/core/bench_statistics.h"
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

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

extern char **environ;

namespace {

using namespace headroom;

constexpr const char *childOption = "--until-first-chart";
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

/// The window as the program makes it, with settings and working plan in a folder of its own.
class Session
{
public:
    explicit Session(const std::string &plan)
        : m_window([](const TrainingPlan &asked, std::stop_token cancel) { return estimate(asked, std::move(cancel)); },
                   {m_folder.filePath(QStringLiteral("headroom.ini")), m_folder.filePath(QStringLiteral("data")), {}})
    {
        m_window.start(QString::fromStdString(plan));
        m_window.resize(1280, 800);
        m_window.show();
    }

    MainWindow &window() { return m_window; }

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
    MainWindow m_window;
};

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

    std::vector<Time> times;
    for (int step = 1; step <= steps; ++step) {
        const std::int64_t before = session.window().document().plan().batch.sequenceLength;
        const bench::Stopwatch watch;
        const bench::ProcessorStopwatch processor;
        QTest::mouseMove(slider, slider->handleCentre(step));
        const std::int64_t wanted = session.window().document().plan().batch.sequenceLength;
        if (wanted == before)
            continue; // two stops on one pixel
        if (!session.waitForChart([wanted](const Estimate &e) { return e.plan.batch.sequenceLength == wanted; })) {
            std::printf("%s: no chart was painted for %lld tokens\n", name, static_cast<long long>(wanted));
            return;
        }
        times.push_back({watch.milliseconds(), processor.milliseconds()});
    }
    QTest::mouseRelease(slider, Qt::LeftButton, {}, slider->handleCentre(steps));
    std::printf("\n%s: drag of the sequence slider, ms from each change to the painted chart\n ", name);
    for (const Time &time : times)
        std::printf(" %.1f", time.wall);
    std::printf("\n");
    print("  all steps", times);
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

    const int runs = argc > 1 ? std::atoi(argv[1]) : 20;
    if (runs < 1) {
        std::fprintf(stderr, "bench_window: %s is no number of runs (bench_window [runs])\n", argv[1]);
        return 2;
    }
    reportProgram("command line: one plan's estimate", {HEADROOM_CLI, "estimate", example("qwen3-8b-lora-24gb")}, runs);
    reportProgram("window: from start to its first painted chart", {argv[0], childOption}, runs);
    QApplication app(argc, argv);
    for (const char *name : {"qwen3-8b-lora-24gb", "llama-3.1-8b-full-zero3-8xa100", "qwen2.5-0.5b-full-12gb"})
        reportDrag(name);
    return 0;
}
