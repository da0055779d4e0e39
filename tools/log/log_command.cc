// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "report/format/report.h"
#include "sdk/run/default_paths.h"
#include "sdk/run/local_paths.h"
#include "tools/commands.h"
#include "tools/local_symbols/local_symbolizer.h"
#include "tools/log/hang_follower.h"
#include "tools/log/journal.h"
#include "tools/log/standard_error.h"
#include "tools/read/output.h"
#include "tools/read/report_source.h"
#include "tools/read/table.h"
#include "tools/why/hang_sentence.h"

namespace lagwatch::tools {
namespace {

struct LogOptions {
  std::string spool = sdk::DefaultSpoolDirectory();
  std::string to = "stderr";
  std::string app;
  std::vector<uint32_t> pids;
  int64_t since_ms = 0;  // 0: now
  // Of the process that it is started for; without them it goes on until a signal.
  int followed_fd = -1;
  pid_t followed_run = 0;
  bool has_pids_on_fd = false;
  bool ends_when_detached = false;
};

// Reports of the processes that are followed, or of all.
class Choice {
 public:
  explicit Choice(const LogOptions& options)
      : options_(options),
        is_of_all_(options.pids.empty() && !options.has_pids_on_fd),
        pids_(options.pids.begin(), options.pids.end()) {}

  // Of those that have come since.
  void LookForProcesses() {
    if (options_.followed_run == 0) return;
    is_alive_ = false;
    for (const uint32_t pid : PidsOfRun(options_.spool, options_.followed_run)) {
      pids_.insert(pid);
      is_alive_ = was_alive_ = true;
    }
  }
  // Takes those that the starter has added by now. Returns false if it has ended: no more will come.
  bool TakeAdded() {
    uint32_t pid = 0;
    ssize_t size = 0;
    while ((size = recv(options_.followed_fd, &pid, sizeof pid, MSG_DONTWAIT)) == sizeof pid)
      pids_.insert(pid);
    return size != 0;
  }
  bool Wants(const report::Report& report) {
    if (options_.has_pids_on_fd) TakeAdded();
    return (is_of_all_ || pids_.contains(report.pid)) && (options_.app.empty() || report.app == options_.app);
  }
  bool is_alive() const { return is_alive_; }
  bool is_detached() const { return options_.ends_when_detached && was_alive_ && !is_alive_; }

 private:
  const LogOptions& options_;
  bool is_of_all_;
  std::set<uint32_t> pids_;
  bool is_alive_ = false;  // a process of the run is
  bool was_alive_ = false;
};

// The report as the API returns it, with the names that this machine has.
base::Result<Json> NamedReport(const HangFollower::Hang& hang, const std::string& spool) {
  std::string batch;
  report::AppendToBatch({report::RecordType::kReport, hang.report}, &batch);
  auto symbolizer = LAGWATCH_TRY(LocalSymbolizer::Create({.root = sdk::RootOfSpool(spool)}));
  const auto source = LAGWATCH_TRY(OpenSpool(
      "", [&](const std::string&) { return base::Result<std::string>(batch); }, std::move(symbolizer)));
  return source->Get("/v1/reports/" + base::ToString(hang.report_id), {});
}

JournalFields FieldsOf(const Json& report) {
  constexpr char kHangMessage[] = "6f9d0e5c1b7a4f0c9a2e4d5b83c7f1a6";
  constexpr char kWarning[] = "4";
  const std::string guilty = GuiltyFunction(report);
  JournalFields fields = {
      {"MESSAGE", HangBlock(report)},
      {"MESSAGE_ID", kHangMessage},
      {"PRIORITY", kWarning},
      {"SYSLOG_IDENTIFIER", "lagwatch"},
      {"OBJECT_PID", report.at("pid").dump()},
      {"LAGWATCH_APP", report.at("app").get<std::string>()},
      {"LAGWATCH_VERSION", report.at("version").get<std::string>()},
      {"LAGWATCH_PID", report.at("pid").dump()},
      {"LAGWATCH_TID", report.at("tid").dump()},
      {"LAGWATCH_LOOP", report.at("loop").get<std::string>()},
      {"LAGWATCH_TAG", report.at("tag").get<std::string>()},
      {"LAGWATCH_DURATION_MS", std::to_string(static_cast<int64_t>(report.at("duration_ms").get<double>()))},
      {"LAGWATCH_VERDICT", report.at("verdict").at("word").get<std::string>()},
      {"LAGWATCH_FUNCTION", guilty},
      {"LAGWATCH_REPORT", report.at("id").get<std::string>()}};
  for (const Json& frame : report.at("expensive_stack")) {
    if (frame.at("function") != guilty || frame.value("line", Json()).is_null()) continue;
    fields.emplace_back("LAGWATCH_LINE", frame.at("line").dump());
    if (const Json file = frame.value("file", Json()); file.is_string())
      fields.emplace_back("LAGWATCH_FILE", file.get<std::string>());
    break;
  }
  return fields;
}

// Says hangs, on stderr or in the journal. A hang that cannot be said is counted, and said to be missing.
class HangWriter {
 public:
  HangWriter(const LogOptions& options, std::optional<Journal> journal)
      : options_(options), journal_(std::move(journal)) {}

  // False if nothing more can be said.
  bool Say(const HangFollower::Hang& hang) {
    const base::Status status = Write(hang);
    if (!status.ok()) {
      ++missing_count_;
      failure_ = status.message();
    }
    // Again with a later hang, if stderr takes nothing now.
    if (!failure_.empty() && Complain(failure_)) failure_.clear();
    return journal_ || !is_stderr_broken_;
  }

 private:
  base::Status Write(const HangFollower::Hang& hang) {
    try {
      const Json report = LAGWATCH_TRY(NamedReport(hang, options_.spool));
      return journal_ ? journal_->Write(FieldsOf(report)) : WriteText("lagwatch: " + HangBlock(report));
    } catch (const std::exception& error) {
      return {base::StatusCode::kInvalid,
              "report " + base::ToString(hang.report_id) + " cannot be read: " + error.what()};
    }
  }
  bool Complain(const std::string& message) {
    return WriteText("lagwatch: log: " + Printable(message) + " (" + std::to_string(missing_count_) +
                     " not logged so far)\n")
        .ok();
  }
  base::Status WriteText(const std::string& text) {
    base::Status status = WriteToStandardError(text);
    is_stderr_broken_ = status.code() == base::StatusCode::kIo;
    return status;
  }

  const LogOptions& options_;
  std::optional<Journal> journal_;
  uint64_t missing_count_ = 0;
  std::string failure_;  // that has not been said
  bool is_stderr_broken_ = false;
};

int Log(const LogOptions& options) {
  // The names of functions, the owner of a lock and the other side come to the report right after it.
  constexpr std::chrono::milliseconds kUntilWhole{150};
  constexpr int kLookForEndMs = 500;
  signal(SIGPIPE, SIG_IGN);
  std::optional<Journal> journal;
  if (options.to == "journal") {
    auto opened = Journal::Open();
    if (!opened.ok()) return Fail("log: " + opened.status().message());
    journal.emplace(std::move(opened).value());
  }
  HangWriter writer(options, std::move(journal));
  Choice choice(options);
  HangFollower follower(options.spool,
                        options.since_ms == 0 ? base::SystemClock().WallMs() : options.since_ms,
                        [&](const report::Report& report) { return choice.Wants(report); });
  for (bool has_ended = false;;) {
    const bool needs_looks = has_ended || options.ends_when_detached;
    const bool is_readable =
        follower.Await(has_ended ? -1 : options.followed_fd, needs_looks ? kLookForEndMs : -1);
    has_ended = has_ended || (is_readable && !(options.has_pids_on_fd && choice.TakeAdded()));
    choice.LookForProcesses();
    follower.Look();
    if (follower.has_found()) {
      std::this_thread::sleep_for(kUntilWhole);
      follower.Look();
    }
    for (const HangFollower::Hang& hang : follower.Take())
      if (!writer.Say(hang)) return 1;
    if ((has_ended && !choice.is_alive()) || choice.is_detached()) return 0;
    // The reader of a pipe waits until all have closed it, also while the program's children go on.
    if (has_ended && IsStandardErrorPipe()) {
      if (options.to == "stderr") return 0;
      CloseStandardError();
    }
  }
}

}  // namespace

void AddLogCommand(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<LogOptions>();
  CLI::App* log = app->add_subcommand("log", "Say each hang as it happens, on stderr or in the journal");
  log->footer(
      "Follows a spool directory until Ctrl-C, and says each hang that is reported there, once, when its "
      "first\n"
      "report is on disk. The programs are not touched. `lagwatch run`, `attach` and `watch` do the same for "
      "their\n"
      "programs, with --log.\n\n"
      "  lagwatch log\n"
      "  lagwatch log --to journal --app editor\n"
      "  journalctl -t lagwatch LAGWATCH_VERDICT=lock -o verbose");
  log->add_option("--spool", options->spool, "The spool directory")
      ->envname("LAGWATCH_SPOOL")
      ->capture_default_str();
  log->add_option("--to", options->to, "stderr, or journal: systemd's, with a field for each fact")
      ->check(CLI::IsMember({"stderr", "journal"}))
      ->capture_default_str();
  log->add_option("--app", options->app, "Only this program");
  log->add_option("--pid", options->pids, "Only these processes");
  // Set by `lagwatch run`, `attach` and `watch`: as of `lagwatch upload`.
  log->add_option("--since-ms", options->since_ms)->group("");
  log->add_option("--follow-fd", options->followed_fd)->group("");
  log->add_option("--follow-run", options->followed_run)->group("");
  log->add_flag("--pids-on-fd", options->has_pids_on_fd)->group("");
  log->add_flag("--until-detached", options->ends_when_detached)->group("");
  log->callback([options, exit_code] { *exit_code = Log(*options); });
}

}  // namespace lagwatch::tools
