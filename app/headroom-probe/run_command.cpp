// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-probe/child_process.h"
#include "app/headroom-probe/commands.h"
#include "app/headroom-probe/messages.h"
#include "app/headroom-probe/probe_files.h"
#include "app/headroom-probe/python_side.h"
#include "app/headroom-probe/remote_script.h"
#include "app/output_file.h"
#include "core/measure/probe_result.h"
#include "core/model/catalogue.h"
#include "core/plan/fields.h"
#include "core/plan/plan_json.h"
#include "core/units/strict_json.h"
#include "core/units/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <tuple>

#include <unistd.h>

namespace headroom::probe {

namespace {

constexpr std::size_t largestResult = std::size_t{16} << 20;

/// The plan as the Python side reads it: every field, the model's config.json within it.
struct CompletePlan {
    std::string text;
    std::int64_t ranks = 1;       ///< processes of a run on GPUs: the Python side knows data parallelism alone
    std::filesystem::path config; ///< the file that it names for its model; empty: none
};

Result<CompletePlan> completePlan(const std::string &file)
{
    Result<TrainingPlan> plan = readPlanFile(file);
    if (!plan)
        return plan.issue();
    if (std::vector<Issue> issues = validate(*plan); !issues.empty()) {
        issues.front().file = file;
        return std::move(issues.front());
    }
    std::filesystem::path configFile;
    if (!plan->model.configPath.empty()) {
        const std::filesystem::path path = plan->folder / plan->model.configPath;
        const Result<std::string> text = readTextFile(path);
        const Result<JsonValue> config = text ? parseJson(*text) : Result<JsonValue>(text.issue());
        if (!config) {
            Issue issue = config.issue();
            issue.file = path.string();
            return issue;
        }
        plan->model = {{}, writeJson(*config), {}};
        configFile = path;
    } else if (plan->model.config.empty()) {
        const ModelPreset *preset = findModelPreset(plan->model.preset);
        if (preset == nullptr || preset->configText.empty())
            return Issue{file, 0, "model.preset", fmt::format("no preset is called \"{}\"", excerpt(plan->model.preset)),
                         "headroom-cli presets lists them; or give the model's config.json as config_path"};
        plan->model = {{}, preset->configText, {}};
    }
    return CompletePlan{writePlan(*plan, PlanStyle::Complete, true), plan->parallel.data, configFile};
}

/// That a run would write over what it is made from, or twice to one file: found before it, for the plan would be lost.
/// `arguments`: with links followed; `asked`: as the user named them.
std::optional<Issue> checkApart(const RunArguments &arguments, const RunArguments &asked, const CompletePlan &plan)
{
    const std::int64_t ranks = arguments.dryRun ? 1 : plan.ranks;
    std::set<std::filesystem::path> taken;
    std::error_code error;
    for (const auto &[file, named] : {std::tuple(&arguments.output, &asked.output), std::tuple(&arguments.snapshot, &asked.snapshot)})
        for (int rank = 0; rank < ranks && !file->empty(); ++rank) {
            const std::filesystem::path target = fileOfRank(*file, rank);
            const std::string shown = rank == 0 ? *named : target.string();
            for (const auto &[source, what] : {std::tuple(std::filesystem::path(arguments.plan), "is the plan itself"),
                                               std::tuple(plan.config, "is the plan's config.json")})
                if (!source.empty() && std::filesystem::equivalent(source, target, error))
                    return Issue{shown, 0, {}, what, "name another file for what is measured"};
            const std::filesystem::path place = std::filesystem::weakly_canonical(target, error);
            if (!taken.insert(error ? target : place).second)
                return Issue{shown, 0, {}, "is the result's file too", "name another file for the snapshot"};
        }
    return std::nullopt;
}

/// What came of a run: the files that each rank wrote.
struct Written {
    std::map<int, std::string> results, snapshots;
    bool isCut = false; ///< there was more than is taken
};

constexpr const char *resultName = "result.headroom-probe.json";
constexpr const char *snapshotName = "snapshot.pickle";

std::vector<std::string> optionsOf(const RunArguments &arguments)
{
    std::vector<std::string> options = {"--steps", std::to_string(arguments.steps)};
    if (arguments.dryRun)
        options.emplace_back("--dry-run");
    return options;
}

/// Writes one rank's result, if it is one, and says what it holds.
int keepResult(const std::filesystem::path &file, const std::string &written, bool &isOutOfMemory)
{
    const Result<ProbeResult> result = readProbeResult(written);
    if (!result) {
        complain(fmt::format("what the probe wrote is no result: {}", toString(result.issue())));
        return NotAvailable;
    }
    if (std::optional<Issue> issue = writeFile(file, written)) {
        complain(toString(*issue));
        keepElsewhere(written);
        return NotAvailable;
    }
    isOutOfMemory = result->error && result->error->outOfMemory();
    std::string text = fmt::format("{}: {}", file.string(), probeTitle(*result));
    if (result->error)
        text += fmt::format("; {}", isOutOfMemory ? "out of memory" : "broke off: " + excerpt(result->error->message, 200));
    Bytes allocated;
    for (const ProbeStep &step : result->steps)
        allocated = std::max(allocated, step.allocated);
    if (!result->steps.empty())
        text += fmt::format("; {} allocated at most in {} steps", formatBytes(allocated), result->steps.size());
    print(excerpt(text, 2000) + "\n");
    return Success;
}

/// Writes what a run left where it was to go. `status`: what it ended with.
int keep(const RunArguments &arguments, const Written &written, std::int64_t ranks, int status)
{
    bool hasAnyDied = false;
    for (const auto &[rank, text] : written.results) {
        bool isOutOfMemory = false;
        if (const int failed = keepResult(fileOfRank(arguments.output, rank), text, isOutOfMemory); failed != Success)
            return failed;
        hasAnyDied = hasAnyDied || isOutOfMemory;
    }
    const auto came = static_cast<std::int64_t>(written.results.size());
    if (came < ranks)
        complain(
            fmt::format("{} of {} ranks wrote a result{}", came, ranks, hasAnyDied ? ": where memory ran out, the others were ended" : ""));
    const auto recorded = static_cast<std::int64_t>(written.snapshots.size());
    if (!arguments.snapshot.empty() && recorded < ranks)
        complain(recorded > 0
                     ? fmt::format("{} of {} ranks left a snapshot: {}", recorded, ranks,
                                   written.isCut ? "the others were too large to be kept" : "the others ended before one was taken")
                 : written.isCut ? "the snapshot was too large to be kept (1 GiB at most)"
                                 : "the run ended before a snapshot was taken");
    if (!arguments.snapshot.empty())
        for (const auto &[rank, text] : written.snapshots)
            if (std::optional<Issue> issue = writeFile(fileOfRank(arguments.snapshot, rank), text)) {
                complain(toString(*issue));
                return NotAvailable;
            }
    // Of one rank and of several alike, running out of memory is a result.
    return hasAnyDied ? Success : status;
}

/// `python -m torch.distributed.run` with the probe in the place of a training script.
std::vector<std::string> launcher(std::int64_t ranks)
{
    return {"-m", "torch.distributed.run", "--standalone", "--nproc-per-node", std::to_string(ranks)};
}

int runHere(const RunArguments &arguments, const std::filesystem::path &probeFile, const CompletePlan &plan)
{
    const Result<TemporaryFolder> folder = TemporaryFolder::make();
    if (!folder) {
        complain(toString(folder.issue()));
        return NotAvailable;
    }
    const std::string planFile = folder->path() / "plan.headroom.json";
    if (std::optional<Issue> issue = writeFile(planFile, plan.text)) {
        complain(toString(*issue));
        return NotAvailable;
    }
    // The result takes its name only here: what stands there already is not taken for a new one.
    const std::filesystem::path resultFile = folder->path() / resultName, snapshotFile = folder->path() / snapshotName;
    const bool isSeveral = plan.ranks > 1 && !arguments.dryRun;
    ChildOptions options;
    options.errorLine = showLines({{planFile, arguments.plan, true},
                                   {resultFile, arguments.output},
                                   {snapshotFile, arguments.snapshot},
                                   {resultName, std::filesystem::path(arguments.output).filename()},
                                   {snapshotName, std::filesystem::path(arguments.snapshot).filename()}},
                                  isSeveral);
    const auto start = [&](const std::vector<std::string> &before, const std::vector<std::string> &after) {
        std::vector<std::string> command = {arguments.python};
        command.insert(command.end(), before.begin(), before.end());
        command.push_back(probeFile);
        command.insert(command.end(), after.begin(), after.end());
        Result<ChildEnd> end = runChild(command, options);
        if (!end)
            complain(fmt::format("{} (name the Python that has PyTorch with --python)", toString(end.issue())));
        return end;
    };
    if (isSeveral) { // once and with one message, not by each rank
        const Result<ChildEnd> checked = start({}, {"check", planFile});
        if (!checked)
            return NotAvailable;
        if (checked->interrupted || checked->signal != 0 || checked->status != 0)
            return conclude(*checked, arguments.python, false);
    }
    std::vector<std::string> run = {"run", planFile, "--output", resultFile};
    for (std::string &option : optionsOf(arguments))
        run.push_back(std::move(option));
    if (!arguments.snapshot.empty()) {
        run.emplace_back("--snapshot");
        run.push_back(snapshotFile);
    }
    const Result<ChildEnd> end = start(isSeveral ? launcher(plan.ranks) : std::vector<std::string>(), run);
    if (!end)
        return NotAvailable;
    Written written;
    const std::int64_t ranks = isSeveral ? plan.ranks : 1;
    for (int rank = 0; rank < ranks; ++rank)
        for (const auto &[file, texts, most] :
             {std::tuple(&resultFile, &written.results, largestResult), std::tuple(&snapshotFile, &written.snapshots, largestSnapshot)})
            if (const auto name = fileOfRank(*file, rank); std::filesystem::is_regular_file(name)) {
                std::error_code error;
                if (texts == &written.snapshots && std::filesystem::file_size(name, error) > most && !error) {
                    written.isCut = true; // the results are worth keeping without it
                    continue;
                }
                Result<std::string> text = readTextFile(name, most);
                if (!text) {
                    complain(toString(text.issue()));
                    return NotAvailable;
                }
                texts->emplace(rank, std::move(text).value());
            }
    const int status = conclude(*end, arguments.python, !written.results.empty());
    return status > Failed || written.results.empty() ? status : keep(arguments, written, ranks, status);
}

int runThere(const RunArguments &arguments, const std::string &probe, const CompletePlan &plan)
{
    const std::int64_t ranks = arguments.dryRun ? 1 : plan.ranks;
    RemoteRun remote{probe.size(), plan.text.size(), arguments.python, ranks > 1 ? launcher(ranks) : std::vector<std::string>(),
                     optionsOf(arguments)};
    if (!arguments.snapshot.empty()) {
        remote.options.emplace_back("--snapshot");
        remote.options.emplace_back(snapshotName);
    }
    const std::string input = probe + plan.text;
    std::string output;
    Written written;
    ChildOptions options;
    options.input = input;
    options.ownGroup = false; // ssh may ask for a passphrase on the terminal
    options.endByInput = true;
    options.errorLine = showLines({{"plan.headroom.json", arguments.plan, true},
                                   {resultName, std::filesystem::path(arguments.output).filename()},
                                   {snapshotName, std::filesystem::path(arguments.snapshot).filename()}},
                                  ranks > 1);
    options.output = [&](std::string_view text) {
        written.isCut = written.isCut || output.size() + text.size() > largestSnapshot;
        if (!written.isCut)
            output += text;
    };
    report(fmt::format("connecting to {}", arguments.host));
    std::vector<std::string> command = {"ssh", "-T"};
    if (isatty(STDIN_FILENO) == 0)
        command.insert(command.end(), {"-o", "BatchMode=yes"}); // there is nobody to ask
    command.insert(command.end(), {"--", arguments.host, remoteCommand(remote)});
    const Result<ChildEnd> end = runChild(command, options);
    if (!end) {
        complain(fmt::format("{} (install OpenSSH's client)", toString(end.issue())));
        return NotAvailable;
    }
    if (!end->interrupted && end->status == 255) {
        complain(fmt::format("ssh could not reach {}, or the connection broke (does `ssh {}` work?)", arguments.host, arguments.host));
        return NotAvailable;
    }
    const std::vector<RemoteFile> files = remoteFiles(output);
    for (int rank = 0; rank < ranks; ++rank)
        for (const RemoteFile &file : files) {
            if (file.name == fileOfRank(resultName, rank))
                written.results.emplace(rank, file.text);
            if (file.name == fileOfRank(snapshotName, rank))
                written.snapshots.emplace(rank, file.text);
        }
    const int status = conclude(*end, fmt::format("the probe on {}", arguments.host), !written.results.empty());
    return status > Failed || written.results.empty() ? status : keep(arguments, written, ranks, status);
}

} // namespace

int runRun(const RunArguments &asked)
{
    RunArguments arguments = asked;
    for (std::string *file : {&arguments.output, &arguments.snapshot})
        *file = throughLink(*file);
    if (!arguments.host.empty())
        for (const std::optional<Issue> &issue : {checkHost(arguments.host), checkRemotePath("--python", arguments.python)})
            if (issue) {
                complain(toString(*issue));
                return BadInput;
            }
    const Result<CompletePlan> plan = completePlan(arguments.plan);
    if (!plan) {
        complain(toString(plan.issue()));
        return BadInput;
    }
    if (const std::optional<Issue> issue = checkApart(arguments, asked, *plan)) {
        complain(toString(*issue));
        return BadInput;
    }
    for (const std::string &file : {arguments.output, arguments.snapshot})
        if (std::optional<Issue> issue = file.empty() ? std::nullopt : checkWritable(file)) {
            complain(toString(*issue));
            return NotAvailable;
        }
    const Result<std::filesystem::path> probeFile = findPythonSide(arguments.probeFile);
    const Result<std::string> probe = probeFile ? readPythonSide(*probeFile) : Result<std::string>(probeFile.issue());
    if (!probe) {
        complain(toString(probe.issue()));
        return NotAvailable;
    }
    return arguments.host.empty() ? runHere(arguments, *probeFile, *plan) : runThere(arguments, *probe, *plan);
}

} // namespace headroom::probe
