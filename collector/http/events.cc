// SPDX-License-Identifier: Apache-2.0
#include "collector/http/events.h"

#include <memory>
#include <string>

#include "collector/query/report_filter.h"
#include "collector/query/report_json.h"

namespace lagwatch::collector {
namespace {

std::string EventOf(const ReportFeed::Entry& entry) {
  return "id: " + base::ToString(entry.row.id) +
         "\nevent: report\ndata: " + JsonText(ReportHeaderJson(entry.row, entry.cause)) + "\n\n";
}

}  // namespace

Response StreamReports(const ReportFeed* feed, const Request& request) {
  auto query = QueryString::Parse(request.query);
  if (!query.ok()) return ErrorResponse(query.status());
  auto filter = ParseFilter(*query);
  if (!filter.ok()) return ErrorResponse(filter.status());
  std::shared_ptr<void> place = feed->TryListen();
  if (place == nullptr)
    return ErrorResponse(503, "unavailable", "too many listen already; ask for /v1/reports now and then");
  const auto last = base::TryParseUuid(request.last_event_id);
  uint64_t seen = last ? feed->CountAt(*last).value_or(feed->count()) : feed->count();
  auto next_events = [feed, seen, place, filter = std::move(*filter)]() mutable {
    std::string events;
    for (const ReportFeed::Entry& entry : feed->Since(&seen)) {
      if (Matches(filter, entry.row)) events += EventOf(entry);
    }
    return events;
  };
  return {.status = 200,
          .body = {},
          .content_type = "text/event-stream; charset=utf-8",
          .next_events = std::move(next_events)};
}

}  // namespace lagwatch::collector
