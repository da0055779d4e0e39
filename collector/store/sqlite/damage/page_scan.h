// SPDX-License-Identifier: Apache-2.0
// Reads a database file page by page, without its schema and its trees: rows under a page that is damaged,
// and those of a file that SQLite does not open at all (https://www.sqlite.org/fileformat2.html, 1.6
// and 2.1). Deleted rows are not there: their bytes are overwritten. Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"

namespace lagwatch::collector {

// Calls `visit` for each row of any table that has a number as its key and one BLOB beside it. Pages with
// other content than they seem to have may give rows that no table has. The database must be closed, and its
// log be written to it. Errors: kIo.
base::Status ScanBlobRows(const std::string& path,
                          const std::function<void(int64_t row, const std::string& blob)>& visit);

}  // namespace lagwatch::collector
