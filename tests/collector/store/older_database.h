// SPDX-License-Identifier: Apache-2.0
// Statements that take a new database back to an older version, for tests of migrations.
#pragma once

namespace lagwatch::testing {

// Makes version 9 of a new database.
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
