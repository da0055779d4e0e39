// SPDX-License-Identifier: Apache-2.0
#include "collector/http/events.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "collector/query/json/report_json.h"

namespace lagwatch::collector {
namespace {

std::string EventOf(const ReportFeed::PublishedReport& entry) {
  return "id: " + base::ToString(entry.row.id) +
         "\nevent: report\ndata: " + JsonText(ReportHeaderJson(entry.row, entry.cause)) + "\n\n";
}

}  // namespace

void EventTexts::TakeNew() {
  if (feed_->count() == count_) return;
  std::vector<ReportFeed::PublishedReport> entries = feed_->Since(&count_);
  uint64_t number = count_ - entries.size();
  for (ReportFeed::PublishedReport& entry : entries) {
    std::string text = EventOf(entry);
    kept_bytes_ += text.size();
    events_.push_back({++number, std::move(entry.row), std::move(text)});
  }
  while (events_.size() > ReportFeed::kMaxKept || (events_.size() > 1 && kept_bytes_ > kMaxKeptBytes)) {
    kept_bytes_ -= events_.front().text.size();
    events_.pop_front();
  }
}

std::shared_ptr<void> EventTexts::TryListen(const std::string& key, const std::string& peer) {
  auto of_key = places_of_keys_.TryTake(key, 1);
  auto of_peer =
      peer.empty() ? std::optional<Budget::Share>(std::in_place) : places_of_peers_.TryTake(peer, 1);
  if (!of_key || !of_peer) return nullptr;
  return std::make_shared<std::pair<Budget::Share, Budget::Share>>(std::move(*of_key), std::move(*of_peer));
}

std::string EventTexts::Next(const ReportFilter& filter, uint64_t* seen) {
  std::lock_guard lock(mutex_);
  TakeNew();
  std::string texts;
  auto event = std::ranges::upper_bound(events_, *seen, {}, &Event::number);
  for (; event != events_.end() && texts.size() < kMaxBytesAtOnce; ++event) {
    *seen = event->number;
    if (TextsMatch(filter, event->row)) texts += event->text;
  }
  return texts;
}

Result<Response> StreamReports(const std::shared_ptr<EventTexts>& texts, const Request& request) {
  const auto query = LAGWATCH_TRY(QueryString::Parse(request.query));
  auto filter = LAGWATCH_TRY(ParseFilter(query));
  const ReportFeed& feed = texts->feed();
  std::shared_ptr<void> place = texts->TryListen(request.key.name, request.peer);
  if (place == nullptr) {
    return ErrorResponse(503, "unavailable",
                         "too many listeners, in all or with this key or address; poll /v1/reports instead");
  }
  const auto last = base::TryParseUuid(request.last_event_id);
  uint64_t seen = last ? feed.CountAt(*last).value_or(feed.count()) : feed.count();
  auto next_events = [texts, seen, place, filter = std::move(filter)]() mutable {
    return texts->Next(filter, &seen);
  };
  return Response{.status = 200,
                  .body = {},
                  .content_type = "text/event-stream; charset=utf-8",
                  .next_events = std::move(next_events)};
}

}  // namespace lagwatch::collector
