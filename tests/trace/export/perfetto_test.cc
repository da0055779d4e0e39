// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "tests/trace/export/decoded.h"
#include "tests/trace/export/sample_trace.h"
#include "trace/export/export.h"

namespace lagwatch::trace {
namespace {

using lagwatch::testing::Decoded;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Decoded DecodePerfetto(const Trace& trace) {
  return lagwatch::testing::Decode(LAGWATCH_PERFETTO_SCHEMA, "perfetto.protos.Trace", PerfettoTrace(trace));
}

// The state of a reader of the trace, which reads one packet after the other.
struct Reader {
  std::map<std::string, std::map<uint64_t, std::string>> interned;   // by field of InternedData, by iid
  std::map<uint64_t, std::string> tracks;                            // by uuid: "main", "main/CPU time"
  std::map<uint64_t, std::vector<std::string>> open;                 // by track
  std::map<uint64_t, uint64_t> last_ns;                              // by track
  std::vector<std::string> slices;                                   // "main: Load 5-10"
  std::map<uint64_t, std::pair<uint64_t, std::string>> begun_flows;  // by id: when, in which slice
  std::map<uint64_t, std::pair<uint64_t, std::string>> ended_flows;
  std::map<std::string, std::vector<uint64_t>> counters;
  std::map<std::string, std::vector<std::string>> annotations;  // by slice, "name=value"
  std::vector<std::string> samples;                             // "tid: outermost;innermost ms"
  std::vector<std::string> instants;

  void Read(const Decoded& trace) {
    bool is_first = true;
    for (const Decoded* packet : trace.All("packet")) {
      ASSERT_NE(packet->Number("trusted_packet_sequence_id"), 0u);
      ASSERT_EQ(packet->Number("sequence_flags"), is_first ? 3u : 2u);
      is_first = false;
      ReadInterned((*packet)["interned_data"]);
      if (packet->Has("track_descriptor")) ReadTrack((*packet)["track_descriptor"]);
      if (packet->Has("track_event")) ReadEvent(packet->Number("timestamp"), (*packet)["track_event"]);
      if (packet->Has("stack_sample")) ReadSample((*packet)["stack_sample"]);
    }
    for (const auto& [track, names] : open) EXPECT_THAT(names, IsEmpty()) << tracks[track];
  }

 private:
  const std::string& Interned(const std::string& field, uint64_t iid) {
    static const std::string kNone;
    EXPECT_TRUE(interned[field].contains(iid)) << field << " " << iid;
    return interned[field].contains(iid) ? interned[field][iid] : kNone;
  }

  // In a packet, interned data comes before its users.
  void ReadInterned(const Decoded& data) {
    for (const Decoded& entry : data.fields)
      if (entry.Has("name") || entry.Has("str"))
        Intern(entry.name, entry, entry.Has("name") ? entry.Text("name") : entry.Text("str"));
    for (const Decoded* mapping : data.All("mappings")) {
      if (mapping->Has("build_id")) Interned("build_ids", mapping->Number("build_id"));
      Intern("mappings", *mapping, Interned("mapping_paths", mapping->Number("path_string_ids")));
    }
    for (const Decoded* frame : data.All("frames")) {
      if (frame->Has("mapping_id")) Interned("mappings", frame->Number("mapping_id"));
      if (frame->Has("source_path_iid")) Interned("source_paths", frame->Number("source_path_iid"));
      Intern("frames", *frame, Interned("function_names", frame->Number("function_name_id")));
    }
    for (const Decoded* stack : data.All("callstacks")) {
      std::string text;
      for (const Decoded* frame : stack->All("frame_ids"))
        text += (text.empty() ? "" : ";") + Interned("frames", std::stoull(frame->value));
      Intern("callstacks", *stack, text);
    }
  }
  void Intern(const std::string& field, const Decoded& entry, const std::string& text) {
    ASSERT_TRUE(interned[field].emplace(entry.Number("iid"), text).second) << field;
  }

  void ReadTrack(const Decoded& track) {
    std::string name = track.Text("name");
    if (track.Has("thread")) {
      name = track["thread"].Text("thread_name");
    } else if (track.Has("parent_uuid")) {
      ASSERT_TRUE(tracks.contains(track.Number("parent_uuid")));
      name = tracks[track.Number("parent_uuid")] + "/" + name;
    }
    ASSERT_TRUE(tracks.emplace(track.Number("uuid"), name).second);
  }

  void ReadEvent(uint64_t time_ns, const Decoded& event) {
    const uint64_t track = event.Number("track_uuid");
    ASSERT_TRUE(tracks.contains(track));
    ASSERT_GE(time_ns, last_ns[track]) << tracks[track];
    last_ns[track] = time_ns;
    for (const Decoded* category : event.All("category_iids"))
      Interned("event_categories", std::stoull(category->value));
    const std::string name =
        event.Has("name_iid") ? Interned("event_names", event.Number("name_iid")) : event.Text("name");
    const std::string& type = event["type"].value;
    const std::string told = tracks[track] + ": " + name + " " + std::to_string(time_ns / 1'000'000);
    for (const Decoded* annotation : event.All("debug_annotations"))
      annotations[told].push_back(Interned("debug_annotation_names", annotation->Number("name_iid")) + "=" +
                                  annotation->fields.back().value);
    if (type == "TYPE_SLICE_BEGIN") open[track].push_back(told);
    if (type == "TYPE_SLICE_END") {
      ASSERT_FALSE(open[track].empty());
      slices.push_back(open[track].back() + "-" + std::to_string(time_ns / 1'000'000));
      open[track].pop_back();
    }
    if (type == "TYPE_COUNTER") counters[tracks[track]].push_back(event.Number("counter_value"));
    if (type == "TYPE_INSTANT") instants.push_back(told);
    if (event.Has("callstack_iid")) Interned("callstacks", event.Number("callstack_iid"));
    ReadFlows(time_ns, track, event);
  }

  void ReadFlows(uint64_t time_ns, uint64_t track, const Decoded& event) {
    const auto where = std::pair(time_ns, open[track].empty() ? "nowhere" : open[track].back());
    if (event.Has("flow_ids")) {
      ASSERT_TRUE(begun_flows.emplace(event.Number("flow_ids"), where).second);
    }
    if (event.Has("terminating_flow_ids")) {
      ASSERT_TRUE(ended_flows.emplace(event.Number("terminating_flow_ids"), where).second);
    }
  }

  void ReadSample(const Decoded& sample) {
    samples.push_back(std::to_string(sample["task_context"].Number("tid")) + ": " +
                      Interned("callstacks", sample.Number("callstack_iid")) + " " +
                      std::to_string(sample.Number("primary_weight") / 1'000'000));
  }
};

class PerfettoTest : public ::testing::Test {
 protected:
  PerfettoTest() : decoded_(DecodePerfetto(lagwatch::testing::MakeSampleTrace())) { reader_.Read(decoded_); }

  Decoded decoded_;
  Reader reader_;
};

TEST_F(PerfettoTest, HasSlicesOfEachTrack) {
  EXPECT_THAT(reader_.slices,
              ::testing::IsSupersetOf(
                  {"main: main 1000-1093", "main: Editor::OnKey(int) 1000-1093",
                   "main: pthread_mutex_lock 1030-1071", "main: malloc 1022-1022", "main: main 1105-1200",
                   "thread 102: Render() 1008-1055", "thread 102: Upload() 1020-1031",
                   "thread 102: Swap() 1190-1200", "thread 102/samples: Render() 1010-1075",
                   "main/dispatches: key 1000-1100", "main/dispatches: paint 1105-1200"}));
}

TEST_F(PerfettoTest, SaysWhatIsKnownOfASlice) {
  EXPECT_THAT(reader_.annotations["main: pthread_mutex_lock 1030"],
              ElementsAre("count=2", "dispatch=1", "call=\"mutex\"", "object=139638282147448"));
  EXPECT_THAT(reader_.annotations["main: main 1000"],
              ::testing::IsSupersetOf({"estimated=true", "cpu_ns=8000000", "allocations=2",
                                       "allocated_bytes=4096", "minor_faults=3", "voluntary_switches=1"}));
  EXPECT_THAT(reader_.annotations["thread 102: Swap() 1190"], ElementsAre("count=1", "unfinished=true"));
}

TEST_F(PerfettoTest, PointsFromTheUnlockIntoTheLastMomentOfTheWait) {
  ASSERT_EQ(reader_.begun_flows.size(), 1u);
  ASSERT_EQ(reader_.ended_flows.size(), 1u);
  const auto& [id, begun] = *reader_.begun_flows.begin();
  ASSERT_TRUE(reader_.ended_flows.contains(id));
  EXPECT_EQ(begun.second, "indexer: pthread_mutex_unlock 1070");
  EXPECT_EQ(reader_.ended_flows[id].second, "main: pthread_mutex_lock 1030");
  EXPECT_LT(begun.first, reader_.ended_flows[id].first);
}

TEST_F(PerfettoTest, HasCountersSamplesAndLosses) {
  EXPECT_THAT(reader_.counters["main/CPU time"], ElementsAre(22'000'000u, 30'000'000u));
  EXPECT_THAT(reader_.counters["main/allocated"], ElementsAre(4'096u, 8'192u));
  EXPECT_THAT(reader_.samples,
              ::testing::IsSupersetOf({"102: start_thread;Render() 65",
                                       "100: main;Loop::Run();Editor::Paint();Text::Layout() 80"}));
  EXPECT_THAT(reader_.instants, ::testing::Contains("main/stacks: stack 1005"));
  EXPECT_THAT(reader_.instants, ::testing::Contains(": lost: samples overwritten 1000"));
  EXPECT_EQ(decoded_["packet"]["previous_packet_dropped"].value, "true");
}

TEST_F(PerfettoTest, TellsItsClocks) {
  const Decoded& first = decoded_["packet"];
  EXPECT_EQ(first["trace_packet_defaults"].Number("timestamp_clock_id"), 3u);
  std::map<uint64_t, uint64_t> times_ns;
  for (const Decoded* clock : first["clock_snapshot"].All("clocks"))
    times_ns[clock->Number("clock_id")] = clock->Number("timestamp");
  EXPECT_EQ(times_ns[3], 1'200'000'000u);
  EXPECT_EQ(times_ns[6], 6'200'000'000u);
  EXPECT_EQ(times_ns[1], 1'700'000'001'200'000'000u);
}

TEST_F(PerfettoTest, MayBeAppendedToAnother) {
  Trace other = lagwatch::testing::MakeSampleTrace();
  other.pid = 999;
  const Decoded both =
      lagwatch::testing::Decode(LAGWATCH_PERFETTO_SCHEMA, "perfetto.protos.Trace",
                                PerfettoTrace(lagwatch::testing::MakeSampleTrace()) + PerfettoTrace(other));
  std::set<uint64_t> sequences, tracks;
  size_t track_count = 0;
  for (const Decoded* packet : both.All("packet")) {
    sequences.insert(packet->Number("trusted_packet_sequence_id"));
    if (!packet->Has("track_descriptor")) continue;
    ++track_count;
    tracks.insert((*packet)["track_descriptor"].Number("uuid"));
  }
  EXPECT_EQ(sequences.size(), 2u);
  EXPECT_EQ(tracks.size(), track_count);
}

TEST(PerfettoOf, HostileNamesIsDecodedWithoutAWord) {
  Reader reader;
  reader.Read(DecodePerfetto(lagwatch::testing::MakeHostileTrace()));
  std::set<std::string> names;
  for (const auto& [iid, name] : reader.interned["event_names"]) names.insert(name);
  EXPECT_TRUE(names.contains("\"quoted\""));
  EXPECT_TRUE(names.contains("two lines"));
  EXPECT_TRUE(names.contains("invalid \xef\xbf\xbd\xef\xbf\xbd("));
  EXPECT_EQ(names.size(), lagwatch::testing::HostileNames().size() + 1);
}

TEST(PerfettoOf, NothingIsATraceAllTheSame) {
  Reader reader;
  reader.Read(DecodePerfetto(Trace()));
  EXPECT_THAT(reader.slices, IsEmpty());
}

}  // namespace
}  // namespace lagwatch::trace
