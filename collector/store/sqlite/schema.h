// SPDX-License-Identifier: Apache-2.0
// The database's tables. Part of the on-disk format: a change needs a new version and a migration from the
// old one (migration.h).
#pragma once

namespace lagwatch::collector {

inline constexpr int kSchemaVersion = 11;

// Version 7's: what a list reads of a cluster's segments, without the sketches between them.
inline constexpr char kSumsOfSegmentsIndex[] = R"sql(
CREATE INDEX cluster_sums_of_segments ON cluster_sums (cluster, segment, reports, hang_ns, estimated_hang_ns)
  WHERE segment > 0;
)sql";

// Version 11's. The reports of a hang are in the clusters of the one that leads; these are a report's own
// if they differ, or else NULL.
inline constexpr char kSchemaOfOwnClusters[] = R"sql(
ALTER TABLE reports ADD COLUMN own1 INTEGER REFERENCES clusters (id);
ALTER TABLE reports ADD COLUMN own2 INTEGER REFERENCES clusters (id);
CREATE INDEX reports_by_own1 ON reports (own1) WHERE own1 IS NOT NULL;
CREATE INDEX reports_by_own2 ON reports (own2) WHERE own2 IS NOT NULL;
)sql";

// Version 8's. Few are asked for, and they are large.
inline constexpr char kSchemaOfTraces[] = R"sql(
CREATE TABLE traces (
  row INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,  -- sorts by the time of its making
  session_id BLOB NOT NULL,
  report_id BLOB NOT NULL,  -- zero when it belongs to none
  lag_id BLOB NOT NULL,
  app TEXT NOT NULL,
  version TEXT NOT NULL,
  user TEXT NOT NULL,
  begin_wall_ms INTEGER NOT NULL,
  duration_ns INTEGER NOT NULL,
  reason TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  sample_rate_ppm INTEGER NOT NULL,
  cause INTEGER NOT NULL
) STRICT;
CREATE INDEX traces_by_report ON traces (report_id, id);

CREATE TABLE packed_traces (
  row INTEGER PRIMARY KEY REFERENCES traces (row),
  trace BLOB NOT NULL  -- as its client packed it
) STRICT;
)sql";

// Version 10's: the key that brought a record, and sums of all reports that are to be rebuilt.
inline constexpr char kSchemaOfSenders[] = R"sql(
CREATE TABLE senders (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE  -- of a key
) STRICT;
-- 0 when not known.
ALTER TABLE reports ADD COLUMN sender INTEGER NOT NULL DEFAULT 0;
ALTER TABLE traces ADD COLUMN sender INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run_ends ADD COLUMN sender INTEGER NOT NULL DEFAULT 0;
ALTER TABLE frame_slices ADD COLUMN sender INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN sender INTEGER NOT NULL DEFAULT 0;
ALTER TABLE losses ADD COLUMN sender INTEGER NOT NULL DEFAULT 0;
ALTER TABLE unknown_records ADD COLUMN sender INTEGER NOT NULL DEFAULT 0;

-- Of cluster 0: users, times and the longest lag are to be found anew.
CREATE TABLE shrunk_totals (
  segment INTEGER NOT NULL,
  day INTEGER NOT NULL,
  PRIMARY KEY (segment, day)
) STRICT, WITHOUT ROWID;
)sql";

// Sums of the reports that count for less than they say, as those of cluster_sums; only where there are such
// reports. No version is theirs: a collector that does not know them does not count them.
inline constexpr char kSchemaOfCapped[] = R"sql(
CREATE TABLE IF NOT EXISTS capped_sums (
  cluster INTEGER NOT NULL,
  segment INTEGER NOT NULL,
  day INTEGER NOT NULL,
  reports INTEGER NOT NULL,
  hang_ns REAL NOT NULL,  -- with weights: the part that does not count
  PRIMARY KEY (cluster, segment, day)
) STRICT, WITHOUT ROWID;
)sql";

// Version 6's.
inline constexpr char kSchema[] = R"sql(
CREATE TABLE clusters (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  level INTEGER NOT NULL,
  parent INTEGER REFERENCES clusters (id),
  frames TEXT NOT NULL,  -- a JSON array, innermost first
  via TEXT NOT NULL,
  held_by TEXT NOT NULL  -- a JSON array: where the lock's holder was, innermost first
) STRICT;
CREATE INDEX clusters_by_parent ON clusters (parent) WHERE parent IS NOT NULL;

-- What lists are filtered by. Few: programs, versions, loops and systems are.
CREATE TABLE segments (
  id INTEGER PRIMARY KEY,
  app TEXT NOT NULL,
  version TEXT NOT NULL,
  kind TEXT NOT NULL,
  verdict TEXT NOT NULL,
  loop TEXT NOT NULL,
  os TEXT NOT NULL,
  UNIQUE (app, version, kind, verdict, loop, os)
) STRICT;

CREATE TABLE reports (
  row INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,  -- sorts by the time of its making
  lag_id BLOB NOT NULL,
  session_id BLOB NOT NULL,
  ordinal INTEGER NOT NULL,
  segment INTEGER NOT NULL REFERENCES segments (id),
  user TEXT NOT NULL,
  tag TEXT NOT NULL,
  machine TEXT NOT NULL,
  pid INTEGER NOT NULL,
  tid INTEGER NOT NULL,
  threshold_ms INTEGER NOT NULL,
  start_wall_ms INTEGER NOT NULL,
  elapsed_ns INTEGER NOT NULL,  -- age of the dispatch when the report was made
  cpu_window_ns INTEGER NOT NULL,
  cpu_thread_ns INTEGER NOT NULL,
  cpu_process_ns INTEGER NOT NULL,
  level1 INTEGER NOT NULL REFERENCES clusters (id),
  level2 INTEGER NOT NULL REFERENCES clusters (id),
  end_ns INTEGER,               -- how long the lag was, as this report's own end says
  duration_ns INTEGER,          -- … as any of its lag's says; NULL until one is known
  hang_ns INTEGER NOT NULL,     -- its part of the lag (policies/hang_account.h)
  is_lead INTEGER NOT NULL,     -- the lag is counted here
  sample_rate_ppm INTEGER NOT NULL,  -- of users; 0: all of them
  cause INTEGER NOT NULL             -- 0 when not known
) STRICT;
CREATE INDEX reports_of_lag ON reports (lag_id) WHERE lag_id != id;
CREATE INDEX reports_by_level1 ON reports (level1, id);
CREATE INDEX reports_by_level2 ON reports (level2, id);
CREATE INDEX reports_by_segment ON reports (segment, id);
CREATE INDEX reports_by_user ON reports (user, id) WHERE user != '';

CREATE TABLE payloads (
  row INTEGER PRIMARY KEY REFERENCES reports (row),
  payload BLOB NOT NULL  -- the report as its client encoded it
) STRICT;

-- Ends that came before their reports.
CREATE TABLE early_ends (
  report_id BLOB PRIMARY KEY,
  duration_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What the reports of a cluster come to: in all (segment and day 0), on each day, and in each segment. Cluster
-- 0 is all reports. Days are those of ids, since 1970.
CREATE TABLE cluster_sums (
  cluster INTEGER NOT NULL,
  segment INTEGER NOT NULL,
  day INTEGER NOT NULL,
  level INTEGER NOT NULL,
  parent INTEGER NOT NULL,
  reports INTEGER NOT NULL,
  lags INTEGER NOT NULL,
  hang_ns REAL NOT NULL,
  weighted_lags REAL NOT NULL,
  weighted_hang_ns REAL NOT NULL,
  longest_ns INTEGER NOT NULL,
  first_seen_ms INTEGER NOT NULL,
  last_seen_ms INTEGER NOT NULL,
  lost_reports REAL NOT NULL DEFAULT 0,  -- its share of those that never came; only in all
  estimated_hang_ns REAL NOT NULL,
  sketches BLOB NOT NULL,  -- last: what stands before it is read without it
  PRIMARY KEY (cluster, segment, day)
) STRICT, WITHOUT ROWID;
CREATE INDEX cluster_sums_by_cost ON cluster_sums (level, segment, day, estimated_hang_ns DESC, cluster);
CREATE INDEX cluster_sums_of_parent ON cluster_sums (parent, estimated_hang_ns DESC)
  WHERE segment = 0 AND day = 0 AND parent != 0;

-- Reports with frames that have no name, by module: worth another look when its symbols come.
CREATE TABLE unnamed_builds (
  build_id BLOB NOT NULL,
  row INTEGER NOT NULL,  -- of reports
  PRIMARY KEY (build_id, row)
) STRICT, WITHOUT ROWID;
CREATE INDEX unnamed_builds_of_report ON unnamed_builds (row);

-- Whose reports were taken out of sums: users, times and the longest lag are to be found anew.
CREATE TABLE shrunk_clusters (
  cluster INTEGER PRIMARY KEY
) STRICT;

-- What people say of clusters.
CREATE TABLE cluster_notes (
  key TEXT PRIMARY KEY,
  title TEXT NOT NULL,
  link TEXT NOT NULL,
  state TEXT NOT NULL,
  fixed_in TEXT NOT NULL,
  merged_into TEXT NOT NULL,
  is_split INTEGER NOT NULL,
  changed_wall_ms INTEGER NOT NULL,
  changed_by TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- How many reports of a client's cause are in which cluster, 0 being all: by this, those that never came are shared out.
CREATE TABLE cause_reports (
  cause INTEGER NOT NULL,
  cluster INTEGER NOT NULL,
  reports INTEGER NOT NULL,
  lost_reports REAL NOT NULL DEFAULT 0,
  PRIMARY KEY (cause, cluster)
) STRICT, WITHOUT ROWID;
CREATE INDEX cause_reports_by_cluster ON cause_reports (cluster, lost_reports);

CREATE TABLE run_ends (
  session_id BLOB PRIMARY KEY,
  reason TEXT NOT NULL,
  signal INTEGER NOT NULL,
  report_id BLOB,            -- of the lag that the run was in, or NULL
  lag_ns INTEGER NOT NULL,   -- how long that had lasted when it was last seen
  loop TEXT NOT NULL,
  run_start_wall_ms INTEGER NOT NULL,
  last_seen_wall_ms INTEGER NOT NULL,
  scene TEXT NOT NULL,
  app TEXT NOT NULL,
  version TEXT NOT NULL,
  user TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX run_ends_by_report ON run_ends (report_id) WHERE report_id IS NOT NULL;

CREATE TABLE frame_slices (
  id BLOB PRIMARY KEY,
  session_id BLOB NOT NULL,
  app TEXT NOT NULL,
  version TEXT NOT NULL,
  user TEXT NOT NULL,
  loop TEXT NOT NULL,
  scene TEXT NOT NULL,
  begin_wall_ms INTEGER NOT NULL,
  duration_ns INTEGER NOT NULL,
  refresh_interval_ns INTEGER NOT NULL,
  frames INTEGER NOT NULL,
  dropped INTEGER NOT NULL,
  best INTEGER NOT NULL,       -- frames of each level
  normal INTEGER NOT NULL,
  middle INTEGER NOT NULL,
  high INTEGER NOT NULL,
  frozen INTEGER NOT NULL,
  other_ns INTEGER NOT NULL,   -- time in each stage
  input_ns INTEGER NOT NULL,
  animation_ns INTEGER NOT NULL,
  layout_ns INTEGER NOT NULL,
  draw_ns INTEGER NOT NULL,
  submit_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX frame_slices_by_scene ON frame_slices (app, version, loop, scene);

CREATE TABLE usage (
  id BLOB PRIMARY KEY,
  session_id BLOB NOT NULL,
  app TEXT NOT NULL,
  version TEXT NOT NULL,
  user TEXT NOT NULL,
  begin_wall_ms INTEGER NOT NULL,
  end_wall_ms INTEGER NOT NULL,
  payload BLOB NOT NULL  -- the record as its client encoded it
) STRICT;
CREATE INDEX usage_by_version ON usage (app, version);

-- What that comes to, by the days on which records ended.
CREATE TABLE usage_sums (
  day INTEGER NOT NULL,
  app TEXT NOT NULL,
  version TEXT NOT NULL,
  watched_ns REAL NOT NULL,
  PRIMARY KEY (day, app, version)
) STRICT, WITHOUT ROWID;

-- Reports that were made and never came.
CREATE TABLE losses (
  id BLOB NOT NULL,
  position INTEGER NOT NULL,  -- within its record
  app TEXT NOT NULL,
  version TEXT NOT NULL,
  user TEXT NOT NULL,
  begin_wall_ms INTEGER NOT NULL,
  end_wall_ms INTEGER NOT NULL,
  reason TEXT NOT NULL,
  cause INTEGER NOT NULL,
  count INTEGER NOT NULL,
  sample_rate_ppm INTEGER NOT NULL,
  PRIMARY KEY (id, position)
) STRICT, WITHOUT ROWID;
-- The same, by what is asked for.
CREATE TABLE loss_sums (
  app TEXT NOT NULL,
  version TEXT NOT NULL,
  reason TEXT NOT NULL,
  cause INTEGER NOT NULL,
  reports REAL NOT NULL,
  weighted_reports REAL NOT NULL,  -- of all users, where the losses are a sample's
  PRIMARY KEY (cause, reason, app, version)
) STRICT, WITHOUT ROWID;

-- Of types that only a newer lagwatch knows.
CREATE TABLE unknown_records (
  type INTEGER NOT NULL,
  payload BLOB NOT NULL,  -- the record as its client encoded it
  received_wall_ms INTEGER NOT NULL,
  PRIMARY KEY (type, payload)
) STRICT;
)sql";

}  // namespace lagwatch::collector
