// SPDX-License-Identifier: Apache-2.0
#include "trace/export/perfetto_events.h"

#include <gmock/gmock.h>

#include <map>

#include "tests/trace/export/decoded.h"

namespace lagwatch::trace {
namespace {

using lagwatch::testing::Decoded;
using ::testing::ElementsAre;

// The events as a reader sees them that goes by their order: "B outer 10", "E 50", "I mark 20".
std::vector<std::string> EventsOf(const Decoded& trace) {
  std::vector<std::string> events;
  const std::map<std::string, std::string> letters{
      {"TYPE_SLICE_BEGIN", "B "}, {"TYPE_SLICE_END", "E"}, {"TYPE_INSTANT", "I "}, {"TYPE_COUNTER", "C"}};
  for (const Decoded* packet : trace.All("packet")) {
    if (!packet->Has("track_event")) continue;
    const Decoded& event = (*packet)["track_event"];
    events.push_back(letters.at(event["type"].value) + event.Text("name") + " " +
                     std::to_string(packet->Number("timestamp")));
  }
  return events;
}

Decoded Written(std::vector<ThreadEvent> events, const std::vector<NamedCounter>& counters = {}) {
  Trace header;
  header.pid = 7;
  return lagwatch::testing::Decode(LAGWATCH_PERFETTO_SCHEMA, "perfetto.protos.Trace",
                                   PerfettoEvents(std::move(header), std::move(events), counters));
}

ThreadEvent Event(const std::string& name, int64_t begin_ns, int64_t end_ns, int32_t tid = 7) {
  return {.tid = tid, .begin_ns = begin_ns, .end_ns = end_ns, .name = name, .arguments = {}};
}

TEST(PerfettoEvents, NestInTheOrderOfTheirEnds) {
  const Decoded trace =
      Written({Event("inner", 20, 30), Event("mark", 25, 25), Event("outer", 10, 50), Event("next", 50, 60)});
  EXPECT_THAT(EventsOf(trace),
              ElementsAre("B outer 10", "B inner 20", "I mark 25", "E 30", "E 50", "B next 50", "E 60"));
}

// The clock of the outer one's end was read later, or the same time has several beginnings and ends.
TEST(PerfettoEvents, AreCutToWhatHoldsThem) {
  EXPECT_THAT(EventsOf(Written({Event("inner", 9, 30), Event("outer", 10, 50)})),
              ElementsAre("B outer 10", "B inner 10", "E 30", "E 50"));
  EXPECT_THAT(EventsOf(Written({Event("inner", 10, 50), Event("outer", 10, 50)})),
              ElementsAre("B outer 10", "B inner 10", "E 50", "E 50"));
  EXPECT_THAT(EventsOf(Written({Event("first", 10, 40), Event("second", 30, 60)})),
              ElementsAre("B second 30", "B first 30", "E 40", "E 60"));
}

TEST(PerfettoEvents, AreOnTracksOfTheirThreads) {
  const Decoded trace = Written({Event("a", 10, 20, 7), Event("b", 15, 25, 8)});
  std::map<uint64_t, uint64_t> threads;
  std::map<std::string, uint64_t> found;
  for (const Decoded* packet : trace.All("packet")) {
    const Decoded& track = (*packet)["track_descriptor"];
    if (track.Has("thread")) threads[track.Number("uuid")] = track["thread"].Number("tid");
    const Decoded& event = (*packet)["track_event"];
    if (event.Has("name")) found[event.Text("name")] = threads[event.Number("track_uuid")];
  }
  EXPECT_EQ(found, (std::map<std::string, uint64_t>{{"a", 7}, {"b", 8}}));
}

TEST(PerfettoEvents, CountersHaveTheirValues) {
  const Decoded trace = Written({}, {{.name = "calls\n2", .is_time = false, .values = {{5, 3}, {6, 2.5}}},
                                     {.name = "wait", .is_time = true, .values = {{7, -4}}}});
  std::vector<std::string> values;
  std::vector<std::string> tracks;
  for (const Decoded* packet : trace.All("packet")) {
    const Decoded& track = (*packet)["track_descriptor"];
    if (track.Has("counter")) tracks.push_back(track.Text("name") + track["counter"]["unit"].value);
    const Decoded& event = (*packet)["track_event"];
    if (event.Has("counter_value")) values.push_back(event["counter_value"].value);
    if (event.Has("double_counter_value")) values.push_back(event["double_counter_value"].value);
  }
  EXPECT_THAT(tracks, ElementsAre("calls 2UNIT_UNSPECIFIED", "waitUNIT_TIME_NS"));
  EXPECT_THAT(values, ElementsAre("3", "2.5", "-4"));
}

}  // namespace
}  // namespace lagwatch::trace
