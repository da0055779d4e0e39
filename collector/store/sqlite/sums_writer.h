// SPDX-License-Identifier: Apache-2.0
// Adds up what a transaction's reports change in the sums of their clusters, and writes each sum once.
// Context: background. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>

#include "collector/cluster/cause_sums.h"
#include "collector/store/sqlite/database/database.h"
#include "collector/store/sqlite/loss_sharer.h"

namespace lagwatch::collector {

// The rows that a report is counted in.
struct ReportPlace {
  std::array<int64_t, 2> clusters{};  // level 1, level 2
  int64_t segment = 0;
  int64_t day = 0;
  int64_t cause = 0;  // the client's; 0 when not known
};

class SumsWriter {
 public:
  // `sign` 1 puts a report in, -1 takes it out.
  void Count(const ReportPlace& place, const Contribution& contribution, int sign);
  // The same, but only in the sums of that cluster.
  void CountIn(int64_t cluster, const ReportPlace& place, const Contribution& contribution);
  // More of a report that is counted there does not count: `reports` is 1 if it is the first part of it.
  void CountCapped(const ReportPlace& place, int64_t reports, double capped_ns);
  // Reports of `cause` were lost: shares out its losses again.
  void NoteLost(int64_t cause) { causes_.insert(cause); }
  // Removes its sums, to be counted again with CountIn.
  void NoteRemade(int64_t cluster) { remade_clusters_.insert(cluster); }
  // Within a transaction; after it, nothing is left to be written.
  void Write(Database* database);
  // After a transaction that failed.
  void Forget();

 private:
  struct Key {
    int64_t cluster = 0;
    int64_t segment = 0;
    int64_t day = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Change {
    int level = 0;
    int64_t parent = 0;
    CauseSums sums;
  };
  struct CauseKey {
    int64_t cause = 0;
    int64_t cluster = 0;
    auto operator<=>(const CauseKey&) const = default;
  };

  void CountAt(int64_t cluster, int level, int64_t parent, const ReportPlace& place,
               const Contribution& contribution, int sign);
  void WriteSums(Database* database) const;
  static void WriteCapped(const Key& key, const CauseSums& sums, Database* database);
  void WriteCauses(Database* database);
  void Clear();

  std::map<Key, Change> changes_;
  std::map<CauseKey, int64_t> cause_reports_;
  std::set<int64_t> causes_;  // causes that need a new share of their losses
  std::set<int64_t> remade_clusters_;
  LossSharer loss_sharer_;
};

// Rebuilds one sum of cluster 0 (schema.h), of all reports, from those of their clusters: of all (segment and
// day 0), of a segment or of a day. Throws SqliteError.
void RepairTotal(Database* database, int64_t segment, int64_t day);

// Registers the SQL functions that these statements use.
void RegisterSumsFunctions(Database* database);

}  // namespace lagwatch::collector
