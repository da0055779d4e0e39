// SPDX-License-Identifier: Apache-2.0
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "report/format/report.h"
#include "sdk/moment/process_moment.h"
#include "sdk/run/default_paths.h"
#include "tools/commands.h"
#include "tools/core/core_origin.h"
#include "tools/core/core_process.h"
#include "tools/process_files.h"
#include "tools/read/output.h"
#include "tools/read/report_source.h"
#include "tools/read/screen.h"
#include "tools/read/table.h"
#include "tools/watch/targets.h"
#include "tools/why/explanation.h"
#include "tools/why/kept_report.h"
#include "tools/why/process_state.h"
#include "tools/why/timed_run.h"

namespace lagwatch::tools {
namespace {

constexpr int kResponds = 0;
constexpr int kFrozen = 1;
constexpr int kCannotLook = 2;

struct WhyOptions {
  std::vector<std::string> words;
  double for_s = 0.7;
  bool shows_all = false;
  bool json = false;
  bool saves = false;
  bool asks_debuginfod = false;
  std::string core;     // a core file; then the words are its program, if there are any
  std::string timeout;  // of a command that the words are; empty: they are processes
  std::string spool = sdk::DefaultSpoolDirectory();
  std::string endpoint;
  std::string key;
  bool refreshes = false;
  ScreenOptions screen;
};

int Refuse(const std::string& message) {
  std::cerr << "lagwatch: why: " << Printable(message) << "\n";
  return kCannotLook;
}

// Names of processes and files need not be UTF-8.
void PrintJson(const Json& json) {
  constexpr int kIndent = 2;
  Print(json.dump(kIndent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n");
}

// The report as the API returns it, with the names that this machine has.
base::Result<Json> NameReport(const sdk::ProcessMoment& moment, bool asks_debuginfod) {
  std::string batch;
  report::AppendToBatch({report::RecordType::kReport, moment.report}, &batch);
  auto symbolizer = LAGWATCH_TRY(LocalSymbolizer::Create({.asks_debuginfod = asks_debuginfod}));
  const auto source = LAGWATCH_TRY(OpenSpool(
      "", [&](const std::string&) { return base::Result<std::string>(batch); }, std::move(symbolizer)));
  return source->Get("/v1/reports/" + base::ToString(moment.report_id), {});
}

// Keeps and sends the report, if that is wanted.
base::Result<Explanation> ExplainMoment(const sdk::ProcessMoment& moment, const WhyOptions& options,
                                        std::optional<CoreOrigin> core) {
  if (options.saves) {
    if (base::Status status = SaveReport(moment, options.spool); !status.ok()) return status;
  }
  if (!options.endpoint.empty()) {
    if (base::Status status = SendReport(moment, options.endpoint, options.key); !status.ok()) return status;
  }
  return Explain(moment, LAGWATCH_TRY(NameReport(moment, options.asks_debuginfod)), std::move(core));
}

base::Result<Explanation> ExplainProcess(pid_t pid, const WhyOptions& options) {
  if (const auto state = FindProcessState(pid)) {
    Explanation explanation;
    explanation.pid = pid;
    explanation.process = CommandOf(pid);
    explanation.standing = sdk::Standing::kFrozen;
    explanation.sentence = state->sentence;
    if (!state->advice.empty()) explanation.next.push_back(state->advice);
    return explanation;
  }
  if (base::Status status = CheckTarget(pid); !status.ok()) return status;
  const sdk::MomentOptions moment_options{.survey_ns = static_cast<int64_t>(options.for_s * 1e9),
                                          .app = CommandOf(pid)};
  return ExplainMoment(LAGWATCH_TRY(sdk::LookAtProcess(base::Process::Other(pid), moment_options)), options,
                       {});
}

base::Result<Explanation> ExplainCore(const WhyOptions& options) {
  const std::string program = options.words.empty() ? "" : options.words.front();
  const auto core = LAGWATCH_TRY(CoreProcess::Open(options.core, program));
  CoreOrigin origin = OriginOf(options.core, *core);
  const sdk::MomentOptions moment_options{.survey_ns = 0,
                                          .app = core->file().name(),
                                          .suspect_tid = origin.HasCrashed() ? origin.end->tid : 0,
                                          .seen_wall_ms = core->file().written_at() * int64_t{1000}};
  return ExplainMoment(LAGWATCH_TRY(sdk::LookAtProcess(core->process(), moment_options)), options,
                       std::move(origin));
}

// The processes that the words name. Errors: kNotFound, saying which word names none.
base::Result<std::vector<pid_t>> FindProcesses(const std::vector<std::string>& words) {
  std::vector<pid_t> pids;
  for (const std::string& word : words) {
    // A process that is named by its id need not be one that could be watched: it may be dead.
    if (const auto pid = base::ParseNumber<pid_t>(word)) {
      if (CommandOf(*pid).empty())
        return base::Status(base::StatusCode::kNotFound, "no such process: " + word);
      pids.push_back(*pid);
      continue;
    }
    const std::vector<Target> targets = FindTargets({.words = {word}}, [](pid_t) { return false; });
    if (targets.empty()) {
      return base::Status(
          base::StatusCode::kNotFound,
          "nothing of the name '" + word + "' runs: give a process id, a program's name or a unit");
    }
    for (const Target& target : targets) pids.push_back(target.pid);
  }
  return pids;
}

int ExplainAll(const std::vector<pid_t>& pids, const WhyOptions& options) {
  int exit_code = kResponds;
  Json all = Json::array();
  std::string text;
  for (size_t i = 0; i < pids.size(); ++i) {
    auto explanation = ExplainProcess(pids[i], options);
    if (!explanation.ok()) {
      Refuse("process " + std::to_string(pids[i]) + ": " + explanation.status().message());
      exit_code = kCannotLook;
      continue;
    }
    if (explanation->standing != sdk::Standing::kResponds) exit_code = std::max(exit_code, kFrozen);
    if (options.json) {
      all.push_back(ToJson(*explanation));
    } else {
      text += (text.empty() ? "" : "\n") + ToText(*explanation, options.shows_all, TerminalWidth());
    }
  }
  if (options.json) {
    PrintJson(pids.size() == 1 && !all.empty() ? all[0] : all);
  } else {
    PrintOnScreen(text, options.screen, &PaintExplanations);
  }
  return exit_code;
}

// Wipes the terminal before each answer. Ends with the last process, or by Ctrl-C.
int Refresh(const std::vector<pid_t>& pids, WhyOptions options) {
  options.screen.has_no_pager = true;
  constexpr char kWipe[] = "\033[H\033[2J";
  int exit_code = kResponds;
  while (std::ranges::any_of(pids, [](pid_t pid) { return !CommandOf(pid).empty(); })) {
    if (TerminalWidth() != 0) Print(kWipe);
    exit_code = ExplainAll(pids, options);
    std::cout.flush();
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  return exit_code;
}

int RunWhy(const WhyOptions& options) {
  const auto pids = FindProcesses(options.words);
  if (!pids.ok()) return Refuse(pids.status().message());
  return options.refreshes ? Refresh(*pids, options) : ExplainAll(*pids, options);
}

int RunCore(const WhyOptions& options) {
  if (options.words.size() > 1)
    return Refuse("--core explains one core file; after it only the program of that core may be named");
  const auto explanation = ExplainCore(options);
  if (!explanation.ok()) return Refuse(explanation.status().message());
  if (options.json) {
    PrintJson(ToJson(*explanation));
  } else {
    PrintOnScreen(ToText(*explanation, options.shows_all, TerminalWidth()), options.screen,
                  &PaintExplanations);
  }
  return explanation->standing == sdk::Standing::kResponds ? kResponds : kFrozen;
}

// Explains the processes that a command has left when its time is over. Standard output is the command's.
void ExplainTree(const std::vector<pid_t>& pids, const WhyOptions& options) {
  for (const pid_t pid : pids) {
    const auto explanation = ExplainProcess(pid, options);
    std::cerr << (explanation.ok()
                      ? ToText(*explanation, options.shows_all)
                      : "process " + std::to_string(pid) + ": " + explanation.status().message() + "\n")
              << "\n";
  }
}

int RunTimed(const WhyOptions& options) {
  const auto timeout_ms = ParseDuration(options.timeout);
  if (!timeout_ms) return Refuse("'" + options.timeout + "' is no duration: 90, 90s, 5m or 1h");
  const auto exit_code = RunFor(options.words, *timeout_ms, [&](const std::vector<pid_t>& pids) {
    std::cerr << "lagwatch: " << Printable(options.words.front()) << " has not ended after "
              << options.timeout << "; its processes:\n\n";
    ExplainTree(pids, options);
  });
  return exit_code.ok() ? *exit_code : Refuse(exit_code.status().message());
}

}  // namespace

void AddWhyCommand(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<WhyOptions>();
  CLI::App* why = app->add_subcommand("why", "Say why a program does not respond, now");
  why->footer(
      "Looks at the process from outside for less than a second: nothing is injected, and only a thread "
      "that\n"
      "runs is stopped, for a moment. Exit code: 0 it responds, 1 it is frozen or may be, 2 it cannot be "
      "looked\n"
      "at.\n\n"
      "  lagwatch why 4711\n"
      "  lagwatch why redis-server\n"
      "  lagwatch why nginx.service --json\n"
      "  lagwatch why --core core.4711\n"
      "  lagwatch why --timeout 5m -- ctest --output-on-failure");
  CLI::Option* targets = why->add_option("PID|NAME|UNIT", options->words,
                                         "A process id, a program's name, or a unit of systemd");
  why->add_option("--core", options->core,
                  "Explain the process of this core file, as gcore and the kernel write it; its program may\n"
                  "follow. Exit code: 0 it shows no freeze, 1 it does, or a crash, 2 it cannot be read");
  CLI::Option* timeout = why->add_option(
      "--timeout", options->timeout,
      "Run the command that follows; when it has not ended after that time (90, 90s, 5m, 1h), say why, end\n"
      "it, and exit with 124. Else with the command's exit code");
  CLI::Option* survey = why->add_option("--for", options->for_s, "Seconds in which its threads are looked at")
                            ->check(CLI::Range(0.1, 3600.0))
                            ->capture_default_str();
  why->add_flag("--all", options->shows_all, "Show all threads, all frames and all facts");
  why->add_flag("--json", options->json, "Print JSON");
  CLI::Option* save =
      why->add_flag("--save", options->saves, "Keep the report in the spool, as those of hangs");
  why->add_option("--spool", options->spool, "The spool directory for --save")
      ->needs(save)
      ->capture_default_str();
  CLI::Option* to = why->add_option("--to", options->endpoint, "Send the report to this collector");
  why->add_option("--key", options->key, "The collector's project key")->envname("LAGWATCH_KEY")->needs(to);
  CLI::Option* top = why->add_flag("--top", options->refreshes,
                                   "Look again and again, and show the newest answer, until Ctrl-C");
  why->add_flag(
      "--debuginfod", options->asks_debuginfod,
      "Also ask the servers in DEBUGINFOD_URLS for symbols; they learn the build ids of the modules");
  AddScreenFlags(why, &options->screen);
  why->callback([=] {
    for (const CLI::Option* other : {timeout, survey, top}) {
      if (options->core.empty() || other->count() == 0) continue;
      *exit_code = Refuse(other->get_name() + " is for processes that run; a core file is one moment");
      return;
    }
    if (!options->core.empty()) {
      *exit_code = RunCore(*options);
      return;
    }
    if (targets->count() == 0) throw CLI::RequiredError(targets->get_name());
    *exit_code = options->timeout.empty() ? RunWhy(*options) : RunTimed(*options);
  });
}

}  // namespace lagwatch::tools
