// SPDX-License-Identifier: Apache-2.0
// Writes reports and the ends of their hangs, and keeps the sums of clusters right. Context:
// background. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "collector/store/records.h"
#include "collector/store/sqlite/database/database.h"
#include "collector/store/sqlite/sums_writer.h"
#include "policies/hang_account.h"

namespace lagwatch::collector {

struct StoredShare;

class ReportWriter {
 public:
  static constexpr int64_t kMostEarlyEnds = 10'000;

  // Borrows `database`.
  explicit ReportWriter(Database* database) : database_(database) {}

  // All within one transaction; Finish does everything except its commit. `sender` is the key that brought
  // the report (schema.h), `capped_ns` is as in NewRecord.
  CommitOutcome Insert(const NewReport& added, int64_t sender = 0, double capped_ns = 0);
  // An end that comes before its report waits for it, two days and kMostEarlyEnds of a sender at most.
  CommitOutcome Insert(const report::HangEnd& end, int64_t sender = 0, double capped_ns = 0);
  // The hang of that report is to be accounted for again, as when its run was killed in it.
  void NoteHangOf(const base::Uuid& report_id);
  // The end of a run that was killed in the hang of that report was removed.
  void NoteUnkilled(const base::Uuid& report_id);
  // Moves a report, when it is there, to its clusters.
  void Move(const Reclustered& moved);
  // Up to `limit` reports with ids before `end`; returns how many.
  int64_t RemoveBefore(const base::Uuid& end, int64_t limit);
  // Removes a report; those of the same hang that stay divide the hang among them. Returns how many it
  // removed.
  int64_t Remove(const base::Uuid& id);
  // The sums of up to `limit` clusters that reports were taken out of, then those of all; returns how many.
  int64_t Repair(int64_t limit);
  void NoteLost(int64_t cause) { sums_.NoteLost(cause); }
  void Finish();

  // To be called after a failed transaction: forgets its state.
  void Forget();
  // Names were removed: their ids are not those that this knows.
  void ForgetIds();

 private:
  using SegmentKey = std::tuple<std::string, std::string, std::string, std::string, std::string, std::string>;

  int64_t ClusterId(const Cluster& cluster, int64_t parent);
  std::array<int64_t, 2> ClusterIds(const ClusterPath& path);
  int64_t SegmentId(const SegmentKey& key);
  void AddCapped(const base::Uuid& report_id, double capped_ns);
  bool HasRoomForEarlyEnd(int64_t sender);
  std::optional<report::HangEnd> TakeEarlyEnd(const base::Uuid& report_id);
  std::optional<int64_t> KilledNs(const base::Uuid& report_id);
  bool HasRoom(const base::Uuid& hang_id);
  bool HasSiblings(const base::Uuid& id, const base::Uuid& hang_id);
  // Those of one that has more reports than have a part of it.
  std::array<int64_t, 2> ClustersOfHang(const base::Uuid& hang_id);
  base::Uuid HangOfReport(const base::Uuid& report_id);
  void Account(const base::Uuid& hang_id);
  std::vector<StoredShare> ReportsOfHang(const base::Uuid& hang_id);
  void TakeOut(const StoredShare& known);
  void NoteShrunk(const ReportPlace& place);
  // After a hang has gone from there.
  void NoteShrunkIfSmall(const ReportPlace& place);
  void NoteTotalsShrunk(const ReportPlace& place);
  void RepairCluster(int64_t cluster);
  int64_t RepairTotals(int64_t limit);
  // A report as it came.
  base::Result<report::Report> AsReported(int64_t row);
  std::string KindAsReported(int64_t row);
  // The rate that a removed report of the same hang may have taken the place of. One that was beyond the
  // limits keeps its own.
  int64_t RateAsReported(const StoredShare& known);
  int64_t SegmentWithKind(int64_t segment, std::string_view kind);
  void MoveOthers(const base::Uuid& hang_id, const std::array<int64_t, 2>& clusters);
  void Update(const StoredShare& known, const policies::HangAccount& account,
              const policies::HangShare& share, const std::array<int64_t, 2>& clusters);
  // False if nothing was taken out of sums.
  bool Store(const StoredShare& known, const StoredShare& updated);

  Database* database_;
  SumsWriter sums_;
  std::set<std::array<uint8_t, 16>> hangs_;  // to be accounted for again
  std::set<int64_t> uncounted_;              // rows of their reports that no sum has yet
  bool has_removed_ = false;                 // records within this transaction
  // A cache of the database; emptied when it is large.
  std::map<std::string, int64_t, std::less<>> cluster_ids_;
  std::map<SegmentKey, int64_t> segment_ids_;
  // Ends that wait, by sender; those that were removed meanwhile are found at the next count.
  struct WaitingEnds {
    int64_t count = 0;
    int64_t counted_wall_ms = 0;
  };
  std::map<int64_t, WaitingEnds> early_ends_;
};

}  // namespace lagwatch::collector
