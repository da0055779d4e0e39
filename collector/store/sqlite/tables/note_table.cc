// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/tables/note_table.h"

#include <string>

#include "collector/store/sqlite/database/columns.h"

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
  std::vector<ClusterNote> notes;
  Statement rows = database->Use(sql.c_str());
  while (rows.Step()) notes.push_back(ReadRecord<ClusterNote>(rows, kNoteColumns));
  return notes;
}

}  // namespace lagwatch::collector
