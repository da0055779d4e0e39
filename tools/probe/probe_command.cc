// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "probe/show/value_text.h"
#include "tools/commands.h"
#include "tools/local_symbols/local_symbolizer.h"
#include "tools/probe/asked_commands.h"
#include "tools/probe/console.h"
#include "tools/probe/debug_types.h"
#include "tools/probe/function_search.h"
#include "tools/probe/kernel_service.h"
#include "tools/probe/process_functions.h"
#include "tools/probe/script.h"
#include "tools/probe/script_arming.h"
#include "tools/probe/service_client.h"
#include "tools/process_files.h"
#include "tools/read/output.h"
#include "tools/read/table.h"
#include "tools/rules/rule_options.h"
#include "tools/run/jvm_attach.h"
#include "tools/run/preload_attach.h"
#include "tools/watch/targets.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

constexpr int kCannot = 2;

struct ProbeOptions : ConsoleOptions {
  std::vector<std::string> words;  // the target, and the script
  std::string functions;
  std::string for_text;
  std::string event;
  std::string level;
  RuleOptions rules;
  bool asks_debuginfod = false;
  collector::SymbolSource* servers = nullptr;  // these
  uint32_t id = 0;
  bool lists_scripts = false;
  bool lists_armed = false;
  bool reattaches = false;
  bool disarms = false;
  bool is_of_kernel = false;
  bool is_at_start = false;  // of `lagwatch run --probe`: the program waits for it
};

int Refuse(const std::string& message) {
  std::cerr << "lagwatch: probe: " << Printable(message) << "\n";
  return kCannot;
}

// "10s", "1.5s", "500ms", "2min" or "2m", "1h".
base::Result<int64_t> ParseDuration(const std::string& text) {
  const size_t end = text.find_first_not_of("0123456789.");
  const std::string digits = text.substr(0, end);
  double number = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_number = error == std::errc() && rest == digits.data() + digits.size();
  const std::string unit = end == std::string::npos ? "s" : text.substr(end);
  const std::map<std::string, int64_t> units{{"ms", 1'000'000},
                                             {"s", 1'000'000'000},
                                             {"m", 60'000'000'000},
                                             {"min", 60'000'000'000},
                                             {"h", 3'600'000'000'000}};
  constexpr double kMost = 1e6;
  const int64_t ns = is_number && number <= kMost && units.contains(unit)
                         ? static_cast<int64_t>(number * static_cast<double>(units.at(unit)))
                         : 0;
  if (ns <= 0)
    return base::Status(base::StatusCode::kInvalid,
                        "'" + text + "' is no time: give 500ms, 1.5s, 2min or 1h");
  return ns;
}

base::Result<pid_t> FindTarget(const std::string& word) {
  const std::vector<Target> found =
      FindTargets({.words = {word}, .is_mine = false}, [](pid_t) { return false; });
  if (const auto pid = base::ParseNumber<pid_t>(word); found.empty() && pid) {
    if (base::Status status = CheckTarget(*pid); !status.ok()) return status;
    return base::Status(base::StatusCode::kInvalid, "process " + word + " is lagwatch itself");
  }
  if (found.empty())
    return base::Status(
        base::StatusCode::kNotFound,
        "no process is '" + word + "'; `lagwatch run --probe SCRIPT -- " + word + "` starts one");
  if (found.size() == 1) return found.front().pid;
  std::vector<std::string> pids;
  for (const Target& each : found) pids.push_back(std::to_string(each.pid));
  return base::Status(base::StatusCode::kInvalid,
                      "several processes are '" + word + "': give one of " + Join(pids, ", "));
}

// Says which functions have no probe, and why.
void NoteRefused(const std::vector<sdk::ProbeSiteAt>& sites, const std::vector<sdk::SiteResult>& results) {
  constexpr size_t kMostNamed = 5;
  size_t refused = 0;
  std::set<std::string> said;  // parts of a function have its name
  for (size_t i = 0; i < std::min(sites.size(), results.size()); ++i) {
    if (!results[i].left_out.empty())
      std::cerr << "lagwatch: probe: left out: " << Printable(results[i].left_out) << "\n";
    if (results[i].is_armed) continue;
    const std::string line = Printable(sites[i].name) + ": " + Printable(results[i].text);
    if (!said.insert(line).second || ++refused > kMostNamed) continue;
    std::cerr << "lagwatch: probe: no probe at " << line << "\n";
  }
  if (refused > kMostNamed)
    std::cerr << "lagwatch: probe: nor at " << refused - kMostNamed << " other functions\n";
}

// The program that `lagwatch run` becomes listens once its library is loaded.
base::Result<ServiceClient> AwaitService(pid_t pid) {
  constexpr int64_t kPatienceNs = 8 * base::kNsPerSecond;
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 2 * base::kNsPerMs};
  const int64_t end_ns = base::SystemClock().MonoNs() + kPatienceNs;
  constexpr int kRoundsPerLook = 8;
  for (int round = 0;; ++round) {
    auto client = ServiceClient::Connect(pid);
    if (!client.ok() && round % kRoundsPerLook == 0 && HasThreadSanitizer(pid))
      return base::Status(base::StatusCode::kInvalid,
                          CommandOf(pid) +
                              " has no probes: it has the runtime of ThreadSanitizer, which permits no "
                              "threads but the program's own; build it without -fsanitize=thread");
    if (client.ok() || base::SystemClock().MonoNs() > end_ns || !fs::exists(ProcessFolder(pid)))
      return client;
    nanosleep(&kPause, nullptr);
  }
}

int ArmAndShow(pid_t pid, const Script& script, const ProbeOptions& options) {
  if (options.is_at_start) dup2(STDERR_FILENO, STDOUT_FILENO);
  if (base::Status status = CheckSinks(options); !status.ok()) return Refuse(status.message());
  // Connected first: the program goes on when the console is gone.
  auto client = options.is_at_start    ? AwaitService(pid)
                : options.is_of_kernel ? StartKernelService(pid)
                                       : ServiceClient::Connect(pid);
  if ((options.is_at_start || options.is_of_kernel) && !client.ok()) return Refuse(client.status().message());
  // The script matters only where it could be armed.
  const base::Status can_open = client.ok() ? base::Status() : CheckCanAttach(pid);
  if (!can_open.ok())
    return Refuse(can_open.message() + "; as root, --kernel counts calls by the kernel's probes");
  auto functions = FunctionsOf(pid, options.rules, options.servers);
  if (!functions.ok()) return Refuse(functions.status().message());
  auto prepared = PrepareScript(script, &*functions);
  if (!prepared.ok()) return Refuse(prepared.status().message());
  if (!client.ok()) client = OpenFor(pid, prepared->sites);
  if (!client.ok()) return Refuse(client.status().message());
  if (HasJavaSites(prepared->sites)) {
    const auto listed = ListOf(&*client);
    if (listed.ok() && !listed->caution.empty())
      std::cerr << "lagwatch: probe: " << Printable(listed->caution) << "\n";
  }
  CatchEndSignals();
  auto armed = client->Ask<sdk::ArmAnswer>(sdk::ProbeMessageKind::kArm,
                                           sdk::ArmQuestion{.title = script.title,
                                                            .stays = options.leaves,
                                                            .awaits_classes = options.is_at_start,
                                                            .program = probe::Serialize(prepared->program),
                                                            .sites = prepared->sites},
                                           sdk::ProbeMessageKind::kArmed);
  if (!armed.ok()) return Refuse(armed.status().message());
  NoteRefused(prepared->sites, armed->sites);
  if (armed->id == 0) return Refuse("nothing was armed");
  const size_t armed_sites = CountArmed(*armed);
  if (options.is_at_start && HasJavaSites(prepared->sites))
    std::cerr << "lagwatch: probe: classes get their probes as they are loaded\n";
  std::cerr << "lagwatch: probe: armed at "
            << (prepared->sites.empty()
                    ? "no function"
                    : std::to_string(armed_sites) + (armed_sites == 1 ? " function" : " functions"))
            << "; a hit takes up to " << probe::DurationText(prepared->hit_cost_ns)
            << (options.for_ns == 0 ? "; Ctrl-C ends it\n" : "\n");
  ProbeView view(prepared->program, &*functions);
  AskedCommands asked(pid, prepared->program.requests);
  const int code = RunConsole(&*client, armed->id, &view, &asked, options);
  if (options.leaves && !client->is_over())
    std::cerr << "lagwatch: probe: script " << armed->id << " stays armed; `lagwatch probe --reattach " << pid
              << "` shows it, `lagwatch probe --disarm " << pid << "` ends it\n";
  return code;
}

// The program that is meant: by its id, or the only one.
base::Result<sdk::ListedProgram> Choose(ServiceClient* client, uint32_t id) {
  const auto listed = LAGWATCH_TRY(ListOf(client));
  const std::vector<sdk::ListedProgram>& programs = listed.programs;
  if (programs.empty()) return base::Status(base::StatusCode::kNotFound, "no script is armed in the process");
  if (id == 0 && programs.size() == 1) return programs.front();
  std::vector<std::string> ids;
  for (const sdk::ListedProgram& program : programs) {
    if (program.id == id) return program;
    ids.push_back(std::to_string(program.id));
  }
  const std::string armed = Join(ids, ", ") + (ids.size() == 1 ? " is armed" : " are armed");
  return base::Status(base::StatusCode::kInvalid,
                      id == 0 ? "say which script by --id: " + armed
                              : "no script has the id " + std::to_string(id) + ": " + armed);
}

int PrintArmed(ServiceClient* client, bool is_json) {
  const auto listed = ListOf(client);
  if (!listed.ok()) return Refuse(listed.status().message());
  if (is_json) {
    for (const sdk::ListedProgram& each : listed->programs) {
      std::cout << "{\"id\":" << each.id << ",\"title\":" << probe::QuotedJson(each.title)
                << ",\"age_s\":" << each.age_s << ",\"functions\":" << each.sites << ",\"hits\":" << each.hits
                << ",\"consoles\":" << each.consoles << ",\"stays\":" << (each.stays ? "true" : "false")
                << ",\"is_off\":" << (each.is_off ? "true" : "false") << "}\n";
    }
    return 0;
  }
  Table table({{"id", Table::Align::kRight},
               {"age", Table::Align::kRight},
               {"functions", Table::Align::kRight},
               {"hits", Table::Align::kRight},
               {"consoles", Table::Align::kRight},
               {"script", Table::Align::kLeft, /*is_elastic=*/true}});
  for (const sdk::ListedProgram& each : listed->programs) {
    table.AddRow({std::to_string(each.id), std::to_string(each.age_s) + " s", std::to_string(each.sites),
                  std::to_string(each.hits), std::to_string(each.consoles) + (each.stays ? " (stays)" : ""),
                  each.title + (each.is_off ? " (off)" : "")});
  }
  return Print(table.ToText(TerminalWidth()));
}

int Reattach(pid_t pid, ServiceClient* client, const ProbeOptions& options) {
  const auto chosen = Choose(client, options.id);
  if (!chosen.ok()) return Refuse(chosen.status().message());
  auto followed = client->Ask<sdk::FollowAnswer>(
      sdk::ProbeMessageKind::kFollow, sdk::ProgramQuestion{chosen->id}, sdk::ProbeMessageKind::kFollowed);
  if (!followed.ok()) return Refuse(followed.status().message());
  auto program = probe::ParseProgram(followed->program);
  if (!program.ok()) return Refuse(program.status().message());
  auto functions = ProcessFunctions::Of(pid);
  if (!functions.ok()) return Refuse(functions.status().message());
  std::cerr << "lagwatch: probe: script " << chosen->id << ", " << Printable(followed->title) << "\n";
  CatchEndSignals();
  AskedCommands asked(pid, program->requests);
  ProbeView view(std::move(program).value(), &*functions);
  ConsoleOptions console = options;
  console.leaves = true;
  return RunConsole(client, chosen->id, &view, &asked, console);
}

int Disarm(ServiceClient* client, const ProbeOptions& options) {
  const auto chosen = Choose(client, options.id);
  if (!chosen.ok()) return Refuse(chosen.status().message());
  const auto done = client->Ask<sdk::NumberAnswer>(
      sdk::ProbeMessageKind::kDisarm, sdk::ProgramQuestion{chosen->id}, sdk::ProbeMessageKind::kDone);
  if (!done.ok()) return Refuse(done.status().message());
  std::cout << "script " << chosen->id << " is not armed any more\n";
  return 0;
}

int SendEvent(ServiceClient* client, const std::string& text) {
  const size_t equals = text.find('=');
  const auto number = base::ParseNumber<int64_t>(equals == std::string::npos ? "0" : text.substr(equals + 1));
  if (!number) return Refuse("--event: give NAME, or NAME=NUMBER");
  const auto done = client->Ask<sdk::NumberAnswer>(
      sdk::ProbeMessageKind::kEvent, sdk::EventQuestion{.name = text.substr(0, equals), .number = *number},
      sdk::ProbeMessageKind::kDone);
  if (!done.ok()) return Refuse(done.status().message());
  std::cout << done->number << (done->number == 1 ? " probe" : " probes")
            << " of armed scripts took the event\n";
  return done->number == 0 ? 1 : 0;
}

int SetLevel(ServiceClient* client, const ProbeOptions& options) {
  constexpr uint32_t kMostLevel = 100;
  const auto level = base::ParseNumber<uint32_t>(options.level);
  if (!level || *level > kMostLevel) return Refuse("--level: give a number from 0 to 100");
  const auto chosen = Choose(client, options.id);
  if (!chosen.ok()) return Refuse(chosen.status().message());
  const auto done = client->Ask<sdk::NumberAnswer>(sdk::ProbeMessageKind::kLevel,
                                                   sdk::LevelQuestion{.id = chosen->id, .level = *level},
                                                   sdk::ProbeMessageKind::kDone);
  if (!done.ok()) return Refuse(done.status().message());
  std::cout << "script " << chosen->id << " is at level " << *level << "\n";
  return 0;
}

int PrintMethods(const std::vector<sdk::ExaminedMethod>& methods) {
  Table table({{"method", Table::Align::kLeft, /*is_elastic=*/true}, {"probe", Table::Align::kLeft}});
  size_t refused = 0;
  for (const sdk::ExaminedMethod& each : methods) {
    const bool can_be_probed = each.why_not.empty();
    refused += can_be_probed ? 0 : 1;
    table.AddRow({each.name, can_be_probed ? "bytecode" + (each.caution.empty() ? "" : ", " + each.caution)
                                           : "no: " + each.why_not});
  }
  return Print(table.ToText(TerminalWidth()) + std::to_string(methods.size() - refused) +
               " methods can be probed; " + std::to_string(refused) + " methods or classes cannot\n");
}

// Lists methods of Java.
int ListMethods(pid_t pid, const std::string& pattern) {
  auto client = OpenFor(pid, JavaSites(pattern));
  if (!client.ok()) return Refuse(client.status().message());
  const auto examined =
      client->Ask<sdk::ExamineAnswer>(sdk::ProbeMessageKind::kExamine,
                                      sdk::ExamineQuestion{.wants_return = true, .sites = JavaSites(pattern)},
                                      sdk::ProbeMessageKind::kExamined);
  return examined.ok() ? PrintMethods(examined->methods) : Refuse(examined.status().message());
}

constexpr std::string_view kOfJava = "java ";

int ListFunctions(pid_t pid, const ProbeOptions& options) {
  const std::string& pattern = options.functions;
  if (pattern.starts_with(kOfJava)) return ListMethods(pid, pattern.substr(kOfJava.size()));
  const bool may_be_java =
      pattern.find('!') == std::string::npos && !pattern.starts_with("usdt ") && IsJvm(pid);
  // Names of native functions have no points.
  if (may_be_java && pattern.find('.') != std::string::npos) return ListMethods(pid, pattern);
  auto client = ServiceClient::Connect(pid);
  const base::Status can_open = client.ok() ? base::Status() : CheckCanAttach(pid);
  if (!can_open.ok()) return Refuse(can_open.message());
  auto functions = FunctionsOf(pid, options.rules, options.servers);
  if (!functions.ok()) return Refuse(functions.status().message());
  DebugTypes types(&*functions);
  auto sites = FindFunctions(pattern, &*functions, &types, /*explains=*/!may_be_java);
  if (!sites.ok() && may_be_java) return ListMethods(pid, pattern);
  if (!sites.ok()) return Refuse(sites.status().message());
  if (!client.ok()) client = ServiceClient::Open(pid);
  if (!client.ok()) return Refuse(client.status().message());
  const auto examined = client->Ask<sdk::ExamineAnswer>(
      sdk::ProbeMessageKind::kExamine, sdk::ExamineQuestion{.wants_return = true, .sites = *sites},
      sdk::ProbeMessageKind::kExamined);
  if (!examined.ok()) return Refuse(examined.status().message());
  Table table({{"function", Table::Align::kLeft, /*is_elastic=*/true}, {"probe", Table::Align::kLeft}});
  size_t refused = 0;
  for (size_t i = 0; i < std::min(sites->size(), examined->sites.size()); ++i) {
    const sdk::SiteResult& result = examined->sites[i];
    const auto is_it = [&](const ProcessModule& each) { return each.path() == (*sites)[i].module; };
    const std::string module(std::ranges::find_if(functions->modules(), is_it)->shown_name());
    refused += result.is_armed ? 0 : 1;
    const bool has_arguments = (*sites)[i].role == sdk::SiteRole::kNote && !(*sites)[i].detail.empty();
    table.AddRow({module + "!" + (*sites)[i].name + (has_arguments ? "(" + (*sites)[i].detail + ")" : ""),
                  result.is_armed ? result.text : "no: " + result.text});
  }
  const bool are_notes = !sites->empty() && sites->front().role == sdk::SiteRole::kNote;
  const std::string noun = are_notes ? " note" : " function";
  const std::string summary = std::to_string(sites->size()) + noun + (sites->size() == 1 ? ", " : "s, ") +
                              std::to_string(refused) + " of which cannot be probed\n";
  return Print(table.ToText(TerminalWidth()) + summary);
}

int Run(ProbeOptions options) {
  if (options.lists_scripts) return Print(ListScripts());
  std::unique_ptr<collector::DebuginfodServers> servers;
  if (options.asks_debuginfod) {
    auto connected = ConnectToDebuginfod();
    if (!connected.ok()) return Refuse("--debuginfod: " + connected.status().message());
    servers = std::move(connected).value();
    options.servers = servers.get();
  }
  if (!options.for_text.empty()) {
    const auto duration = ParseDuration(options.for_text);
    if (!duration.ok()) return Refuse("--for: " + duration.status().message());
    options.for_ns = *duration;
  }
  const size_t mark = options.functions.find('!');
  const bool is_named_by_pattern = options.words.empty() && mark != std::string::npos;
  if (options.words.empty() && !is_named_by_pattern)
    return Refuse("say which process: its id or its name, and a script");
  const std::string target = is_named_by_pattern ? options.functions.substr(0, mark) : options.words.front();
  // Until `lagwatch run` has become the program it is lagwatch itself, which is not looked for.
  const auto started = base::ParseNumber<pid_t>(target);
  const auto pid = options.is_at_start && started ? base::Result<pid_t>(*started) : FindTarget(target);
  if (!pid.ok()) return Refuse(pid.status().message());
  if (!options.functions.empty()) return ListFunctions(*pid, options);
  const bool acts_on_armed = options.lists_armed || options.reattaches || options.disarms ||
                             !options.event.empty() || !options.level.empty();
  if (acts_on_armed) {
    auto client = ServiceClient::Connect(*pid);
    if (!client.ok()) return Refuse(client.status().message());
    if (options.lists_armed) return PrintArmed(&*client, options.is_json);
    if (options.disarms) return Disarm(&*client, options);
    if (!options.event.empty()) return SendEvent(&*client, options.event);
    if (!options.level.empty()) return SetLevel(&*client, options);
    return Reattach(*pid, &*client, options);
  }
  if (options.words.size() < 2)
    return Refuse("give a script, in quotes: lagwatch probe PID 'FUNCTION { count }'");
  const auto script = FindScript({options.words.begin() + 1, options.words.end()});
  if (!script.ok()) return Refuse(script.status().message());
  return ArmAndShow(*pid, *script, options);
}

}  // namespace

void AddProbeCommand(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<ProbeOptions>();
  CLI::App* probe =
      app->add_subcommand("probe", "Ask a running program a question: calls, arguments, times, callers");
  probe->footer(
      "A script says at which functions what is counted or printed. It is checked before anything is "
      "touched: it\n"
      "cannot loop, write to the program, or call into it; and it stays within a budget of 1 % of each "
      "thread's\n"
      "time. At the end the program's code is as it was. Works for programs of this user; root may probe "
      "all.\n\n"
      "  lagwatch probe redis-server 'dictFind @return if duration > 1ms { print(duration, stack) }'\n"
      "  lagwatch probe redis-server slow-calls processCommand 1ms\n"
      "  lagwatch probe 4711 'libc!open(const char* path, int flags) { count by path }' --for 10s");
  probe->add_option("words", options->words,
                    "The process, by its id or name, and the script: its text, a file NAME.lwp, or the name "
                    "of a script that comes with "
                    "lagwatch and its arguments");
  probe->add_flag("--list", options->lists_scripts, "List the scripts that come with lagwatch");
  probe->add_option(
      "--functions", options->functions,
      "List the functions that match [MODULE!]PATTERN, the methods that match 'java PATTERN', or "
      "the notes that match 'usdt PATTERN', and whether they can be probed");
  AddRulesOption(probe, &options->rules);
  probe->add_flag("--debuginfod", options->asks_debuginfod,
                  "Also ask the servers in DEBUGINFOD_URLS for the functions and types of the program and of "
                  "the modules that the script names; they learn their build ids");
  probe->add_option("--for", options->for_text, "End after this time, such as 10s");
  probe->add_flag("--json", options->is_json, "Print JSON, one object a line");
  probe->add_flag(
      "--folded", options->is_folded,
      "At the end, print stacks as lines for flame graphs (flamegraph.pl, speedscope) in place of tables");
  probe->add_option("--statsd", options->statsd,
                    "Send aggregates to HOST:PORT by the statsd protocol (UDP) each second");
  probe->add_option("--prometheus", options->prometheus_file,
                    "Write aggregates to this file each second, in Prometheus' text format");
  probe->add_option("--perfetto", options->perfetto_file,
                    "At the end, write a trace for ui.perfetto.dev: records with a duration as slices of "
                    "their threads, others as instants, aggregates as counters");
  probe->add_flag("--leave", options->leaves, "Leave the probes in the program at the end, counting");
  probe->add_flag("--armed", options->lists_armed, "List the scripts that are armed in the process");
  probe->add_flag("--reattach", options->reattaches, "Show a script that is armed already");
  probe->add_flag("--disarm", options->disarms, "Take a script's probes away");
  probe->add_option("--event", options->event, "Send an event to the armed scripts: NAME, or NAME=NUMBER");
  probe->add_option("--level", options->level, "Set the level of an armed script");
  probe->add_flag("--kernel", options->is_of_kernel,
                  "Use the kernel's probes, as root: for programs that cannot load lagwatch's library");
  probe->add_flag("--at-start", options->is_at_start)->group("");
  probe->add_option("--id", options->id, "The armed script that is meant, if there are several");
  probe->callback([=] { *exit_code = Run(*options); });
}

}  // namespace lagwatch::tools
