// SPDX-License-Identifier: Apache-2.0
// Brings one batch to ClickHouse, without the rows that it refuses for good. Context: background.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "collector/store/clickhouse/insert/batch_spool.h"

namespace lagwatch::collector {

struct Delivery {
  // The refused rows, to be sent another time: with the batch's marks and senders, which go
  // with the rows of either.
  Batch refused;
  size_t refused_rows = 0;
  std::string reason;  // the server's, of the last refusal
};

// Inserts rows into table and columns. Throws ClickHouseError.
using InsertRows = std::function<void(const std::string& target, const std::string& rows)>;

// Inserts each part, and the marks after all rows. A part that is refused for good is divided until its
// refused rows are known, within a number of attempts. When nothing of the batch came to ClickHouse, no marks
// do. Throws ClickHouseError for what may pass and, unless `sets_aside`, for refusals; then the whole batch
// is to be delivered again, which changes nothing of what is there.
Delivery Deliver(const Batch& batch, const InsertRows& insert, bool sets_aside);

}  // namespace lagwatch::collector
