// SPDX-License-Identifier: Apache-2.0
// The commands of `lagwatch`. Context: background.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace CLI {
class App;
}
namespace lagwatch {
struct Options;
}

namespace lagwatch::tools {

// Describes the whole command line; the commands are still to be added.
void DescribeCommandLine(CLI::App* app);
// Parses the arguments after the program's name, and runs the command that they name. Returns the exit code:
// that which the command left in `exit_code`, or 2 for a usage error.
int RunCommandLine(CLI::App* app, std::vector<std::string> arguments, const int* exit_code);

// Each of these adds its commands to `app`. The one that is given runs while `app` parses, and leaves its
// exit code in `exit_code`: 0, or 1 if it failed or found nothing, unless stated otherwise. Usage errors are
// CLI::ParseErrors. `exit_code` must outlive the parsing.

// Takes the config that an earlier run of `app` received from the collector, signed with `options`' config
// key, into `options`. False if it turns watching off. Errors: kInvalid for a bad key.
using TakeStoredConfig = std::function<base::Result<bool>(const std::string& app, Options* options)>;
// It, for `lagwatch run` (run/stored_config.cc). Needs OpenSSL.
base::Result<bool> ApplyStoredRunConfig(const std::string& app, Options* options);
// `lagwatch run -- CMD…`: runs a program as it is, watched. The program may take this process over.
void AddRunCommand(CLI::App* app, const TakeStoredConfig& take_stored_config, int* exit_code);
// `lagwatch why PID|NAME|UNIT`: says why a program does not respond. Its exit code: 0 it responds, 1 it may
// be frozen, 2 it cannot be looked at.
void AddWhyCommand(CLI::App* app, int* exit_code);
// `lagwatch watch PID|NAME|UNIT`: watches running programs from outside.
void AddWatchCommand(CLI::App* app, int* exit_code);
// `lagwatch daemon`, which is `lagwatchd`: watches the programs of a machine.
void AddDaemonCommand(CLI::App* app, int* exit_code);
// `lagwatch enable UNIT` and `lagwatch disable UNIT`: a service of systemd under lagwatch, and without it.
void AddServiceCommands(CLI::App* app, int* exit_code);
// `lagwatch attach PID` and `lagwatch detach PID`: watches a program that runs already, and ends that.
void AddAttachCommands(CLI::App* app, int* exit_code);
// `lagwatch probe PID|NAME SCRIPT`: counts and prints at functions of a running program. Its exit code is 2 if the
// script or the program was refused.
void AddProbeCommand(CLI::App* app, int* exit_code);
// `lagwatch probe-list`: makes and shows signed lists of scripts. Its exit code is 2 if a key, a script or a
// list is invalid.
void AddProbeListCommand(CLI::App* app, int* exit_code);
// `lagwatch instrument list FILE`: says which functions are recorded and probed, and why others are not. Its
// exit code is 2 if that cannot be said.
void AddInstrumentCommand(CLI::App* app, int* exit_code);
// `lagwatch trace`: records programs, converts recordings, and shows how a program spends its time.
void AddTraceCommand(CLI::App* app, int* exit_code);

// Reads a spool directory's records, with names for frames as far as this machine has them, as an encoded
// lagwatch.Batch.
using LoadRecords = std::function<base::Result<std::string>(const std::string& spool_directory)>;
// It, from this machine's files (spool_records.cc): also the records of programs that still run, and the
// losses that are counted in the spool and not sent yet. Errors: kNotFound if the directory does not exist,
// kIo.
base::Result<std::string> LoadSpoolRecords(const std::string& spool_directory);
// The commands that read reports: `lagwatch clusters`, `reports`, `usage`, `report ID` and others.
// `symbol_worker` is the program that reads symbol files for those of a spool, when its argument is
// kLocalWorkerArgument; empty: they have the names that `load_records` gave them.
void AddReadCommands(CLI::App* app, const LoadRecords& load_records, const std::string& symbol_worker,
                     int* exit_code);

// `lagwatch mcp`: answers agents until its input ends. Parameters as of AddReadCommands.
void AddMcpCommand(CLI::App* app, const LoadRecords& load_records, const std::string& symbol_worker,
                   int* exit_code);

// `lagwatch log`: says hangs as they happen, until a signal comes.
void AddLogCommand(CLI::App* app, int* exit_code);
// `lagwatch upload`: sends the reports that wait in a spool directory.
void AddUploadCommand(CLI::App* app, int* exit_code);
// `lagwatch symbols upload` and `lagwatch symbols list`.
void AddSymbolsCommand(CLI::App* app, int* exit_code);
// `lagwatch cause`: shows and changes the annotation of a cause.
void AddCauseCommand(CLI::App* app, int* exit_code);
// `lagwatch delete`: deletes a collector's data of a user, a cause, a key, a program, or one report.
void AddDeleteCommand(CLI::App* app, int* exit_code);
// `lagwatch doctor [PID|COMMAND]`: says what works here. Its exit code is 2 without such a process or
// program.
void AddDoctorCommand(CLI::App* app, int* exit_code);
// `lagwatch open [SPOOL|ID]`: shows a spool on the collector's page until a signal comes.
void AddOpenCommand(CLI::App* app, int* exit_code);
// `lagwatch help [COMMAND]`, the pages of the manual and completions; after all others.
void AddHelpCommand(CLI::App* app, int* exit_code);
// `lagwatch dump PID`: requests a report of all threads of a watched program.
void AddDumpCommand(CLI::App* app, int* exit_code);

// The number of a signal given as "USR2", "SIGUSR2" or "12" in an option; 0 if it is invalid.
int SignalNumber(const std::string& text);

}  // namespace lagwatch::tools
