// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "sdk/preload/environment/unwatched_notes.h"
#include "tools/commands.h"
#include "tools/read/hang_filter.h"
#include "tools/read/output.h"
#include "tools/read/report_lists.h"
#include "tools/read/report_source.h"
#include "tools/read/screen.h"
#include "tools/read/source_flags.h"
#include "tools/read/table.h"
#include "trace/export/export.h"

namespace lagwatch::tools {
namespace {

using collector::QueryString;

// The options that all reading commands share.
struct Flags : SourceFlags {
  bool json = false;
  bool verbose = false;
  int level = 1;
  int limit = 100;
  std::string app;
  std::string user;
  HangFilter filter;
  bool has_all_frames = false;
  std::string baseline;  // the versions that are compared
  std::string version;
  std::string cluster;
  std::string key;
  std::string state;
  std::string new_in;
  std::vector<std::string> by;
  double longer_than_s = 0;
  std::string id;
  std::string trace_file;
  ScreenOptions screen;
};

// Of a list that is empty: which of the filter's texts no report has, and the one that was probably meant.
void SayProbableTexts(ReportSource* source, const Flags& flags) {
  std::map<std::string, std::string> wanted = flags.filter.texts;
  wanted["app"] = flags.app;
  std::erase_if(wanted, [](const auto& text) { return text.second.empty(); });
  if (wanted.empty()) return;
  const auto values = source->Get("/v1/values", {});
  if (!values.ok()) return;  // an older collector
  for (const auto& [name, text] : wanted) {
    const std::string hint = HintAt(name, text, values->value(name, std::vector<std::string>()));
    if (!hint.empty()) Fail(hint);
  }
}

// Asks, then prints: JSON as it came, a table or text otherwise. `none` is said of an empty list.
template <typename ToText>
int Show(const Flags& flags, const std::string& path, const QueryString& query, const char* none,
         ToText to_text, const Paint& paint = PaintTables) {
  auto source = OpenSource(flags);
  if (!source.ok()) return Fail(source.status().message());
  auto answer = (*source)->Get(path, query);
  if (!answer.ok()) return Fail(answer.status().message());
  return ShowAnswer([&] {
    if (answer->empty()) {
      Fail(none);
      SayProbableTexts(source->get(), flags);
    }
    if (flags.json) return PrintOnScreen(answer->dump(2) + "\n", flags.screen);
    return answer->empty() ? 0 : PrintOnScreen(to_text(*answer), flags.screen, paint);
  });
}

// The query of a list.
QueryString ListQuery(const Flags& flags) {
  QueryString query;
  query.Set("limit", std::to_string(flags.limit));
  query.Set("app", flags.app);
  return query;
}

// Prints on stderr which programs were to be watched in the last week and were not, also those of which only
// some threads were not, if `shows_threads`. Only a spool knows that.
void PrintUnwatched(const Flags& flags, bool shows_threads) {
  constexpr int64_t kShownMs = 7 * base::kMsPerDay;
  if (!EndpointOf(flags).empty()) return;
  const int64_t from_wall_ms = base::SystemClock().WallMs() - kShownMs;
  for (const sdk::UnwatchedNote& note : sdk::ReadUnwatchedNotes(SpoolOf(flags), from_wall_ms)) {
    if (!flags.app.empty() && note.app != flags.app) continue;
    if (note.IsOfThreads() && !shows_threads) continue;
    const std::string time = UtcTime(note.wall_ms) + " UTC";
    std::fprintf(stderr, "lagwatch: not watched: %s (process %u, %s): %s\n", Printable(note.app).c_str(),
                 note.pid, time.c_str(), Printable(note.why).c_str());
  }
}

// Calls `print(name, usage)` for each of the watched programs, as far as the records have them.
template <typename Print>
void PrintPrograms(const Flags& flags, Print print) {
  auto source = OpenSource(flags);
  if (!source.ok()) return;
  const auto usage = (*source)->Get("/v1/usage", ListQuery(flags));
  if (!usage.ok() || !usage->is_array()) return;
  for (const Json& program : *usage) {
    const std::string version = program.value("version", "");
    print(Printable(program.value("app", "") + (version.empty() ? "" : " " + version)), program);
  }
}

void PrintWatched(const Flags& flags) {
  PrintPrograms(flags, [](const std::string& name, const Json& program) {
    const long long hangs = program.value("hangs", 0LL);
    std::fprintf(stderr, "lagwatch: watched %s for %.1f s: %lld dispatches, %lld hang%s\n", name.c_str(),
                 program.value("watched_ms", 0.0) / 1000, program.value("dispatches", 0LL), hangs,
                 hangs == 1 ? "" : "s");
  });
}

// The waits of which nothing says whether they were hangs.
void PrintUnproven(const Flags& flags) {
  PrintPrograms(flags, [](const std::string& name, const Json& program) {
    const long long waits = program.value("suppressed", Json::object()).value("unproven", 0LL);
    if (waits == 0) return;
    std::fprintf(stderr, "lagwatch: %s: %lld wait%s may have been idleness\n", name.c_str(), waits,
                 waits == 1 ? "" : "s");
  });
}

// The query of a list of hangs.
QueryString FilterQuery(const Flags& flags) {
  QueryString query = ListQuery(flags);
  flags.filter.AddTo(&query);
  return query;
}

int ShowClusters(const Flags& flags) {
  QueryString query = FilterQuery(flags);
  query.Set("level", std::to_string(flags.level));
  query.Set("state", flags.state);
  query.Set("new_in", flags.new_in);
  query.Set("packages", "3");
  return Show(flags, "/v1/clusters", query, "no hangs were reported",
              [&](const Json& clusters) { return ClusterTable(clusters, flags.level, TerminalWidth()); });
}

// The texts that a breakdown is by, most useful first.
const std::vector<std::string>& BreakdownTexts() {
  static const std::vector<std::string> texts = {"verdict", "version", "distribution", "os",
                                                 "loop",    "tag",     "kind",         "app"};
  return texts;
}

// Of a cause, its versions have rates, too.
int ShowBreakdown(const Flags& flags) {
  QueryString query = FilterQuery(flags);
  query.Set("limit", "");
  const QueryString of_cause = query;
  if (flags.longer_than_s > 0)
    query.Set("least_ms", std::to_string(static_cast<int64_t>(flags.longer_than_s * 1000)));
  const std::string cause = "/v1/clusters/" + flags.cluster;
  const auto& texts = flags.by.empty() ? BreakdownTexts() : flags.by;
  const int exit_code =
      Show(flags, flags.cluster.empty() ? "/v1/breakdown" : cause + "/breakdown", query, "no hangs match",
           [&](const Json& breakdown) { return BreakdownText(breakdown, texts, TerminalWidth()); });
  const bool has_versions = std::ranges::find(texts, "version") != texts.end();
  if (exit_code != 0 || flags.json || flags.cluster.empty() || !has_versions) return exit_code;
  QueryString by_version = of_cause;
  by_version.Set("by", "version");
  return Show(flags, cause, by_version, "no hangs match", [](const Json& answer) {
    return "\n" + CauseVersionTable(answer.at("by_version"), TerminalWidth());
  });
}

int ShowReports(const Flags& flags) {
  QueryString query = FilterQuery(flags);
  query.Set("cluster", flags.cluster);
  const int exit_code = Show(flags, "/v1/reports", query, "no reports match",
                             [](const Json& reports) { return ReportTable(reports, TerminalWidth()); });
  if (flags.verbose) PrintWatched(flags);
  PrintUnwatched(flags, flags.verbose);
  return exit_code;
}

// Of the versions that are compared, which one is not there, and the one that was probably meant.
int RefuseVersions(ReportSource* source, const Flags& flags, const base::Status& status) {
  std::vector<std::string> known;
  const auto usage = source->Get("/v1/usage", ListQuery(flags));
  for (const Json& program : usage.ok() ? *usage : Json::array())
    known.push_back(program.value("version", ""));
  const auto values = source->Get("/v1/values", {});
  for (const auto& version :
       values.ok() ? values->value("version", std::vector<std::string>()) : std::vector<std::string>())
    known.push_back(version);
  bool is_said = false;
  for (const std::string& version : {flags.baseline, flags.version}) {
    const std::string hint = HintAt("version", version, known);
    if (!hint.empty()) Fail(hint);
    is_said = is_said || !hint.empty();
  }
  return is_said ? 1 : Fail(status.message());
}

int ShowComparison(const Flags& flags) {
  auto source = OpenSource(flags);
  if (!source.ok()) return Fail(source.status().message());
  QueryString query = FilterQuery(flags);
  query.Set("baseline", flags.baseline);
  query.Set("version", flags.version);
  query.Set("level", std::to_string(flags.level));
  const auto answer = (*source)->Get("/v1/compare", query);
  if (!answer.ok() && answer.status().code() == base::StatusCode::kNotFound)
    return RefuseVersions(source->get(), flags, answer.status());
  if (!answer.ok()) return Fail(answer.status().message());
  return ShowAnswer([&] {
    const std::string text =
        flags.json ? answer->dump(2) + "\n" : ComparisonText(*answer, flags.level, TerminalWidth());
    return PrintOnScreen(text, flags.screen, flags.json ? Paint() : Paint(PaintTables));
  });
}

int ShowFrames(const Flags& flags) {
  return Show(flags, "/v1/frames", ListQuery(flags), "no frames were reported",
              [](const Json& frames) { return FrameTable(frames, TerminalWidth()); });
}

// The name of the API for the format of such a file; empty for none.
std::string FormatOfFile(const std::string& file) {
  if (file.ends_with(".lwtrace")) return "lwtrace";
  const auto format = trace::FindFormat(file);
  return format ? std::string(trace::InfoOf(*format).name) : "";
}

base::Result<std::string> TraceOfReport(ReportSource* source, const std::string& report_id) {
  const auto report = LAGWATCH_TRY(source->Get("/v1/reports/" + report_id, {}));
  const Json traces = report.value("traces", Json::array());
  if (traces.empty()) return base::Status(base::StatusCode::kNotFound, "the report has no trace");
  return traces.front().at("id").get<std::string>();
}

// The collector looks names up when they are asked for, and never makes a reader wait for them: a file has
// those that are known by then.
void AwaitNames(ReportSource* source, const std::string& trace_id) {
  constexpr int kTries = 20;
  constexpr std::chrono::milliseconds kPause{250};
  for (int i = 0; i < kTries; ++i) {
    const auto flame = source->Get("/v1/traces/" + trace_id + "/flame", {});
    if (!flame.ok() || !flame->value("names_pending", false)) return;
    std::this_thread::sleep_for(kPause);
  }
  std::cerr
      << "lagwatch: the collector still looks up names of functions; the file has those that it knows\n";
}

// `find_id` returns the trace's id, given a source of reports.
template <typename FindId>
int SaveTrace(const Flags& flags, FindId find_id) {
  auto source = OpenSource(flags);
  if (!source.ok()) return Fail(source.status().message());
  const base::Result<std::string> id = find_id(source->get());
  if (!id.ok()) return Fail(id.status().message());
  AwaitNames(source->get(), *id);
  QueryString query;
  query.Set("format", FormatOfFile(flags.trace_file));
  const auto trace = (*source)->GetFile("/v1/traces/" + *id, query);
  if (!trace.ok()) return Fail(trace.status().message());
  std::ofstream file(flags.trace_file, std::ios::binary);
  file << *trace;
  file.close();
  return file ? 0 : Fail("cannot write to " + flags.trace_file);
}

int ShowTraces(const Flags& flags) {
  if (!flags.id.empty()) return SaveTrace(flags, [&](ReportSource*) { return flags.id; });
  return Show(flags, "/v1/traces", ListQuery(flags), "no traces match",
              [](const Json& traces) { return TraceTable(traces, TerminalWidth()); });
}

int ShowReport(const Flags& flags) {
  if (!flags.trace_file.empty())
    return SaveTrace(flags, [&](ReportSource* source) { return TraceOfReport(source, flags.id); });
  return Show(
      flags, "/v1/reports/" + flags.id, {}, "the report is empty",
      [&](const Json& report) {
        // In a pipe or a file nothing is left out.
        if (isatty(STDOUT_FILENO) == 0) return ReportText(report);
        return Narrowed(ReportText(report, flags.has_all_frames ? StackStyle::kMarked : StackStyle::kFolded),
                        TerminalWidth(),
                        {"Timeline", "Dispatches before", "Facts", "Before the hang", "Threads"},
                        "A wider terminal also shows the timeline, facts and threads.");
      },
      PaintReport);
}

int ShowUsage(const Flags& flags) {
  QueryString query = ListQuery(flags);
  query.Set("user", flags.user);
  if (!flags.key.empty()) {
    query.Set("by", "value");
    query.Set("key", flags.key);
    return Show(flags, "/v1/usage", query, "no usage was reported by this key",
                [](const Json& values) { return ValueTable(values, TerminalWidth()); });
  }
  return Show(flags, "/v1/usage", query, "no usage was reported yet",
              [](const Json& usage) { return UsageText(usage, TerminalWidth()); });
}

int ShowLosses(const Flags& flags) {
  const int exit_code = Show(flags, "/v1/losses", ListQuery(flags), "no reports were lost or held back",
                             [](const Json& losses) { return LossTable(losses, TerminalWidth()); });
  PrintUnproven(flags);
  PrintUnwatched(flags, /*shows_threads=*/true);
  return exit_code;
}

// As CLI11 expects: an error message, or an empty text.
std::string CheckId(const std::string& id) {
  bool is_good = id.find_first_not_of("0123456789abcdefABCDEF-") == std::string::npos;
  return is_good ? "" : "'" + id + "' is not an id; `lagwatch reports` and `lagwatch traces` list them";
}

std::string CheckTraceFile(const std::string& file) {
  if (!FormatOfFile(file).empty()) return "";
  std::string endings = ".lwtrace";
  for (const trace::FormatInfo& info : trace::Formats()) endings += ", " + std::string(info.suffix);
  return "the file's name selects the format; it must end in one of " + endings;
}

using Run = int (*)(const Flags&);

struct Command {
  CLI::App* app;
  Flags* flags;  // as long as `app`
};

// The parameters of AddReadCommands.
struct Reading {
  CLI::App* app;
  const LoadRecords& load_records;
  const std::string& symbol_worker;
  int* exit_code;
};

// Flags are each command's own: CLI11 would let one command's environment change another's.
Command AddCommand(const Reading& reading, const char* name, const char* description, Run run) {
  auto flags = std::make_shared<Flags>();
  flags->load_records = reading.load_records;
  flags->symbol_worker = reading.symbol_worker;
  CLI::App* command = reading.app->add_subcommand(name, description);
  AddSourceFlags(command, flags.get());
  command->add_flag("--json", flags->json, "Print JSON");
  AddScreenFlags(command, &flags->screen);
  command->callback([run, flags, exit_code = reading.exit_code] { *exit_code = run(*flags); });
  return {command, flags.get()};
}

void AddListFlags(const Command& command) {
  command.app->add_option("--app", command.flags->app, "Only this program");
  command.app->add_option("--limit", command.flags->limit, "The most rows to show")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
}

void AddLevelFlag(const Command& command) {
  command.app->add_option("--level", command.flags->level, "1: causes by their innermost 2 frames; 2: by 4")
      ->check(CLI::IsMember({1, 2}))
      ->capture_default_str();
}

void AddCompareCommand(const Reading& reading) {
  Command compare =
      AddCommand(reading, "compare", "Show the causes of two versions side by side", &ShowComparison);
  compare.app->add_option("BASELINE", compare.flags->baseline, "The version to compare with")->required();
  compare.app->add_option("VERSION", compare.flags->version, "The version to look at")->required();
  AddListFlags(compare);
  AddCommonFilterFlags(compare.app, &compare.flags->filter);
  AddLevelFlag(compare);
  compare.app->footer(
      "S/H: seconds of hangs in an hour of watched time, estimated for all users, with its 95 % interval. "
      "CHANGE\n"
      "is said only where the intervals of the two versions do not overlap: new, gone, more or less. Without "
      "a\n"
      "word, chance may explain the difference.\n\n"
      "  lagwatch compare 2.3.0 2.4.0 --app editor");
  AddDebuginfodFlag(compare.app, compare.flags);
}

}  // namespace

void AddReadCommands(CLI::App* app, const LoadRecords& load_records, const std::string& symbol_worker,
                     int* exit_code) {
  const Reading reading{app, load_records, symbol_worker, exit_code};
  Command clusters =
      AddCommand(reading, "clusters", "Show causes of hangs, the costliest first", &ShowClusters);
  AddListFlags(clusters);
  AddFilterFlags(clusters.app, &clusters.flags->filter);
  AddLevelFlag(clusters);

  clusters.app->add_option("--state", clusters.flags->state,
                           "Only causes in these states: all, or new, known, regressed, fixed, ignored, "
                           "separated by commas (default: all except fixed and ignored)");
  clusters.app->footer(
      "HANG-S (seconds) and HANGS are estimates for all users, also those whose reports are not sent;\n"
      "--json also has the numbers received.");

  clusters.app->add_option("--new-in", clusters.flags->new_in,
                           "Only causes of this version of --app that no older version has");

  AddDebuginfodFlag(clusters.app, clusters.flags);

  Command breakdown = AddCommand(
      reading, "breakdown", "Show hangs, of a cause or of all, by version, system and more", &ShowBreakdown);
  breakdown.app->add_option("--app", breakdown.flags->app, "Only this program");
  AddFilterFlags(breakdown.app, &breakdown.flags->filter);
  breakdown.app->add_option("--cluster", breakdown.flags->cluster, "Only the cause with this key");
  breakdown.app
      ->add_option("--by", breakdown.flags->by,
                   "What to break down by, several with commas between them: " +
                       Join(BreakdownTexts(), ", ") + " (default: all)")
      ->delimiter(',')
      ->check(CLI::IsMember(BreakdownTexts()));
  breakdown.app
      ->add_option("--longer-than", breakdown.flags->longer_than_s,
                   "Only hangs that lasted at least so many seconds")
      ->check(CLI::PositiveNumber);
  AddDebuginfodFlag(breakdown.app, breakdown.flags);

  Command reports = AddCommand(reading, "reports", "List reports, the newest first", &ShowReports);
  AddListFlags(reports);
  AddFilterFlags(reports.app, &reports.flags->filter);
  reports.app->add_flag("--verbose", reports.flags->verbose,
                        "Print the watched time of each program on stderr");
  reports.app->add_option("--cluster", reports.flags->cluster, "Only reports of the cluster with this key");

  AddDebuginfodFlag(reports.app, reports.flags);

  AddCompareCommand(reading);

  Command traces =
      AddCommand(reading, "traces", "List traces, the newest first, or write one to a file", &ShowTraces);
  AddListFlags(traces);
  auto* trace_id =
      traces.app->add_option("ID", traces.flags->id, "The id of the trace to write")->check(&CheckId);
  auto* trace_file =
      traces.app
          ->add_option("-o,--output", traces.flags->trace_file,
                       "The file; its name selects the format: .perfetto-trace, .speedscope.json, "
                       ".pb.gz …")
          ->check(&CheckTraceFile)
          ->needs(trace_id);
  trace_id->needs(trace_file);
  AddDebuginfodFlag(traces.app, traces.flags);

  Command frames =
      AddCommand(reading, "frames", "Show dropped frames of the display, the worst first", &ShowFrames);
  AddListFlags(frames);
  Command usage = AddCommand(reading, "usage", "Show watched time and hang rates of programs", &ShowUsage);
  AddListFlags(usage);
  usage.app->add_option("--user", usage.flags->user, "Only this user");
  usage.app->add_option("--key", usage.flags->key, "By the values of this key of the program's usage_keys");

  AddListFlags(
      AddCommand(reading, "losses", "Show how many reports were not sent or lost, by reason", &ShowLosses));

  Command report = AddCommand(reading, "report", "Show one report in full", &ShowReport);
  report.app->add_option("ID", report.flags->id, "The report's id, or its beginning")
      ->required()
      ->check(&CheckId);
  report.app
      ->add_option("--trace", report.flags->trace_file,
                   "Write the report's trace to this file, in the format that its name selects: "
                   ".perfetto-trace, .speedscope.json, .pb.gz …")
      ->check(&CheckTraceFile);
  report.app->add_flag("--all-frames", report.flags->has_all_frames,
                       "On a terminal, show frames of libraries and the system, too, which are folded");
  AddDebuginfodFlag(report.app, report.flags);
}

}  // namespace lagwatch::tools
