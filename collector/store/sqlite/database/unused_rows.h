// SPDX-License-Identifier: Apache-2.0
// Removes names that no report has any more: segments, and clusters with their sums. In small steps. Context:
// background. Not thread-safe.
#pragma once

#include <cstdint>

#include "collector/store/sqlite/database/database.h"

namespace lagwatch::collector {

class UnusedRows {
 public:
  // Reports went, or moved: all names are to be looked at once more.
  void NoteRemoved() { is_wanted_ = true; }

  struct Removed {
    int64_t names = 0;  // segments and clusters
    bool has_more = false;
  };
  // Looks at up to `limit` segments and as many clusters. Throws SqliteError. Clusters that people said
  // something of stay, and so do those that others are part of.
  Removed Remove(Database* database, int64_t limit);
  // After a transaction that was rolled back.
  void Restart();

 private:
  bool is_wanted_ = true;  // of a start: what the last one has left
  bool is_under_way_ = false;
  // The last ids that were looked at; those after them are next.
  int64_t segment_ = 0;
  int64_t cluster_ = 0;
};

}  // namespace lagwatch::collector
