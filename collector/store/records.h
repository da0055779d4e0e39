// SPDX-License-Identifier: Apache-2.0
// The records that a store takes and returns. Context: background.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/uuid.h"
#include "collector/cluster/cause_sums.h"
#include "collector/cluster/clusterer.h"
#include "collector/store/report_filter.h"
#include "collector/store/rows/note_row.h"
#include "collector/store/rows/report_row.h"
#include "collector/store/rows/run_end_row.h"
#include "collector/store/rows/trace_row.h"
#include "report/format/losses.h"
#include "report/format/report.h"
#include "report/format/trace_record.h"

namespace lagwatch::collector {

struct StoredReport {
  ReportRow row;
  std::string payload;
};

struct StoredTrace {
  TraceRow row;
  std::string trace;  // as its client packed it
};

// Reports of one program version, one reason and one cause that were made and never came.
struct LossRow {
  std::string app;
  std::string version;
  std::string reason;
  int64_t cause = 0;
  int64_t count = 0;
  double weighted_count = 0;  // of all users, where the losses are a sample's
};

// Number of runs of one program version that ended for one reason.
struct ExitCount {
  std::string app;
  std::string version;
  std::string reason;
  int64_t runs = 0;
};

// All that is known of the frames of one program version's loop in one scene. Sums are cut to int64_t.
struct FrameSummary {
  std::string app;
  std::string version;
  std::string loop;
  std::string scene;
  int64_t slices = 0;
  int64_t users = 0;  // those that clients named
  int64_t last_seen_ms = 0;
  int64_t refresh_interval_ns = 0;  // weighted by frames
  policies::FrameTotals frames;
};

// A report on its way into the store. The row's clusters, duration and part of the hang are the store's.
struct NewReport {
  ReportRow row;
  ClusterPath clusters;
  std::string payload;  // as it was encoded
  // Raw build ids of modules that have frames without a name in the stack that the clusters are made of.
  std::vector<std::string> unnamed_builds = {};

  static NewReport Create(const report::Report& report, ClusterPath clusters, std::string_view payload);
};

struct NewUsage {
  report::Usage usage;
  std::string payload;  // as it was encoded
};

struct NewTrace {
  TraceRow row;
  std::string trace;  // as it was packed

  static NewTrace Create(report::TraceRecord record);
};

// The watched time of a record's loops; for a sampled user, of all the users that it stands for.
double WatchedNsOf(const report::Usage& usage);

struct NewRecord : std::variant<NewReport, report::HangEnd, report::RunEnd, report::FrameSlice, NewUsage,
                                report::Losses, NewTrace, report::OwnedRecord> {
  // An OwnedRecord is of a type that only a newer lagwatch knows: kept as it is, for when this one is
  // updated.
  using variant::variant;

  std::string sender = {};  // the name of the key that brought it; empty: not known
  double capped_ns = 0;     // hang time, with its weight, that it says and does not count with
};

enum class CommitOutcome {
  kStored,
  kDuplicate,  // it was there already: nothing changed
  kNoRoom,     // one more that is not known, and there are kMaxUnknownRecords
};

// The state of a store's batches that its database refused for good. Of this process, unless noted otherwise.
struct RefusedBatches {
  uint64_t refused = 0;     // batches of which rows were set aside
  uint64_t dropped = 0;     // files that were removed again, because there was no room for them
  uint64_t kept = 0;        // files that are there now, also of earlier processes
  uint64_t kept_bytes = 0;  // their size
};

using base::kMsPerDay;

// The time in an id of version 7, and the first id of a time.
int64_t WallMsOf(const base::Uuid& id);
base::Uuid FirstIdAt(int64_t wall_ms);
// The day that an id was made on, since 1970 UTC; 1 at least.
int64_t DayOf(const base::Uuid& id);
// The first id that can be made on that day.
base::Uuid FirstIdOf(int64_t day);

// Neither a request for a look nor CPU use is a hang, nor a dispatch that was only slow.
bool IsHang(std::string_view kind);
// Whether it counts in its clusters. A dump does not: it was requested, nothing froze.
bool IsCounted(std::string_view kind);
// Names as a JSON array, and back. They come from clients: invalid UTF-8 is replaced.
std::string NamesToJson(const std::vector<std::string>& names);
std::vector<std::string> NamesFromJson(const std::string& json);
// A cluster, and what its reports come to.
struct CauseRow {
  Cluster cluster;
  CauseSums sums;
  // Estimates for all users' hangs, from the received reports: a sampled report stands for others, too, and
  // so do reports that were lost, as far as their cause is known.
  double estimated_hangs = 0;
  double estimated_hang_ns = 0;
  bool is_capped_known = false;       // whether the sums say how much of reports does not count
  std::vector<std::string> apps;      // sorted, those of the most hang time (CostliestNames)
  std::vector<std::string> versions;  // likewise
  int64_t more_apps = 0;              // that are not among them
  int64_t more_versions = 0;          // likewise
  // In the order of versions, of all that have it. Empty if no version is known.
  std::string first_version;
  std::string last_version;
  std::vector<std::pair<std::string, double>> verdicts;  // hang_ns by verdict, the most first
  std::vector<CauseRow> children;                        // level 2 of a level-1 cluster, the costliest first
};

struct CauseQuery {
  ReportFilter filter = {};
  int level = 1;
  int64_t limit = 100;
  int64_t offset = 0;
  int64_t child_limit = 10;  // children of each
  // Unless empty, only clusters that have it in their names (cluster_search.h), and those of `titled_keys`,
  // whose titles have it. The total of all that match does not change.
  std::string text = {};
  std::vector<std::string> titled_keys = {};
};

// Causes, the costliest first by their estimated hang time.
struct CausePage {
  std::vector<CauseRow> causes;
  CauseRow all;  // of all causes that match, without their names
};

// A report's new clusters: by other rules, or with names that were not known before.
struct Reclustered {
  base::Uuid id;
  ClusterPath clusters;
  std::string named_build = {};  // the module (raw build id) that has been looked at for names; or empty
};

// A module without symbols: so many reports would have names with them.
struct UnnamedBuild {
  std::string build_id;  // raw bytes
  int64_t reports = 0;
};

// The estimates of a cause for one day.
struct CauseDay {
  int64_t day = 0;  // since 1970 UTC
  double weighted_hang_ns = 0;
};
using DaysOfCauses = std::map<std::string, std::vector<CauseDay>>;  // by cluster, each oldest first

// The cost of a cause in a period.
struct CausePeriod {
  int64_t begin_ms = 0;
  CauseSums sums;
};

}  // namespace lagwatch::collector
