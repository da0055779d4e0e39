// SPDX-License-Identifier: Apache-2.0
// Which reports somebody asks for. Context: background; pure.
#pragma once

#include "base/status.h"
#include "collector/query/query_string.h"
#include "collector/store/records.h"

namespace lagwatch::collector {

// FILTER of collector/API.md, and `cluster`. Errors: kInvalid for times that are none.
base::Result<ReportFilter> ParseFilter(const QueryString& query);

// Whether a report is one of them, by all but its cluster and days.
bool Matches(const ReportFilter& filter, const ReportRow& report);

}  // namespace lagwatch::collector
