// SPDX-License-Identifier: Apache-2.0
// GET /v1/events: each new report as a server-sent event (HTML Living Standard, 9.2). Context: background.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "collector/http/server/budget.h"
#include "collector/http/server/request.h"
#include "collector/query/filter_parser.h"
#include "collector/query/report_feed.h"

namespace lagwatch::collector {

// The newest reports as texts of events, which are made once for all listeners. Thread-safe.
class EventTexts {
 public:
  // A listener gets no more at once, apart from one larger event.
  static constexpr size_t kMaxBytesAtOnce = 64 << 10;

  // Listeners at the same time: of a key, and of an address.
  static constexpr uint64_t kMaxOfAKey = 40;
  static constexpr uint64_t kMaxOfAPeer = 20;

  // Borrows `feed`.
  explicit EventTexts(const ReportFeed* feed) : feed_(feed) {}

  // A listener's place, to be held while it listens; null when there are too many. An empty `peer` has no
  // limit of its own.
  std::shared_ptr<void> TryListen(const std::string& key, const std::string& peer);

  const ReportFeed& feed() const { return *feed_; }
  // The events after the first `*seen` reports that match and are still kept, as many as go at once;
  // `*seen` moves on.
  std::string Next(const ReportFilter& filter, uint64_t* seen);

 private:
  static constexpr size_t kMaxKeptBytes = 8 << 20;

  struct Event {
    uint64_t number = 0;  // of the report in the feed, from 1
    ReportRow row;
    std::string text;
  };

  void TakeNew();  // with mutex_ held

  const ReportFeed* const feed_;
  Budget places_of_keys_{ReportFeed::kMaxListeners, kMaxOfAKey};
  Budget places_of_peers_{ReportFeed::kMaxListeners, kMaxOfAPeer};
  std::mutex mutex_;
  uint64_t count_ = 0;        // reports of the feed that are here or were; guarded by mutex_, like
                              // the following ones
  size_t kept_bytes_ = 0;     // of all texts
  std::deque<Event> events_;  // the oldest first
};

// Answers with a stream of reports that match the query's FILTER, from now on, or from the one after
// Last-Event-ID while that is kept. The feed of `texts` must outlive the stream.
base::Result<Response> StreamReports(const std::shared_ptr<EventTexts>& texts, const Request& request);

}  // namespace lagwatch::collector
