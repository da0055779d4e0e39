// SPDX-License-Identifier: Apache-2.0
// Measures how fast SQLite inserts rows like the collector's, without other work.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lagwatch::bench {

// Rows a second: `real` reports over and over, with other ids, into the tables `reports` and `payloads` with
// all their indexes, by bare prepared statements, `rows_each` in a transaction, for `rows` in all.
double SqliteRowsPerSecond(const std::string& directory, const std::vector<std::string>& real, size_t rows,
                           size_t rows_each);

}  // namespace lagwatch::bench
