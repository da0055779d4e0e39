// SPDX-License-Identifier: Apache-2.0
#include "sdk/consent.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/env.h"
#include "report/config/config_file_name.h"
#include "report/format/report.h"
#include "report/spool/segment_format.h"
#include "report/spool/spool_reader.h"
#include "sdk/exit_analysis.h"
#include "sdk/run_facts.h"

namespace lagwatch::sdk {
namespace {

// Decisions and counts of whoever sends, for all programs of the directory.
constexpr std::string_view kSharedFiles[] = {"ledger", "ledger.new", "ledger.lock"};

// Which program a record is of; none when it does not say.
std::optional<std::string> AppOf(const report::SpoolRecord& record) {
  auto app_of = [](const auto& decoded) { return decoded.ok() ? std::optional(decoded->app) : std::nullopt; };
  switch (record.type) {
    case report::RecordType::kReport:
      return app_of(report::DecodeReport(record.payload));
    case report::RecordType::kRunEnd:
      return app_of(report::DecodeRunEnd(record.payload));
    case report::RecordType::kFrameSlice:
      return app_of(report::DecodeFrameSlice(record.payload));
    case report::RecordType::kUsage:
      return app_of(report::DecodeUsage(record.payload));
    default:
      return std::nullopt;
  }
}

// "SESSION-000001.seg" and its like.
bool IsSegmentName(std::string_view name) {
  if (name.size() <= base::kUuidTextSize || name[base::kUuidTextSize] != '-') return false;
  if (!base::TryParseUuid(name.substr(0, base::kUuidTextSize))) return false;
  const std::string_view rest = name.substr(base::kUuidTextSize + 1);
  const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  const std::string_view suffix = rest.substr(digits);
  return digits > 0 && (suffix == report::kNewSuffix || suffix == report::kOpenSuffix ||
                        suffix == report::kSealedSuffix || suffix == report::kRejectedSuffix);
}

struct FoundSegment {
  std::string name;
  std::string session;
  bool is_live = false;  // somebody writes it
  bool is_own = false;   // holds a record of this program
};

class Eraser {
 public:
  Eraser(const std::string& directory, const std::string& app) : directory_(directory), app_(app) {}

  void EraseSegments() {
    std::vector<std::string> names;
    if (env_.List(directory_, &names) != 0) return;
    std::vector<FoundSegment> segments;
    for (const std::string& name : names)
      if (IsSegmentName(name)) segments.push_back(Look(name));
    for (const FoundSegment& segment : segments) {
      const auto owner = other_owners_.find(segment.session);
      const bool is_others = !segment.is_own && owner != other_owners_.end();
      if (segment.is_live || is_others) {
        has_others_ = true;
      } else {
        Remove(segment.name);
      }
    }
  }
  void Remove(std::string_view name) { env_.Remove(PathOf(name).c_str()); }
  bool has_others() const { return has_others_; }

 private:
  std::string PathOf(std::string_view name) const { return directory_ + "/" + std::string(name); }

  FoundSegment Look(const std::string& name) {
    FoundSegment found{.name = name, .session = name.substr(0, base::kUuidTextSize)};
    found.is_live = env_.IsLocked(PathOf(name).c_str());
    std::string bytes;
    if (found.is_live || env_.ReadAll(PathOf(name), &bytes) != 0) return found;
    for (const report::SpoolRecord& record : report::ParseSegment(bytes).records) {
      const std::optional<std::string> app = AppOf(record);
      if (!app) continue;
      found.is_own = found.is_own || *app == app_;
      // How other programs' runs ended is told by whichever program starts next.
      if (*app != app_ && record.type != report::RecordType::kRunEnd)
        other_owners_.emplace(found.session, *app);
    }
    return found;
  }

  base::Env& env_ = base::SystemEnv();
  std::string directory_;
  std::string app_;
  std::map<std::string, std::string> other_owners_;  // of sessions
  bool has_others_ = false;
};

}  // namespace

void EraseWhatIsKept(const MonitorOptions& options) {
  const MonitorOptions normal = options.Normalized();
  RunFacts now = SystemRunFacts();
  now.app = normal.app;
  RemoveEndedRuns(normal.spool_directory, now, [](const EndedRun& run) { return run.is_of_same_program; });
  Eraser eraser(normal.spool_directory, normal.app);
  eraser.EraseSegments();
  const std::string config = report::ConfigFileName({normal.app, normal.user});
  eraser.Remove(config);
  eraser.Remove(config + std::string(report::kNewConfigSuffix));
  if (eraser.has_others()) return;
  for (const std::string_view name : kSharedFiles) eraser.Remove(name);
}

}  // namespace lagwatch::sdk
