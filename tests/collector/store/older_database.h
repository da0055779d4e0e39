// SPDX-License-Identifier: Apache-2.0
// Statements that take a new database back to an older version, for tests of migrations.
#pragma once

namespace lagwatch::testing {

// Makes version 10 of a new database.
inline constexpr char kWithoutOwnClusters[] = R"sql(
DROP INDEX reports_by_own1;
DROP INDEX reports_by_own2;
ALTER TABLE reports DROP COLUMN own1;
ALTER TABLE reports DROP COLUMN own2;
PRAGMA user_version = 10;
)sql";

// Makes version 9 of version 10.
inline constexpr char kWithoutSenders[] = R"sql(
DROP TABLE senders;
DROP TABLE shrunk_totals;
ALTER TABLE reports DROP COLUMN sender;
ALTER TABLE traces DROP COLUMN sender;
ALTER TABLE run_ends DROP COLUMN sender;
ALTER TABLE frame_slices DROP COLUMN sender;
ALTER TABLE usage DROP COLUMN sender;
ALTER TABLE losses DROP COLUMN sender;
ALTER TABLE unknown_records DROP COLUMN sender;
PRAGMA user_version = 9;
)sql";

}  // namespace lagwatch::testing
