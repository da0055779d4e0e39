// SPDX-License-Identifier: Apache-2.0
// The tables of older versions' databases, which the SQLite store migrates. Never changed.
#pragma once

namespace lagwatch::collector {

// Version 1.
inline constexpr char kSchemaOfReports[] = R"sql(
CREATE TABLE clusters (
  key TEXT PRIMARY KEY,
  level INTEGER NOT NULL,
  parent TEXT REFERENCES clusters (key),
  frames TEXT NOT NULL,  -- a JSON array, innermost first
  via TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE reports (
  id BLOB PRIMARY KEY,
  lag_id BLOB NOT NULL,
  session_id BLOB NOT NULL,
  ordinal INTEGER NOT NULL,
  app TEXT NOT NULL,
  version TEXT NOT NULL,
  user TEXT NOT NULL,
  kind TEXT NOT NULL,
  loop TEXT NOT NULL,
  tag TEXT NOT NULL,
  os TEXT NOT NULL,
  machine TEXT NOT NULL,
  pid INTEGER NOT NULL,
  tid INTEGER NOT NULL,
  threshold_ms INTEGER NOT NULL,
  start_wall_ms INTEGER NOT NULL,
  elapsed_ns INTEGER NOT NULL,  -- age of the dispatch when the report was made
  cpu_window_ns INTEGER NOT NULL,
  cpu_thread_ns INTEGER NOT NULL,
  cpu_process_ns INTEGER NOT NULL,
  level1 TEXT NOT NULL REFERENCES clusters (key),
  level2 TEXT NOT NULL REFERENCES clusters (key),
  duration_ns INTEGER,          -- of the whole lag; NULL until its end is known
  payload BLOB NOT NULL         -- the report as its client encoded it
);
CREATE INDEX reports_by_lag ON reports (lag_id);
CREATE INDEX reports_by_level1 ON reports (level1);
CREATE INDEX reports_by_level2 ON reports (level2);

-- Kept for ever: an end may come before its report.
CREATE TABLE lag_ends (
  report_id BLOB PRIMARY KEY,
  duration_ns INTEGER NOT NULL
) WITHOUT ROWID;
)sql";

// Added by version 2.
inline constexpr char kSchemaOfRunEnds[] = R"sql(
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
) WITHOUT ROWID;
CREATE INDEX run_ends_by_report ON run_ends (report_id);
)sql";

// Added by version 3.
inline constexpr char kSchemaOfFrameSlices[] = R"sql(
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
) WITHOUT ROWID;
CREATE INDEX frame_slices_by_scene ON frame_slices (app, version, loop, scene);
)sql";

// Added by version 4.
inline constexpr char kSchemaOfUsage[] = R"sql(
CREATE TABLE usage (
  id BLOB PRIMARY KEY,
  session_id BLOB NOT NULL,
  app TEXT NOT NULL,
  version TEXT NOT NULL,
  user TEXT NOT NULL,
  begin_wall_ms INTEGER NOT NULL,
  end_wall_ms INTEGER NOT NULL,
  payload BLOB NOT NULL  -- the record as its client encoded it
);
CREATE INDEX usage_by_version ON usage (app, version);
)sql";

// Added by version 5.
inline constexpr char kSchemaOfSampling[] = R"sql(
ALTER TABLE reports ADD COLUMN sample_rate_ppm INTEGER NOT NULL DEFAULT 0;  -- of users; 0: all of them
ALTER TABLE reports ADD COLUMN cause INTEGER NOT NULL DEFAULT 0;            -- 0 when not known

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
) WITHOUT ROWID;
)sql";

// Added by version 5, too.
inline constexpr char kSchemaOfUnknownRecords[] = R"sql(
-- Of types that only a newer lagwatch knows.
CREATE TABLE unknown_records (
  type INTEGER NOT NULL,
  payload BLOB NOT NULL,  -- the record as its client encoded it
  received_wall_ms INTEGER NOT NULL,
  PRIMARY KEY (type, payload)
) WITHOUT ROWID;
)sql";

}  // namespace lagwatch::collector
