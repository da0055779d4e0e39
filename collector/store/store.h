// SPDX-License-Identifier: Apache-2.0
// What the collector keeps: reports, the clusters they belong to, and how long lags were. One SQLite
// database. Thread safety: all methods may be called from any thread; one lock, one writer. Context:
// background. Errors of all methods: kUnavailable when the database refuses; the message holds its reason.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "base/uuid.h"
#include "collector/cluster/clusterer.h"
#include "collector/store/sqlite.h"
#include "report/format/losses.h"
#include "report/format/report.h"

namespace lagwatch::collector {

// What lists show of a report. Numbers from clients are cut to int64_t.
struct ReportRow {
  base::Uuid id;
  base::Uuid lag_id;
  base::Uuid session_id;
  int64_t ordinal = 0;
  std::string app;
  std::string version;
  std::string user;
  std::string kind;
  std::string loop;
  std::string tag;
  std::string os;
  std::string machine;
  int64_t pid = 0;
  int64_t tid = 0;
  int64_t threshold_ms = 0;
  int64_t start_wall_ms = 0;
  int64_t elapsed_ns = 0;
  int64_t cpu_window_ns = 0;
  int64_t cpu_thread_ns = 0;
  int64_t cpu_process_ns = 0;
  std::string level1_key;
  std::string level2_key;
  std::optional<int64_t> duration_ns;  // of the whole lag; absent until its end is known
  int64_t sample_rate_ppm = 0;         // of users, its own among them; 0: all
  int64_t cause = 0;                   // 0 when not known
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

// How a run ended, by its session.
struct RunEndRow {
  std::string reason;
  int64_t signal = 0;
  base::Uuid report_id;  // zero when in no lag
  int64_t lag_ns = 0;
  std::string loop;
  int64_t run_start_wall_ms = 0;
  int64_t last_seen_wall_ms = 0;
  std::string scene;
  std::string app;
  std::string version;
  std::string user;
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

// A report on its way into the store.
struct NewReport {
  report::Report report;
  ClusterPath clusters;
  std::string_view payload;  // as it was encoded; borrowed
};

struct NewUsage {
  report::Usage usage;
  std::string_view payload;  // as it was encoded; borrowed
};

// Of a type that only a newer lagwatch knows: kept as it is, for when this one is updated.
struct UnknownRecord {
  report::RecordType type;
  std::string_view payload;  // borrowed
};

using NewRecord = std::variant<NewReport, report::LagEnd, report::RunEnd, report::FrameSlice, NewUsage,
                               report::Losses, UnknownRecord>;

enum class CommitOutcome {
  kStored,
  kDuplicate,  // it was there already: nothing changed
  kNoRoom,     // one more that is not known, and there are kMaxUnknownRecords
};

struct StoredReport {
  ReportRow row;
  std::string payload;
};

// Empty fields match all reports.
struct ReportFilter {
  std::string app = {};
  std::string version = {};
  std::string cluster_key = {};  // of either level
};

class Store {
 public:
  // `path` is a file, created when it is not there, or ":memory:".
  // Errors: kIo when it cannot be opened; kInvalid when a newer lagwatch wrote it.
  static base::Result<std::unique_ptr<Store>> Open(const std::string& path);

  static constexpr int64_t kMaxUnknownRecords = 10'000;

  // All or nothing: what became of each, in their order. A
  // lag's end, or its run's, may come before its report; it then waits for it. The reports of a lag that its
  // run was killed in become of kind "killed-in-hang" and end with what is known of its duration, unless the
  // lag's own end is known.
  base::Result<std::vector<CommitOutcome>> Commit(std::span<const NewRecord> records);

  // The newest reports, newest first.
  base::Result<std::vector<ReportRow>> Reports(const ReportFilter& filter, int64_t limit);
  // Calls `visit` for every report, in no particular order, with the store locked.
  base::Status ForEachReport(const ReportFilter& filter, const std::function<void(const ReportRow&)>& visit);
  base::Result<std::optional<StoredReport>> FindReport(const base::Uuid& id);
  // Up to `limit` ids from `first` to `last`, both included.
  base::Result<std::vector<base::Uuid>> FindIds(const base::Uuid& first, const base::Uuid& last,
                                                int64_t limit);
  base::Result<std::map<std::string, Cluster>> Clusters();
  // Those with the most dropped frames first. The filter's cluster means nothing here.
  base::Result<std::vector<FrameSummary>> Frames(const ReportFilter& filter, int64_t limit);
  base::Result<std::optional<RunEndRow>> FindRunEnd(const base::Uuid& session_id);
  // Those with the most reports first. The filter's cluster means nothing here.
  base::Result<std::vector<LossRow>> Losses(const ReportFilter& filter);
  // Calls `visit` with every Usage record as it was encoded, in no particular order, with the store locked.
  // Empty texts match all.
  base::Status ForEachUsage(std::string_view app, std::string_view version, std::string_view user,
                            const std::function<void(std::string_view payload)>& visit);
  // Calls `visit` with every record of a type that was not known when it came, oldest first, with the store
  // locked.
  base::Status ForEachUnknownRecord(const std::function<void(const UnknownRecord& record)>& visit);

 private:
  explicit Store(const std::string& path) : database_(path) {}

  base::Status Migrate();
  int64_t SchemaVersion();
  CommitOutcome Insert(const NewReport& report);
  CommitOutcome Insert(const report::LagEnd& end);
  CommitOutcome Insert(const report::RunEnd& end);
  CommitOutcome Insert(const report::FrameSlice& slice);
  CommitOutcome Insert(const NewUsage& added);
  CommitOutcome Insert(const report::Losses& losses);
  CommitOutcome Insert(const UnknownRecord& record);
  int64_t CountUnknownRecords();
  bool HasUnknownRecord(const UnknownRecord& record);
  void InsertCluster(const Cluster& cluster);
  base::Uuid LagOfReport(const base::Uuid& report_id);
  void JoinEnds(const base::Uuid& lag_id);

  std::mutex mutex_;
  Database database_;                            // guarded by mutex_
  std::optional<int64_t> unknown_record_count_;  // guarded by mutex_; known within a commit that needs it
};

}  // namespace lagwatch::collector
