// SPDX-License-Identifier: Apache-2.0
// Parses the filter of a query. Context: background; pure.
#pragma once

#include <optional>

#include "base/status.h"
#include "base/uuid.h"
#include "collector/query/query_string.h"
#include "collector/store/records.h"

namespace lagwatch::collector {

// FILTER of collector/API.md, and `cluster`. Errors: kInvalid for invalid times.
base::Result<ReportFilter> ParseFilter(const QueryString& query);

// `before`: only entries with a smaller id. Errors: kInvalid for an invalid id.
base::Result<std::optional<base::Uuid>> ParseBefore(const QueryString& query);

}  // namespace lagwatch::collector
