// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/headroom-probe/child_process.h"
#include "app/headroom-probe/commands.h"
#include "app/headroom-probe/messages.h"
#include "app/headroom-probe/remote_script.h"
#include "core/measure/probe_result.h"
#include "core/model/catalogue.h"
#include "core/plan/fields.h"
#include "core/plan/plan_json.h"
#include "core/units/strict_json.h"
#include "core/units/text.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace headroom::probe {

namespace {

constexpr std::size_t largestProbe = std::size_t{16} << 20;
constexpr std::size_t largestAnswer = std::size_t{1} << 30; ///< result and snapshot from another machine

/// A folder that is gone when this goes.
class TemporaryFolder
{
public:
    static Result<TemporaryFolder> make()
    {
        std::error_code error;
        const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
        std::string name = ((error ? std::filesystem::path("/tmp") : parent) / "headroom-probe.XXXXXXXX").string();
        if (mkdtemp(name.data()) == nullptr)
            return Issue{
                name, 0, {}, fmt::format("cannot be made: {}", std::strerror(errno)), "set TMPDIR to a folder that can be written"};
        return TemporaryFolder(name);
    }
    TemporaryFolder(TemporaryFolder &&other) noexcept
        : m_path(std::exchange(other.m_path, {}))
    {}
    TemporaryFolder &operator=(TemporaryFolder &&) = delete;
    ~TemporaryFolder()
    {
        std::error_code ignored;
        if (!m_path.empty())
            std::filesystem::remove_all(m_path, ignored);
    }
    const std::filesystem::path &path() const { return m_path; }

private:
    explicit TemporaryFolder(std::filesystem::path path)
        : m_path(std::move(path))
    {}
    std::filesystem::path m_path;
};

/// Through a file beside it, so that a half-written one never bears the name.
std::optional<Issue> writeFile(const std::filesystem::path &file, std::string_view text)
{
    std::string partial = file.string() + ".XXXXXX";
    const int descriptor = mkstemp(partial.data());
    const auto failed = [&] {
        const Issue issue{file.string(),
                          0,
                          {},
                          fmt::format("cannot be written: {}", std::strerror(errno)),
                          "choose a folder that exists and can be written"};
        if (descriptor >= 0) {
            ::close(descriptor);
            ::unlink(partial.c_str());
        }
        return issue;
    };
    if (descriptor < 0)
        return failed();
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written > 0)
            text.remove_prefix(static_cast<std::size_t>(written));
        else if (errno != EINTR)
            return failed();
    }
    const mode_t mask = ::umask(0);
    ::umask(mask);
    if (::fchmod(descriptor, 0666 & ~mask) != 0 || ::rename(partial.c_str(), file.c_str()) != 0)
        return failed();
    ::close(descriptor);
    return std::nullopt;
}

/// The plan as the Python side reads it: every field, the model's config.json within it.
Result<std::string> completePlan(const std::string &file)
{
    Result<TrainingPlan> plan = readPlanFile(file);
    if (!plan)
        return plan.issue();
    if (std::vector<Issue> issues = validate(*plan); !issues.empty()) {
        issues.front().file = file;
        return std::move(issues.front());
    }
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
    } else if (plan->model.config.empty()) {
        const ModelPreset *preset = findModelPreset(plan->model.preset);
        if (preset == nullptr || preset->configText.empty())
            return Issue{file, 0, "model.preset", fmt::format("no preset is called \"{}\"", excerpt(plan->model.preset)),
                         "headroom-cli presets lists them; or give the model's config.json as config_path"};
        plan->model = {{}, preset->configText, {}};
    }
    return writePlan(*plan, PlanStyle::Complete, true);
}

/// The Python side, which lies in share/headroom beside the folder of this program.
std::filesystem::path probeFileOf(const RunArguments &arguments)
{
    if (!arguments.probeFile.empty())
        return arguments.probeFile;
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    return program.parent_path().parent_path() / "share/headroom/headroom_probe.pyz";
}

/// Progress as the Python side writes it: {"step", "phase", "text"}; anything else is shown as it is.
void showLine(std::string_view line)
{
    if (line.starts_with('{')) {
        const Result<JsonValue> json = parseJson(line);
        const JsonValue *text = json ? json->find("text") : nullptr;
        if (text != nullptr && text->string() != nullptr) {
            report(*text->string());
            return;
        }
    }
    if (!line.empty())
        report(line);
}

/// What our exit status is, and what is said, when the Python side has ended.
int concludeLocal(const ChildEnd &end, const std::string &program, bool resultThere)
{
    if (end.interrupted) {
        complain("interrupted; nothing was written");
        return Interrupted;
    }
    if (end.signal != 0) {
        complain(fmt::format("{} was ended by signal {} ({}){}", program, end.signal, strsignal(end.signal),
                             end.signal == 9 ? ": does the machine's main memory suffice?" : ""));
        return Failed;
    }
    if ((end.status == 0 || end.status == 1) && !resultThere) {
        complain(fmt::format("{} ended with status {} and wrote no result", program, end.status));
        return Failed;
    }
    return end.status == 0 || end.status == 1 || end.status == 2 || end.status == 3 || end.status == 130 ? end.status : Failed;
}

std::vector<std::string> optionsOf(const RunArguments &arguments)
{
    std::vector<std::string> options = {"--steps", std::to_string(arguments.steps)};
    if (arguments.dryRun)
        options.emplace_back("--dry-run");
    return options;
}

/// Says now what would else be said after an hour of measuring.
std::optional<Issue> checkWritable(const std::filesystem::path &file)
{
    std::error_code ignored;
    if (const auto status = std::filesystem::status(file, ignored); std::filesystem::exists(status) && !is_regular_file(status))
        return Issue{file.string(), 0, {}, is_directory(status) ? "is a folder" : "is no regular file", "name a file"};
    std::string beside = file.string() + ".XXXXXX";
    const int opened = mkstemp(beside.data());
    if (opened < 0)
        return Issue{file.string(), 0, {}, fmt::format("cannot be written ({})", std::strerror(errno)), "name a file in a folder of yours"};
    close(opened);
    unlink(beside.c_str());
    return std::nullopt;
}

/// What could not be written where it was to go is kept elsewhere, if at all possible: it was dearly measured.
void keepElsewhere(std::string_view text)
{
    std::string kept = (std::filesystem::temp_directory_path() / "result-XXXXXX.headroom-probe.json").string();
    const int opened = mkstemps(kept.data(), static_cast<int>(std::string_view(".headroom-probe.json").size()));
    if (opened < 0)
        return;
    close(opened);
    if (!writeFile(kept, text))
        complain(fmt::format("the result is kept as {}", kept));
}

/// Writes the result, if it is one, and says what it holds.
int keepResult(const std::string &file, const std::string &written, int status)
{
    const Result<ProbeResult> result = readProbeResult(written);
    if (!result) {
        complain(fmt::format("what the probe wrote is no result: {}", toString(result.issue())));
        return Failed;
    }
    if (std::optional<Issue> issue = writeFile(file, written)) {
        complain(toString(*issue));
        keepElsewhere(written);
        return NotAvailable;
    }
    std::string text = fmt::format("{}: {}", file, probeTitle(*result));
    if (result->error)
        text += fmt::format("; {}", result->error->outOfMemory() ? "out of memory" : "broke off: " + excerpt(result->error->message, 200));
    Bytes allocated;
    for (const ProbeStep &step : result->steps)
        allocated = std::max(allocated, step.allocated);
    if (!result->steps.empty())
        text += fmt::format("; {} allocated at most in {} steps", formatBytes(allocated), result->steps.size());
    print(excerpt(text, 2000) + "\n");
    return status;
}

int runHere(const RunArguments &arguments, const std::filesystem::path &probeFile, const std::string &plan)
{
    const Result<TemporaryFolder> folder = TemporaryFolder::make();
    if (!folder) {
        complain(toString(folder.issue()));
        return NotAvailable;
    }
    const std::filesystem::path planFile = folder->path() / "plan.headroom.json";
    if (std::optional<Issue> issue = writeFile(planFile, plan)) {
        complain(toString(*issue));
        return NotAvailable;
    }
    // The result takes its name only here: what stands there already is not taken for a new one.
    const std::filesystem::path resultFile = folder->path() / "result.headroom-probe.json";
    const std::filesystem::path snapshotFile = folder->path() / "snapshot.pickle";
    std::vector<std::string> command = {arguments.python, probeFile.string(), "run", planFile.string(), "--output", resultFile.string()};
    for (std::string &option : optionsOf(arguments))
        command.push_back(std::move(option));
    if (!arguments.snapshot.empty()) {
        command.emplace_back("--snapshot");
        command.push_back(snapshotFile.string());
    }
    ChildOptions options;
    options.errorLine = showLine;
    const Result<ChildEnd> end = runChild(command, options);
    if (!end) {
        complain(fmt::format("{} (name the Python that has PyTorch with --python)", toString(end.issue())));
        return NotAvailable;
    }
    const bool there = std::filesystem::is_regular_file(resultFile);
    int status = concludeLocal(*end, arguments.python, there);
    if (status > Failed || !there)
        return status;
    const Result<std::string> result = readTextFile(resultFile, largestProbe);
    if (!result) {
        complain(toString(result.issue()));
        return Failed;
    }
    status = keepResult(arguments.output, *result, status);
    std::error_code ignored;
    const bool hasSnapshot = std::filesystem::is_regular_file(snapshotFile, ignored);
    if (status <= Failed && !arguments.snapshot.empty() && !hasSnapshot)
        complain("the run ended before a snapshot was taken");
    if (status <= Failed && hasSnapshot) {
        const Result<std::string> snapshot = readTextFile(snapshotFile, largestAnswer);
        if (std::optional<Issue> issue = snapshot ? writeFile(arguments.snapshot, *snapshot) : std::optional(snapshot.issue())) {
            complain(toString(*issue));
            return NotAvailable;
        }
    }
    return status;
}

int runThere(const RunArguments &arguments, const std::string &probe, const std::string &plan)
{
    RemoteRun remote{probe.size(), plan.size(), arguments.python, optionsOf(arguments)};
    if (!arguments.snapshot.empty()) {
        remote.options.emplace_back("--snapshot");
        remote.options.emplace_back("snapshot.pickle");
    }
    const std::string input = probe + plan;
    std::string output;
    bool tooMuch = false;
    ChildOptions options;
    options.input = input;
    options.ownGroup = false; // ssh may ask for a passphrase on the terminal
    options.endByInput = true;
    options.errorLine = showLine;
    options.output = [&](std::string_view text) {
        tooMuch = tooMuch || output.size() + text.size() > largestAnswer;
        if (!tooMuch)
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
    std::string result, snapshot;
    for (RemoteFile &file : remoteFiles(output))
        (file.name == "snapshot.pickle" ? snapshot : result) = std::move(file.text);
    const int status = concludeLocal(*end, fmt::format("the probe on {}", arguments.host), !result.empty());
    if (status > Failed || result.empty())
        return status;
    const int kept = keepResult(arguments.output, result, status);
    if (kept <= Failed && !arguments.snapshot.empty() && snapshot.empty())
        complain(tooMuch ? "the snapshot was too large to be brought back" : "the run ended before a snapshot was taken");
    if (kept <= Failed && !arguments.snapshot.empty() && !snapshot.empty())
        if (std::optional<Issue> issue = writeFile(arguments.snapshot, snapshot)) {
            complain(toString(*issue));
            return NotAvailable;
        }
    return kept;
}

} // namespace

int runRun(const RunArguments &asked)
{
    RunArguments arguments = asked;
    std::error_code ignored;
    for (std::string *file : {&arguments.output, &arguments.snapshot})
        if (std::filesystem::is_symlink(*file, ignored)) // written through, not replaced
            if (const auto target = std::filesystem::weakly_canonical(*file, ignored); !ignored)
                *file = target.string();
    if (!arguments.host.empty())
        for (const std::optional<Issue> &issue : {checkHost(arguments.host), checkRemotePath("--python", arguments.python)})
            if (issue) {
                complain(toString(*issue));
                return BadInput;
            }
    const Result<std::string> plan = completePlan(arguments.plan);
    if (!plan) {
        complain(toString(plan.issue()));
        return BadInput;
    }
    for (const std::string &file : {arguments.output, arguments.snapshot})
        if (std::optional<Issue> issue = file.empty() ? std::nullopt : checkWritable(file)) {
            complain(toString(*issue));
            return NotAvailable;
        }
    const std::filesystem::path probeFile = probeFileOf(arguments);
    const Result<std::string> probe = readTextFile(probeFile, largestProbe);
    if (!probe) {
        Issue issue = probe.issue();
        issue.hint =
            "the Python side of the probe comes with Headroom, in share/headroom: install Headroom again, or name the file with --probe";
        complain(toString(issue));
        return NotAvailable;
    }
    return arguments.host.empty() ? runHere(arguments, probeFile, *plan) : runThere(arguments, *probe, *plan);
}

} // namespace headroom::probe
