// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "collector/store/sqlite/database/columns.h"
#include "collector/store/sqlite/tables/record_tables.h"

namespace lagwatch::collector {

void PutNote(Database* database, const ClusterNote& note) {
  static const std::string sql = InsertColumns("INSERT OR REPLACE INTO cluster_notes", kNoteColumns);
  Statement row = database->Use(sql.c_str());
  BindRecord(note, kNoteColumns, &row);
  row.Run();
}

std::vector<ClusterNote> ReadNotes(Database* database) {
  static const std::string sql =
      "SELECT " + SelectedColumns("cluster_notes", kNoteColumns) + " FROM cluster_notes ORDER BY key";
  return database->Use(sql.c_str()).All([](const Statement& row) {
    return ReadRecord<ClusterNote>(row, kNoteColumns);
  });
}

}  // namespace lagwatch::collector
