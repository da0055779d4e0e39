// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>

#include "collector/store/read_rows.h"
#include "collector/store/sqlite/tables/record_tables.h"

namespace lagwatch::collector {
namespace {

// `prefix`, the name of each column of frames, `suffix`.
std::string Listed(const std::string& prefix, const std::string& suffix) {
  std::string list;
  for (const char* column : kFrameColumns) list += prefix + column + suffix;
  return list;
}

std::string Repeated(std::string_view text, size_t count) {
  std::string repeated;
  for (size_t i = 0; i < count; ++i) repeated += text;
  return repeated;
}

}  // namespace

bool InsertFrames(Database* database, const report::FrameSlice& slice, int64_t sender) {
  static const std::string sql =
      "INSERT OR IGNORE INTO frame_slices (sender, id, session_id, app, version, user, loop, scene,"
      " begin_wall_ms, duration_ns, refresh_interval_ns" +
      Listed(", ", "") + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?" + Repeated(", ?", kFrameColumns.size()) +
      ")";
  Statement row = database->Use(sql.c_str());
  row.Bind(sender, slice.id, slice.session_id, slice.app, slice.app_version, slice.user, slice.loop,
           slice.scene, ToSigned(slice.begin_wall_ms), ToSigned(slice.duration_ns),
           ToSigned(slice.refresh_interval_ns));
  ForEachFrameNumber(slice.frames, [&](uint64_t number) { row.Bind(ToSigned(number)); });
  row.Run();
  return database->changes() != 0;
}

// total(): a float, which no client can make overflow.
std::vector<FrameSummary> ReadFrames(Database* database, const ReportFilter& filter, int64_t limit) {
  static const std::string sql =
      R"sql(
        SELECT app, version, loop, scene, count(*), count(DISTINCT NULLIF(user, '')),
          max(begin_wall_ms + duration_ns / 1000000),
          CAST(total(1.0 * refresh_interval_ns * frames) / max(total(frames), 1) AS INTEGER)
      )sql" +
      Listed(", CAST(total(", ") AS INTEGER)") +
      R"sql(
        FROM frame_slices
        WHERE (?1 = '' OR app = ?1) AND (?2 = '' OR version = ?2)
        GROUP BY app, version, loop, scene
        ORDER BY total(dropped) DESC, total(frames) DESC
        LIMIT ?3
      )sql";
  return database->Use(sql.c_str()).Bind(filter.app, filter.version, limit).All([](const Statement& row) {
    return ReadFrameSummary(row, row.Int(7), [&](int column) { return row.Int(column); });
  });
}

}  // namespace lagwatch::collector
