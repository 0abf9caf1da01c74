// SPDX-FileCopyrightText: 2026 The Headroom developers
// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/command_line.h"
#include "app/headroom-probe/commands.h"
#include "app/headroom-probe/messages.h"
#include "core/measure/probe_result.h"
#include "core/units/text.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <sstream>

#include <unistd.h>

namespace headroom::probe {

namespace {

constexpr const char *exitStatuses = R"(Exit status:
  0    done; a run that ended out of memory is a result too
  1    the plan does not fit now (fits); the run broke off, and the result has what was measured until then (run)
  2    the command line, the plan or the snapshot is wrong, or the probe does not run such a plan
  3    a library, the GPU, Python or the other machine is missing, a file cannot be written, or the run left no result
  130  interrupted; nothing was written)";

constexpr const char *examples = R"(Examples:
  headroom-probe gpus
  headroom-probe fits plan.headroom.json
  headroom-probe run plan.headroom.json --output run.headroom-probe.json
  headroom-probe run plan.headroom.json --output dry.headroom-probe.json --dry-run
  headroom-probe run plan.headroom.json --output run.headroom-probe.json --ssh user@gpu-machine --python /opt/venv/bin/python
  headroom-probe snapshot memory.pickle --output memory.headroom-timeline.json
  headroom-cli compare plan.headroom.json run.headroom-probe.json)";

constexpr const char *unitOption = "Write sizes in GiB (the default) or GB";

CLI::Validator isNamed() { return headroom::isNamed("the name"); }

void addPythonOptions(CLI::App &command, std::string &python, std::string &probeFile, const char *description)
{
    command.add_option("--python", python, description)
        ->type_name("PATH")
        ->check(headroom::isNamed("the name", "name a Python"))
        ->default_str("");
    command.add_option("--probe", probeFile, "The Python side of the probe (the one that came with this program is the default)")
        ->type_name("FILE")
        ->check(isNamed());
}

int runCommandLine(int argc, char **argv)
{
    CLI::App app("Measures what a plan takes on a GPU, with PyTorch itself, or finds out whether it would fit now.", "headroom-probe");
    app.set_version_flag("--version", fmt::format("headroom-probe {} (result format {})", HEADROOM_VERSION, probeFormat),
                         "Print the version and exit");
    app.set_help_flag("-h,--help", "Print this help and exit");
    app.require_subcommand(1);
    app.footer(fmt::format("{}\n\n{}", examples, exitStatuses));
    int status = Success;

    RunArguments run;
    CLI::App *runCommand = app.add_subcommand("run", "Run the plan's steps with PyTorch and write down the memory that they take");
    runCommand->add_option("PLAN", run.plan, "The plan file (*.headroom.json)")->type_name("")->check(isNamed())->required();
    runCommand->add_option("--output", run.output, "The result (*.headroom-probe.json)")->type_name("FILE")->check(isNamed())->required();
    runCommand->add_flag("--dry-run", run.dryRun, "On PyTorch's fake tensors: allocated memory alone, no GPU needed");
    runCommand->add_option("--steps", run.steps, "Optimizer steps, 3 to 1000 (3 is the default)")
        ->type_name("N")
        ->check(CLI::Range(3, 1000))
        ->default_str("");
    runCommand->add_option("--ssh", run.host, "Run on this machine, with the system's ssh and your own configuration")
        ->type_name("HOST")
        ->check(headroom::isNamed("the host's name", "write a host as for ssh: name, user@name, or an alias of ~/.ssh/config"));
    runCommand->add_option("--snapshot", run.snapshot, "Also record the last step's allocations into a PyTorch memory snapshot")
        ->type_name("FILE")
        ->check(isNamed());
    addPythonOptions(*runCommand, run.python, run.probeFile, "The Python that has PyTorch (python3 is the default)");
    runCommand->footer(fmt::format(
        "Nothing is installed and nothing is downloaded: the model gets random weights from its config. A plan of several ranks is\n"
        "started with torch.distributed.run on one machine: rank 0 writes FILE, rank 3 FILE.rank3 (before the ending).\n\n{}\n\n{}",
        examples, exitStatuses));
    runCommand->callback([&] { status = runRun(run); });

    SnapshotArguments snapshot;
    CLI::App *snapshotCommand = app.add_subcommand("snapshot", "Turn a memory snapshot of PyTorch into a timeline");
    snapshotCommand->add_option("PICKLE", snapshot.snapshot, "What torch.cuda.memory._dump_snapshot wrote")
        ->type_name("")
        ->check(isNamed())
        ->required();
    snapshotCommand->add_option("--output", snapshot.output, "The timeline (*.headroom-timeline.json)")
        ->type_name("FILE")
        ->check(isNamed())
        ->required();
    snapshotCommand->add_option("--device", snapshot.device, "The GPU whose timeline is wanted (the busiest is the default)")
        ->type_name("N")
        ->check(CLI::Range(0, 1023))
        ->default_str("");
    addPythonOptions(*snapshotCommand, snapshot.python, snapshot.probeFile,
                     "The Python that reads the snapshot; it needs no PyTorch (python3 is the default)");
    snapshotCommand->footer("A pickle is a program: it is read by a reader that knows plain data alone and runs nothing. The window lays\n"
                            "the timeline over the predicted one.");
    snapshotCommand->callback([&] { status = runSnapshot(snapshot); });

    bool gpusAsJson = false;
    ByteUnit gpusUnit = ByteUnit::Binary;
    CLI::App *gpusCommand = app.add_subcommand("gpus", "List this machine's GPUs and what is free on them");
    gpusCommand->add_flag("--json", gpusAsJson, "Print one JSON document");
    addUnitOption(*gpusCommand, gpusUnit, unitOption);
    gpusCommand->callback([&] { status = runGpus(gpusAsJson, gpusUnit); });

    FitsArguments fits;
    CLI::App *fitsCommand = app.add_subcommand("fits", "Find out whether the plan fits on a GPU now, by allocating what PyTorch would");
    fitsCommand->add_option("PLAN", fits.plan, "The plan file (*.headroom.json)")->type_name("")->check(isNamed())->required();
    fitsCommand->add_option("--gpu", fits.gpu, "CUDA's number of the GPU (0 is the default)")
        ->type_name("N")
        ->check(CLI::Range(0, 1023))
        ->default_str("");
    fitsCommand->add_flag("--json", fits.json, "Print one JSON document");
    addUnitOption(*fitsCommand, fits.unit, unitOption);
    fitsCommand->footer("Nothing is computed and PyTorch is not needed: the estimate's segments are allocated with the driver's own\n"
                        "calls and freed again. The GPU's memory is taken for a moment: do not try it beside a run that is short of it.");
    fitsCommand->callback([&] { status = runFits(fits); });

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        if (error.get_exit_code() == 0) {
            std::ostringstream text;
            app.exit(error, text, text);
            return print(text.str()) ? Success : NotAvailable;
        }
        complain(commandLineError(error, app));
        return BadInput;
    }
    return status;
}

} // namespace

} // namespace headroom::probe

int main(int argc, char **argv)
{
    using namespace headroom::probe;
    try {
        // The Python side ends with us, however we end (resources/probe/headroom_probe/parent.py).
        setenv("HEADROOM_PROBE_PARENT", std::to_string(getpid()).c_str(), 1);
        return runCommandLine(argc, argv);
    } catch (const std::bad_alloc &) {
        complain("this takes more memory than there is");
    } catch (const std::exception &error) {
        complain(fmt::format("this could not be done ({})", error.what()));
    }
    return Failed;
}
