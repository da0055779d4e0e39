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
};
// The oldest first.
std::vector<AsideDatabase> ListAside(const std::string& data);
// Marks one as salvaged, or removes it. Errors: kIo.
base::Status MarkSalvaged(const AsideDatabase& aside, bool is_removed);

}  // namespace lagwatch::collector
