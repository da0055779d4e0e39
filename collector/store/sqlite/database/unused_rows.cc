// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/database/unused_rows.h"

#include <vector>

namespace lagwatch::collector {
namespace {

struct Looked {
  int64_t last_id = 0;
  bool is_end = false;
  std::vector<int64_t> unused;
};

// Of a statement's rows: ids, and whether they are used.
Looked LookAt(Statement* rows, int64_t limit) {
  Looked looked;
  int64_t count = 0;
  for (; rows->Step(); ++count) {
    looked.last_id = rows->Int(0);
    if (rows->Int(1) == 0) looked.unused.push_back(rows->Int(0));
  }
  looked.is_end = count < limit;
  return looked;
}

Looked LookAtSegments(Database* database, int64_t after, int64_t limit) {
  Statement rows = database->Use(
      R"sql(
        SELECT id, EXISTS (SELECT 1 FROM reports WHERE segment = segments.id)
        FROM segments
        WHERE id > ?
        ORDER BY id
        LIMIT ?
      )sql");
  rows.Bind(after, limit);
  return LookAt(&rows, limit);
}

// A child has a higher id than its parent: from the highest down, a parent is looked at without the
// children that went.
Looked LookAtClusters(Database* database, int64_t before, int64_t limit) {
  Statement rows = database->Use(
      R"sql(
        SELECT id, EXISTS (
          SELECT 1 FROM reports WHERE level1 = clusters.id
        ) OR EXISTS (
          SELECT 1 FROM reports WHERE level2 = clusters.id
        ) OR EXISTS (
          SELECT 1 FROM reports WHERE own1 = clusters.id
        ) OR EXISTS (
          SELECT 1 FROM reports WHERE own2 = clusters.id
        ) OR EXISTS (
          SELECT 1 FROM cluster_notes WHERE cluster_notes.key = clusters.key
        ) OR EXISTS (SELECT 1 FROM cluster_notes WHERE merged_into = clusters.key)
        FROM clusters
        WHERE id < ?
        ORDER BY id DESC
        LIMIT ?
      )sql");
  rows.Bind(before, limit);
  return LookAt(&rows, limit);
}

bool HasChild(Database* database, int64_t cluster) {
  Statement child = database->Use("SELECT 1 FROM clusters WHERE parent = ? LIMIT 1");
  child.Bind(cluster);
  return child.Step();
}

void RemoveCluster(Database* database, int64_t cluster) {
  for (const char* sql :
       {"DELETE FROM cluster_sums WHERE cluster = ?", "DELETE FROM cause_reports WHERE cluster = ?",
        "DELETE FROM shrunk_clusters WHERE cluster = ?", "DELETE FROM capped_sums WHERE cluster = ?",
        "DELETE FROM clusters WHERE id = ?"}) {
    database->Use(sql).Bind(cluster).Run();
  }
}

}  // namespace

UnusedRows::Removed UnusedRows::Remove(Database* database, int64_t limit) {
  if (!is_under_way_) {
    if (!is_wanted_) return {};
    is_wanted_ = false;
    is_under_way_ = true;
    segment_ = 0;
    cluster_ = INT64_MAX;
  }
  Removed removed;
  const Looked segments = LookAtSegments(database, segment_, limit);
  for (int64_t segment : segments.unused)
    database->Use("DELETE FROM segments WHERE id = ?").Bind(segment).Run();
  removed.names += static_cast<int64_t>(segments.unused.size());
  segment_ = segments.is_end ? INT64_MAX : segments.last_id;
  const Looked clusters = LookAtClusters(database, cluster_, limit);
  for (int64_t cluster : clusters.unused) {
    if (HasChild(database, cluster)) continue;
    RemoveCluster(database, cluster);
    ++removed.names;
  }
  cluster_ = clusters.is_end ? 0 : clusters.last_id;
  is_under_way_ = !segments.is_end || !clusters.is_end;
  if (!is_under_way_) database->Execute("DELETE FROM cause_reports WHERE cluster = 0 AND reports <= 0");
  removed.has_more = is_under_way_ || is_wanted_;
  return removed;
}

void UnusedRows::Restart() {
  is_wanted_ = true;
  is_under_way_ = false;
}

}  // namespace lagwatch::collector
