// SPDX-License-Identifier: Apache-2.0
// GET /v1/events: each new report as a server-sent event (HTML Living Standard, 9.2). Context: background.
#pragma once

#include "collector/http/request.h"
#include "collector/query/report_feed.h"

namespace lagwatch::collector {

// Answers with a stream of reports that match the query's FILTER, from now on, or from the one after
// Last-Event-ID while that is kept. Borrows `feed`, which must outlive the stream.
Response StreamReports(const ReportFeed* feed, const Request& request);

}  // namespace lagwatch::collector
