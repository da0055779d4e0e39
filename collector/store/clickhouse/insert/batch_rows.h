// SPDX-License-Identifier: Apache-2.0
// Takes the rows of a batch apart again, by the columns of their table. Context: background; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "collector/store/clickhouse/insert/batch_spool.h"
#include "collector/store/clickhouse/server/schema.h"
#include "collector/store/clickhouse/server/versions.h"

namespace lagwatch::collector {

// The table that a part goes to; null when no table of this version is called so.
const Table* TableOf(std::string_view target);
// A part's rows, borrowed from it. Nothing when its table is not known or its bytes are something else.
std::vector<std::string_view> RowsOf(const Batch::Part& part);
std::vector<std::string_view> RowsOf(Batch::Part&&) = delete;
bool IsOfMarks(const Batch::Part& part);
bool IsOfSenders(const Batch::Part& part);
// A column of such a row: a text or a number as it is stored, without its size. Nothing when the table has no
// such column.
std::optional<std::string_view> FieldOf(const Table& table, std::string_view row, std::string_view column);
// The day in the column `day`.
int64_t DayOfRow(const Table& table, std::string_view row);
// Gives the batch's marks the next number of `versions`, so that sums are made again of the rows that come
// with them. These numbers must go to ClickHouse in order.
void RenewMarks(Batch* batch, Versions* versions);

}  // namespace lagwatch::collector
