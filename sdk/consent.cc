// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/process/env.h"
#include "base/process/quiet_thread.h"
#include "base/process/sleeper.h"
#include "report/config/config_file_name.h"
#include "report/spool/record_facts.h"
#include "report/spool/spool_directory.h"
#include "report/upload/ledger_file.h"
#include "sdk/host_limits.h"
#include "sdk/run/exit_analysis.h"
#include "sdk/run/run_facts.h"
#include "sdk/upload_service.h"

namespace lagwatch::sdk {
namespace {

struct FoundSegment {
  std::string name;
  std::string session;
  bool is_live = false;        // a process is writing it
  bool is_own = false;         // holds a record of this program
  bool counts_others = false;  // holds what was counted of another program, which any may have written down
};

class Eraser {
 public:
  explicit Eraser(const MonitorOptions& normal)
      : directory_(normal.spool_directory), app_(normal.app), user_(normal.user) {}

  void Erase() {
    // While this has the lock, no other process decides what is sent. A sender's round may take long: then
    // without the lock.
    report::LedgerFile ledger(&env_, directory_);
    const bool has_ledger = HasFile(report::kLedgerName) || HasFile(report::kLedgerTemporaryName);
    const bool has_lock = has_ledger && TryEnter(&ledger);
    EraseRuns();
    EraseSegments();
    EraseConfig();
    if (has_lock) EraseCounts(&ledger);
  }

 private:
  std::string PathOf(std::string_view name) const { return directory_ + "/" + std::string(name); }
  bool HasFile(std::string_view name) { return env_.Exists(PathOf(name).c_str()); }
  void Remove(std::string_view name) { env_.Remove(PathOf(name).c_str()); }

  static bool TryEnter(report::LedgerFile* ledger) {
    constexpr int kTries = 20;
    constexpr int64_t kBetweenNs = 25 * base::kNsPerMs;
    const base::Clock& clock = base::SystemClock();
    base::Sleeper sleeper;
    for (int i = 0; i < kTries; ++i) {
      const base::Status entered = ledger->Enter(clock.WallMs());
      if (entered.code() != base::StatusCode::kUnavailable) return entered.ok();
      sleeper.SleepUntil(clock.MonoNs() + kBetweenNs);
    }
    return false;
  }

  void EraseRuns() {
    RunFacts now = SystemRunFacts();
    now.app = app_;
    RemoveEndedRuns(directory_, now, [](const EndedRun& run) { return run.is_of_same_program; });
    std::vector<std::string> names;
    env_.List(PathOf(kRunDirectoryName), &names);
    for (const std::string& name : names) has_others_ = has_others_ || name.ends_with(kRunSuffix);
  }

  void EraseSegments() {
    std::vector<FoundSegment> segments;
    for (const std::string& name : SegmentNames()) segments.push_back(Look(name));
    for (const FoundSegment& segment : segments) {
      const bool is_others = segment.counts_others || others_sessions_.contains(segment.session);
      if (segment.is_live || (is_others && !segment.is_own)) {
        has_others_ = true;
      } else {
        Remove(segment.name);
      }
    }
  }

  std::vector<std::string> SegmentNames() {
    std::vector<std::string> names;
    env_.List(directory_, &names);
    std::erase_if(names, [&](const std::string& name) {
      base::FileFacts facts;
      return report::SegmentSuffix(name).empty() || env_.Look(PathOf(name).c_str(), &facts) != 0 ||
             facts.kind != base::FileFacts::FileKind::kFile;
    });
    return names;
  }

  FoundSegment Look(const std::string& name) {
    FoundSegment found{.name = name, .session = name.substr(0, base::kUuidTextSize)};
    found.is_live = env_.IsLocked(PathOf(name).c_str());
    std::string bytes;
    if (found.is_live || env_.ReadAll(PathOf(name), &bytes) != 0) return found;
    for (const report::RecordFacts& record : report::FactsOf(report::ParseSegment(bytes)).records) {
      const std::string& app = record.origin.app;
      if (app.empty()) continue;
      if (app == app_) {
        found.is_own = true;
      } else if (record.type == report::RecordType::kLosses) {
        found.counts_others = true;
      } else if (record.type != report::RecordType::kRunEnd) {
        // The program that starts next reports how other programs' runs ended.
        others_sessions_.insert(found.session);
      }
    }
    return found;
  }

  void EraseConfig() {
    const std::string config = report::ConfigFileName({app_, user_});
    Remove(config);
    Remove(config + std::string(report::kNewConfigSuffix));
  }

  // Counts that may be another program's are removed with the last one. The lock's file stays: a process that
  // has it open would otherwise lock another file than later ones.
  void EraseCounts(report::LedgerFile* file) {
    report::UploadLedger& ledger = *file->ledger();
    Forget({.app = app_, .user = user_}, &ledger);
    if (!has_others_) Forget({}, &ledger);
    Remove(report::kLedgerTemporaryName);
    const bool is_of_nobody = ledger.losses.empty() && ledger.frozen.empty() && ledger.quota_uses.empty();
    if (is_of_nobody && !has_others_) return Remove(report::kLedgerName);
    std::set<std::string> present;
    for (const std::string& name : SegmentNames()) present.insert(report::StemOf(name));
    static_cast<void>(file->Save(present));  // on a full disk the counts stay
  }

  static void Forget(const report::Origin& origin, report::UploadLedger* ledger) {
    auto is_of_app = [&](const report::Losses& losses) { return losses.app == origin.app; };
    std::erase_if(ledger->losses, is_of_app);
    std::erase_if(ledger->frozen, is_of_app);
    report::UploadLedger own{.installation = ledger->installation};
    using Quota = report::UploadLedger::Quota;
    for (const Quota quota : {Quota::kReports, Quota::kTraces, Quota::kTraceKib})
      own.QuotaUseOf(origin, quota);
    for (const auto& [key, use] : own.quota_uses) ledger->quota_uses.erase(key);
  }

  base::Env& env_ = base::SystemEnv();
  std::string directory_;
  std::string app_;
  std::string user_;
  std::set<std::string> others_sessions_;
  bool has_others_ = false;  // another program uses the directory
};

}  // namespace

void EraseWhatIsKept(const MonitorOptions& options) {
  ScopedNoFileSizeSignal no_signal;
  const MonitorOptions normal = options.Normalized();
  // Without a thread it stays, as it does on a disk that refuses to remove it.
  static_cast<void>(base::RunWithOwnFiles([&] {
    if (report::CheckSpoolDirectory(&base::SystemEnv(), normal.spool_directory).ok()) Eraser(normal).Erase();
  }));
}

}  // namespace lagwatch::sdk
