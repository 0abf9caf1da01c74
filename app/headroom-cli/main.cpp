// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/command_line.h"
#include "app/headroom-cli/commands.h"
#include "app/headroom-cli/output.h"
#include "app/keep_memory.h"
#include "core/plan/plan_json.h"
#include "core/units/text.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <exception>
#include <new>
#include <sstream>

namespace headroom::cli {

namespace {

constexpr const char *exitStatuses = R"(Exit status:
  0  done
  1  --check was given, and a plan does not fit some GPU that it names (estimate) or a prediction is further off (compare)
  2  bad input; standard error says in which file, where, what is wrong and how to mend it
  3  standard output could not be written)";

constexpr const char *examples = R"(Examples:
  headroom-cli estimate plan.headroom.json
  headroom-cli estimate plan.headroom.json --set batch.micro_batch=4 --gpu nvidia-h100-sxm5-80gb --check
  headroom-cli estimate --jsonl plans.jsonl > estimates.jsonl
  headroom-cli report plan.headroom.json --as markdown > report.md
  headroom-cli map plan.headroom.json --micro-batch 1..8 --sequence-length 1024,2048,4096
  headroom-cli compare plan.headroom.json run.headroom-probe.json --check 5%
  headroom-cli gpus --json
)";

constexpr const char *compareExamples = R"(Examples:
  headroom-cli compare plan.headroom.json run.headroom-probe.json             a table for people
  headroom-cli compare plan.headroom.json a.headroom-probe.json b.headroom-probe.json --as csv > errors.csv
  headroom-cli compare plan.headroom.json run.headroom-probe.json --json      one JSON document
  headroom-cli compare plan.headroom.json run.headroom-probe.json --check 5%  exit status 1 if a total is further off

A result is what headroom-probe wrote when it ran the plan. Totals are the allocated, reserved and device memory of the first
and of later steps; a dry run has allocated alone. The error is (predicted - measured) / measured.)";

constexpr const char *estimateExamples = R"(Examples:
  headroom-cli estimate plan.headroom.json                       a table for people
  headroom-cli estimate plan.headroom.json --json                the same as one JSON document
  headroom-cli estimate a.headroom.json b.headroom.json --check  exit status 1 if one does not fit
  headroom-cli estimate plan.headroom.json --set method.kind=lora --set method.rank=64
  headroom-cli estimate plan.headroom.json --set 'gpus=["nvidia-rtx-4090-24gb"]'
  headroom-cli estimate --jsonl plans.jsonl                      one plan a line in, one estimate a line out
  make-plans | headroom-cli estimate --jsonl -                   the same from standard input, as lines arrive

With --jsonl a line that cannot be answered is answered with {"error": {"line", "where", "what", "hint"}}, and blank
lines are skipped.)";

constexpr const char *mapExamples = R"(Examples:
  headroom-cli map plan.headroom.json                            the plan's first GPU, micro-batches 1 to 16, lengths from 512 on
  headroom-cli map plan.headroom.json --gpu nvidia-rtx-4090-24gb --micro-batch 1..8 --sequence-length 1024,2048,4096
  headroom-cli map plan.headroom.json --json                     one JSON document

Every cell is what estimate says of the plan with that micro-batch and length.)";

constexpr const char *unitOption = "Write sizes in powers of two (GiB, the default) or of ten (GB)";

/// For options that take a file.
CLI::Validator isNamed() { return headroom::isNamed("the file's name"); }

/// For options that name one of some formats.
CLI::Validator isFormat(const std::vector<std::string> &known)
{
    const auto check = [known](const std::string &text) {
        const std::vector<std::string_view> names(known.begin(), known.end());
        return std::find(known.begin(), known.end(), text) != known.end()
                   ? std::string()
                   : fmt::format("there is no format \"{}\" (write {})", excerpt(text), orList(names));
    };
    return CLI::Validator(check, "");
}

/// "5%" or "0.05" as a fraction.
double shareOf(const std::string &text)
{
    const bool percent = text.ends_with('%');
    const std::string number = percent ? text.substr(0, text.size() - 1) : text;
    char *end = nullptr;
    const double value = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0' || std::isspace(static_cast<unsigned char>(number.front())) != 0 || !(value >= 0) || value > 1000 ||
        number.find_first_of("xXnN") != std::string::npos)
        throw CLI::ValidationError("--check", fmt::format("\"{}\" is no share (write for example 5%)", excerpt(text)));
    if (!percent && value >= 1) // 5 is 5 % to some and 500 % to others
        throw CLI::ValidationError("--check", fmt::format("\"{}\" may be a share or per cent (write {}%)", excerpt(text), excerpt(text)));
    return percent ? value / 100 : value;
}

void addSettings(CLI::App &command, PlanArguments &plans)
{
    command.add_option("--set", plans.settings, "Set a field by its path, before anything is worked out; may be repeated")
        ->type_name("PATH=VALUE")
        ->allow_extra_args(false);
    command.add_option("--gpu", plans.gpus, "Add a GPU by its id (headroom-cli gpus lists them); may be repeated")
        ->type_name("ID")
        ->allow_extra_args(false);
    addUnitOption(command, plans.unit, unitOption);
}

/// Returns the option for the files, for commands that cannot do without.
CLI::Option *addPlanOptions(CLI::App &command, PlanArguments &plans)
{
    addSettings(command, plans);
    return command.add_option("PLAN", plans.files, "Plan files (*.headroom.json); - reads one from standard input")
        ->type_name("")
        ->check(isNamed());
}

int runCommandLine(int argc, char **argv)
{
    CLI::App app("Plans the GPU memory of an LLM training run: what each part takes, when, and whether it fits.", "headroom-cli");
    app.set_version_flag("--version", fmt::format("headroom-cli {} (plan format {})", HEADROOM_VERSION, planFormat),
                         "Print the version and exit");
    app.set_help_flag("-h,--help", "Print this help and exit");
    app.require_subcommand(1);
    app.footer(fmt::format("{}\n{}\n\n'headroom-cli COMMAND --help' says more about a command.", examples, exitStatuses));
    int status = Success;

    EstimateArguments estimateArguments;
    CLI::App *estimateCommand = app.add_subcommand("estimate", "Estimate the memory of plans and say whether they fit");
    addPlanOptions(*estimateCommand, estimateArguments.plans);
    estimateCommand
        ->add_option("--jsonl", estimateArguments.linesFile,
                     "Instead of PLAN files: read plans from FILE (-: standard input), one a line, and answer each with a line of JSON")
        ->type_name("FILE")
        ->check(isNamed());
    estimateCommand->add_flag("--json", estimateArguments.json, "Print JSON: an estimate for one plan, an array for several");
    estimateCommand->add_flag("--check", estimateArguments.check, "Exit with status 1 if a plan does not fit some GPU that it names");
    estimateCommand->footer(fmt::format("{}\n\n{}", estimateExamples, exitStatuses));
    estimateCommand->callback([&] {
        if (estimateArguments.plans.files.empty() && estimateArguments.linesFile.empty())
            throw CLI::RequiredError("PLAN or --jsonl FILE");
        if (!estimateArguments.plans.files.empty() && !estimateArguments.linesFile.empty())
            throw CLI::ValidationError("estimate", "give PLAN files or --jsonl FILE, not both");
        status = runEstimate(estimateArguments);
    });

    ReportArguments reportArguments;
    CLI::App *reportCommand = app.add_subcommand("report", "Write a report on plans for people who do not have Headroom");
    addPlanOptions(*reportCommand, reportArguments.plans)->required();
    reportCommand->add_option("--as", reportArguments.format, "The report's format (markdown is the default)")
        ->check(isFormat({"markdown", "csv", "json"}))
        ->type_name("markdown|csv|json")
        ->default_str("");
    reportCommand
        ->add_option("--measured", reportArguments.measured, "Lay a result of the probe beside the one plan (Markdown); may be repeated")
        ->type_name("RESULT")
        ->allow_extra_args(false)
        ->check(isNamed());
    reportCommand->footer(fmt::format("Examples:\n"
                                      "  headroom-cli report plan.headroom.json > report.md\n"
                                      "  headroom-cli report a.headroom.json b.headroom.json --as csv > figures.csv\n\n"
                                      "PDF and pictures: headroom --export report.pdf plan.headroom.json (needs no display).\n\n{}",
                                      exitStatuses));
    reportCommand->callback([&] {
        if (!reportArguments.measured.empty() && (reportArguments.plans.files.size() != 1 || reportArguments.format != "markdown"))
            throw CLI::ValidationError("--measured",
                                       "goes with one plan, as Markdown (headroom-cli compare --as csv or json has the rows)");
        status = runReport(reportArguments);
    });

    CompareArguments compareArguments;
    bool compareAsJson = false;
    CLI::App *compareCommand = app.add_subcommand("compare", "Lay what the probe measured beside what is predicted");
    std::string comparePlan; // CLI11 shares files out among two lists as it likes
    addSettings(*compareCommand, compareArguments.plan);
    compareCommand->add_option("PLAN", comparePlan, "The plan file (*.headroom.json); - reads it from standard input")
        ->type_name("")
        ->check(isNamed())
        ->required();
    compareCommand->add_option("RESULT", compareArguments.results, "Results of the probe (*.headroom-probe.json)")
        ->type_name("")
        ->check(isNamed())
        ->required();
    compareCommand->add_option("--as", compareArguments.format, "Write the rows in another format than a table")
        ->check(isFormat({"text", "markdown", "csv", "json"}))
        ->type_name("markdown|csv|json")
        ->default_str("");
    CLI::Option *compareJson = compareCommand->add_flag("--json", compareAsJson, "Print one JSON document");
    compareJson->excludes("--as");
    compareCommand
        ->add_option_function<std::string>(
            "--check", [&](const std::string &text) { compareArguments.check = shareOf(text); },
            "Exit with status 1 if a total is further off than this share of what was measured")
        ->type_name("SHARE")
        ->allow_extra_args(false);
    compareCommand->footer(fmt::format("{}\n\n{}", compareExamples, exitStatuses));
    compareCommand->callback([&] {
        if (compareAsJson)
            compareArguments.format = "json";
        compareArguments.plan.files = {comparePlan};
        status = runCompare(compareArguments);
    });

    MapArguments mapArguments;
    CLI::App *mapCommand = app.add_subcommand("map", "Map what fits one GPU: micro-batches by sequence lengths");
    addPlanOptions(*mapCommand, mapArguments.plan)->required()->expected(1);
    const auto addValues = [&](const char *option, std::vector<std::int64_t> &values, const char *description, const char *type) {
        const auto read = [option, &values](const std::string &text) {
            Result<std::vector<std::int64_t>> given = mapValues(option, text);
            if (!given)
                throw CLI::ValidationError(option, fmt::format("{} ({})", given.issue().what, given.issue().hint));
            values = *std::move(given);
        };
        mapCommand->add_option_function<std::string>(option, read, description)->type_name(type)->allow_extra_args(false);
    };
    addValues("--micro-batch", mapArguments.microBatches, "The map's rows (1..16 is the default)", "A..B");
    addValues("--sequence-length", mapArguments.sequenceLengths, "Its columns, in tokens (powers of two from 512 are the default)",
              "X,Y,...");
    mapCommand->add_flag("--json", mapArguments.json, "Print one JSON document");
    mapCommand->footer(fmt::format("{}\n\n{}", mapExamples, exitStatuses));
    mapCommand->callback([&] { status = runMap(mapArguments); });

    bool presetsAsJson = false;
    CLI::App *presetsCommand = app.add_subcommand("presets", "List the models that Headroom knows");
    presetsCommand->add_flag("--json", presetsAsJson, "Print one JSON array");
    presetsCommand->callback([&] { status = runPresets(presetsAsJson); });

    bool gpusAsJson = false;
    ByteUnit gpusUnit = ByteUnit::Binary;
    CLI::App *gpusCommand = app.add_subcommand("gpus", "List the GPUs that Headroom knows");
    gpusCommand->add_flag("--json", gpusAsJson, "Print one JSON array");
    addUnitOption(*gpusCommand, gpusUnit, unitOption);
    gpusCommand->callback([&] { status = runGpus(gpusAsJson, gpusUnit); });

    std::string sequences;
    bool replayAsJson = true;
    CLI::App *replayCommand = app.add_subcommand("replay-allocator", "Replay sequences of allocations on PyTorch's caching allocator");
    replayCommand
        ->add_option("--jsonl", sequences, "Read sequences from FILE (-: standard input), one a line, and answer each with a line of JSON")
        ->type_name("FILE")
        ->check(isNamed())
        ->required();
    replayCommand->add_flag("--json", replayAsJson, "Print JSON (the answers always are)");
    replayCommand->footer("A sequence is {\"config\": {...}, \"events\": [[1, id, bytes, stream], [-1, id], ...]}; its answer is\n"
                          "{\"after\": [[allocated, reserved], ...], \"peak_allocated\", \"peak_reserved\", \"out_of_memory\"}.");
    replayCommand->callback([&] { status = runReplayAllocator(sequences); });

    TraceArguments traceArguments;
    CLI::App *traceCommand = app.add_subcommand("trace", "Write the engine's allocations, to be compared with a trace of PyTorch");
    traceCommand->group(""); // for developers: not in the list of commands
    addPlanOptions(*traceCommand, traceArguments.plans)->required()->expected(1);
    traceCommand->add_option("--events", traceArguments.eventsFile, "Write every allocation and release, tab-separated")
        ->type_name("FILE")
        ->check(isNamed());
    traceCommand->add_option("--saved", traceArguments.savedFile, "Write what is saved for backward at the end of forward, tab-separated")
        ->type_name("FILE")
        ->check(isNamed());
    traceCommand->callback([&] { status = runTrace(traceArguments); });

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        // Help and version are "errors" of CLI11 too, with exit code 0. All real ones are bad input to a shell.
        if (error.get_exit_code() == 0) {
            std::ostringstream text;
            app.exit(error, text, text);
            Output output;
            output.write(text.str());
            return output.finish(Success);
        }
        complain(commandLineError(error, app));
        return BadInput;
    }
    return status;
}

} // namespace

} // namespace headroom::cli

int main(int argc, char **argv)
{
    headroom::keepFreedMemory();
    using namespace headroom;
    using namespace headroom::cli;
    try {
        return runCommandLine(argc, argv);
    } catch (const std::bad_alloc &) {
        complain("this takes more memory than there is; make the model or the batch smaller");
    } catch (const std::exception &error) {
        complain(fmt::format("this could not be worked out ({}); check the plan's sizes", error.what()));
    }
    return BadInput;
}
