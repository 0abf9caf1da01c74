// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
//
// headroom [plan]                  the window
// headroom --export FILE PLAN      a report or a picture, without a display
#include "app/exit_status.h"
#include "app/keep_memory.h"
#include "core/estimate/estimate.h"
#include "core/measure/comparison.h"
#include "core/measure/memory_timeline.h"
#include "core/measure/probe_result.h"
#include "core/plan/plan_json.h"
#include "ui/document/plan_files.h"
#include "ui/export/exporter.h"
#include "ui/window/main_window.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QFileInfo>
#include <QHashSeed>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace {

using namespace headroom;

constexpr const char *exitStatuses = R"(
Exit status:
  0  done
  2  bad input; standard error says in which file, where, what is wrong and how to mend it
  3  FILE or standard output could not be written
)";

void complain(const QString &text) { std::fprintf(stderr, "headroom: %s\n", qPrintable(text)); }

/// On standard output, for --help and --version. Returns the exit status.
int say(const QString &text)
{
    const QByteArray bytes = text.toLocal8Bit();
    if (std::fwrite(bytes.constData(), 1, static_cast<std::size_t>(bytes.size()), stdout) == static_cast<std::size_t>(bytes.size()) &&
        std::fflush(stdout) == 0)
        return Success;
    complain(QStringLiteral("cannot write to standard output: %1").arg(QString::fromLocal8Bit(std::strerror(errno))));
    return OutputFailed;
}

bool isGiven(int argc, char *argv[], const char *option)
{
    const std::size_t length = std::strlen(option);
    for (int i = 1; i < argc; ++i)
        if (std::strncmp(argv[i], option, length) == 0 && (argv[i][length] == '\0' || argv[i][length] == '='))
            return true;
    return false;
}

bool hasDisplay()
{
#if defined(Q_OS_LINUX) || defined(Q_OS_FREEBSD)
    return !qEnvironmentVariableIsEmpty("DISPLAY") || !qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY") ||
           !qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM");
#else
    return true;
#endif
}

int exportPlan(const QString &target, const QString &planFile, const QStringList &results, ByteUnit unit)
{
    if (const auto issue = checkExportName(target)) {
        complain(QStringLiteral("--export: ") + issueText(*issue));
        return BadInput;
    }
    const QFileInfo plansPlace(planFile);
    if (plansPlace.exists() && plansPlace.canonicalFilePath() == QFileInfo(target).canonicalFilePath()) {
        complain(QStringLiteral("%1: is the plan itself (choose another name for what is exported)").arg(target));
        return BadInput;
    }
    const auto opened = openPlanOrConfig(planFile);
    if (!opened) {
        complain(issueText(opened.issue()));
        return BadInput;
    }
    TrainingPlan plan = opened->plan;
    if (opened->kind == OpenedFile::Kind::Config) {
        // A model alone is planned as a first start plans it.
        plan = startPlan();
        plan.name.clear();
        plan.model = opened->plan.model;
    }
    const auto result = estimate(plan);
    if (!result) {
        Issue issue = result.issue();
        if (issue.file.empty()) {
            issue.file = planFile.toStdString();
            issue.line = opened->kind == OpenedFile::Kind::Plan ? lineOf(opened->text, issue.where) : 0;
        }
        complain(issueText(issue));
        return BadInput;
    }
    std::vector<MeasuredRun> runs;
    for (const QString &file : results) {
        const auto measured = readProbeFile(file.toStdString());
        const auto predicted =
            measured ? estimate(planToCompare(plan, *measured).plan) : Result<std::shared_ptr<const Estimate>>(measured.issue());
        if (!predicted) {
            complain(issueText(predicted.issue()));
            return BadInput;
        }
        runs.push_back(
            {QFileInfo(file).fileName().toStdString() + " (" + probeTitle(*measured) + ")", compare(**predicted, plan, *measured)});
    }
    if (const auto issue = exportTo(target, *result, nullptr, unit, runs)) {
        complain(issueText(*issue));
        return OutputFailed;
    }
    return Success;
}

} // namespace

int main(int argc, char *argv[])
{
    headroom::keepFreedMemory();
    const bool exports = isGiven(argc, argv, "--export");
    const bool asks =
        isGiven(argc, argv, "--help") || isGiven(argc, argv, "-h") || isGiven(argc, argv, "--version") || isGiven(argc, argv, "-v");
    const bool display = hasDisplay();
    if (exports || asks)
        qputenv("QT_QPA_PLATFORM", "offscreen");
    if (exports)
        QHashSeed::setDeterministicGlobalSeed(); // the same plan gives the same bytes
    if (!display && !exports && !asks) {
        complain(QStringLiteral("there is no display to open a window on; use --export FILE PLAN, or headroom-cli"));
        return BadInput;
    }

    QApplication app(argc, argv);
    QApplication::setApplicationName(QStringLiteral("headroom"));
    QApplication::setApplicationDisplayName(QStringLiteral("Headroom"));
    QApplication::setApplicationVersion(QStringLiteral(HEADROOM_VERSION));
    QApplication::setDesktopFileName(QStringLiteral("org.headroom.Headroom"));

    QCommandLineParser parser;
    parser.setApplicationDescription(
        QStringLiteral("Plans the GPU memory of LLM training.\n\n"
                       "  headroom                                      open the window\n"
                       "  headroom plan.headroom.json                   open a plan, or a Hugging Face config.json\n"
                       "  headroom plan.headroom.json run.headroom-probe.json\n"
                       "                                                with what was measured beside it\n"
                       "  headroom plan.headroom.json memory.pickle     with a memory snapshot of PyTorch over the timeline\n"
                       "  headroom --export report.pdf plan.headroom.json\n"
                       "                                                write the report without a display"));
    parser.addHelpOption();
    parser.addVersionOption();
    const QCommandLineOption exportOption(QStringLiteral("export"), QStringLiteral("Write FILE (.pdf, .png or .svg) and end."),
                                          QStringLiteral("FILE"));
    const QCommandLineOption decimalOption(QStringLiteral("gb"), QStringLiteral("Write sizes in GB (10^9 bytes) instead of GiB."));
    parser.addOption(exportOption);
    parser.addOption(decimalOption);
    parser.addPositionalArgument(QStringLiteral("plan"), QStringLiteral("A *.headroom.json file or a config.json."),
                                 QStringLiteral("[PLAN]"));
    parser.addPositionalArgument(QStringLiteral("result"),
                                 QStringLiteral("Results of the probe (*.headroom-probe.json) and memory snapshots."),
                                 QStringLiteral("[RESULT...]"));
    if (!parser.parse(QApplication::arguments())) {
        complain(parser.errorText() + QStringLiteral(" (headroom --help lists what is understood)"));
        return BadInput;
    }
    if (parser.isSet(QStringLiteral("help")))
        return say(parser.helpText() + QLatin1String(exitStatuses));
    if (parser.isSet(QStringLiteral("version")))
        return say(QApplication::applicationName() + QLatin1Char(' ') + QApplication::applicationVersion() + QLatin1Char('\n'));

    QStringList plans, results, snapshots;
    for (const QString &file : parser.positionalArguments()) {
        const MeasuredFile kind = measuredFileOf(file.toStdString());
        (kind == MeasuredFile::Other ? plans : kind == MeasuredFile::Result ? results : snapshots).append(file);
    }
    const ByteUnit unit = parser.isSet(decimalOption) ? ByteUnit::Decimal : ByteUnit::Binary;
    if (plans.size() > 1 || (exports && plans.size() != 1)) {
        complain(exports ? QStringLiteral("--export takes exactly one plan (headroom --export FILE PLAN [RESULT...])")
                         : QStringLiteral("only one plan can be opened at a time"));
        return BadInput;
    }
    if (exports && !snapshots.isEmpty()) {
        complain(QStringLiteral("%1: a memory snapshot has no place in what is exported (open it in the window)").arg(snapshots.first()));
        return BadInput;
    }
    if (exports)
        return exportPlan(parser.value(exportOption), plans.first(), results, unit);

    MainWindow window([](const TrainingPlan &plan, std::stop_token cancel) { return estimate(plan, std::move(cancel)); });
    window.start(plans.value(0));
    for (const QString &result : results)
        window.importResult(result);
    for (const QString &snapshot : snapshots)
        window.openSnapshot(snapshot);
    window.show();
    return QApplication::exec();
}
