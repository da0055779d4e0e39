// SPDX-License-Identifier: Apache-2.0
// Damaged databases that were set aside: each has a folder of its own in DATA/damaged. Context: background.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace lagwatch::collector {

// A folder for one more, named after the time; it is not there yet.
std::string NewAsideFolder(const std::string& data);
// Moves the closed database at `path`, with its log, into `folder`, which is created; nothing if it has been
// moved there already. Errors: kIo: to be called again with the same folder.
base::Status MoveDatabase(const std::string& path, const std::string& folder);
// Finishes a move of the database at `path` that the end of a process has interrupted. To be called before
// the database is opened. Errors: kIo.
base::Status FinishMove(const std::string& path);

struct AsideDatabase {
  std::string folder;
  bool is_salvaged = false;  // its readable records are in the new database
  int64_t at_ms = 0;         // since 1970 UTC: when it was set aside; 0: not known, as without a reason
  std::string reason = {};   // in words; empty: not known
};
// Keeps the reason in the folder of a database that was just set aside. Errors: kIo.
base::Status KeepReason(const std::string& folder, const base::Status& damage);
// The oldest first.
std::vector<AsideDatabase> ListAside(const std::string& data);
// Marks one as salvaged, or removes it. Errors: kIo.
base::Status MarkSalvaged(const AsideDatabase& aside, bool is_removed);

}  // namespace lagwatch::collector
