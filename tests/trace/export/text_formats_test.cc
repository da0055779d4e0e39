// SPDX-License-Identifier: Apache-2.0
// The formats that are text: each is read here as its readers do.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/trace/export/sample_trace.h"
#include "trace/export/export.h"
#include "trace/export/timeline.h"

namespace lagwatch::trace {
namespace {

using lagwatch::testing::HostileNames;
using lagwatch::testing::MakeHostileTrace;
using lagwatch::testing::MakeSampleTrace;
using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Collapsed, HasOneLineForEachStackWithItsTime) {
  const std::vector<std::string> lines = Lines(CollapsedStacks(MakeSampleTrace()));
  EXPECT_THAT(lines,
              IsSupersetOf({"main;main;Loop::Run();Editor::OnKey(int);Index::Lookup(std::string const&);"
                            "pthread_mutex_lock 41000000",
                            "main;main;Loop::Run();Editor::Paint();Text::Layout() 80000000",
                            "thread 102;start_thread;Render() 65000000"}));
  EXPECT_TRUE(std::is_sorted(lines.begin(), lines.end()));
}

// Names as wide as they come stay one frame, and the number is behind the last space.
TEST(Collapsed, KeepsHostileNamesInTheirPlace) {
  std::set<std::string> leaves;
  for (const std::string& line : Lines(CollapsedStacks(MakeHostileTrace()))) {
    const size_t space = line.rfind(' ');
    ASSERT_NE(space, std::string::npos);
    EXPECT_THAT(line.substr(space + 1), ::testing::MatchesRegex("[0-9]+"));
    const std::string stack = line.substr(0, space);
    ASSERT_EQ(std::count(stack.begin(), stack.end(), ';'), stack.starts_with("main;") ? 2 : 1) << line;
    if (stack.starts_with("main;")) leaves.insert(stack.substr(stack.rfind(';') + 1));
  }
  EXPECT_EQ(leaves.size(), HostileNames().size());
  EXPECT_TRUE(leaves.contains("a,b,c"));
}

// The open calls at the end, as Nanoscope's viewer counts them.
std::vector<std::string> OpenCalls(const std::string& text, std::set<std::string>* names) {
  std::vector<std::string> open;
  int64_t last_ns = 0;
  for (const std::string& line : Lines(text)) {
    const size_t colon = line.find(':');
    const int64_t time_ns = std::stoll(line.substr(0, colon));
    EXPECT_GE(time_ns, last_ns);
    last_ns = time_ns;
    const std::string event = line.substr(colon + 1);
    if (event == "POP") {
      EXPECT_FALSE(open.empty());
      if (!open.empty()) open.pop_back();
    } else {
      EXPECT_EQ(event[0], '+');
      names->insert(event.substr(1));
      open.push_back(event.substr(1));
    }
  }
  return open;
}

TEST(Nanoscope, HasTheCallsOfTheMainThread) {
  const base::Result<std::string> text = NanoscopeText(MakeSampleTrace());
  ASSERT_TRUE(text.ok());
  std::set<std::string> names;
  EXPECT_TRUE(OpenCalls(*text, &names).empty());
  EXPECT_TRUE(names.contains("Editor::OnKey(int)"));
  EXPECT_FALSE(names.contains("Render()"));
  EXPECT_EQ(text->substr(0, 17), "1000000000:+main\n");
}

TEST(Nanoscope, TakesHostileNamesAsTheyAre) {
  const base::Result<std::string> text = NanoscopeText(MakeHostileTrace());
  ASSERT_TRUE(text.ok());
  std::set<std::string> names;
  EXPECT_TRUE(OpenCalls(*text, &names).empty());
  EXPECT_EQ(names.size(), HostileNames().size() + 1);
  EXPECT_TRUE(names.contains("POP"));
  EXPECT_TRUE(names.contains("+plus"));
}

TEST(Nanoscope, OfNothingIsRefused) {
  EXPECT_EQ(NanoscopeText(Trace()).status().code(), base::StatusCode::kInvalid);
}

// Checks that speedscope's importer makes: events in order, each end that of the innermost open frame.
void ExpectNested(const json& file) {
  const size_t frame_count = file["shared"]["frames"].size();
  for (const json& profile : file["profiles"]) {
    if (profile["type"] == "sampled") {
      ASSERT_EQ(profile["samples"].size(), profile["weights"].size());
      for (const json& sample : profile["samples"])
        for (const json& frame : sample) {
          ASSERT_LT(frame.get<size_t>(), frame_count);
        }
      continue;
    }
    std::vector<size_t> open;
    int64_t last = profile["startValue"];
    for (const json& event : profile["events"]) {
      ASSERT_GE(event["at"].get<int64_t>(), last);
      last = event["at"];
      const size_t frame = event["frame"];
      ASSERT_LT(frame, frame_count);
      if (event["type"] == "O") {
        open.push_back(frame);
      } else {
        ASSERT_EQ(open.back(), frame);
        open.pop_back();
      }
    }
    ASSERT_TRUE(open.empty());
    ASSERT_LE(last, profile["endValue"].get<int64_t>());
  }
}

TEST(Speedscope, HasAProfileOfEachTrackAndOneOfAll) {
  const json file = json::parse(SpeedscopeJson(MakeSampleTrace()));
  std::vector<std::string> names;
  for (const json& profile : file["profiles"])
    names.push_back(profile["type"].get<std::string>() + " " + profile["name"].get<std::string>());
  EXPECT_THAT(names, ElementsAre("evented main", "evented indexer", "evented thread 102 (samples)",
                                 "evented thread 102", "sampled all threads, by time"));
  EXPECT_EQ(file["name"], "editor");
  ExpectNested(file);
}

TEST(Speedscope, KeepsHostileNames) {
  const json file = json::parse(SpeedscopeJson(MakeHostileTrace()));
  ExpectNested(file);
  std::set<std::string> names;
  for (const json& frame : file["shared"]["frames"]) names.insert(frame["name"].get<std::string>());
  EXPECT_TRUE(names.contains("</script><b>&amp;"));
  EXPECT_TRUE(names.contains("back\\slash"));
  EXPECT_EQ(names.size(), HostileNames().size() + 1);  // threads have the same ones
}

// Complete events of a thread nest when each begins within those that are open, and ends within them.
void ExpectStrictEvents(const json& file) {
  std::map<int64_t, std::vector<double>> open_until;
  std::map<int64_t, double> last;
  for (const json& event : file["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const int64_t tid = event["tid"];
    const double begin = event["ts"], end = begin + event["dur"].get<double>();
    ASSERT_GE(begin, last[tid]);
    last[tid] = begin;
    auto& open = open_until[tid];
    while (!open.empty() && open.back() <= begin && open.back() < end + 1e-6) open.pop_back();
    ASSERT_TRUE(open.empty() || end <= open.back() + 1e-6) << event;
    open.push_back(end);
  }
}

TEST(ChromeJson, HasSlicesFlowsCountersAndLosses) {
  const json file = json::parse(ChromeJson(MakeSampleTrace()));
  ExpectStrictEvents(file);
  std::map<std::string, size_t> phases;
  for (const json& event : file["traceEvents"]) ++phases[event["ph"]];
  EXPECT_EQ(phases["M"], 5u);
  EXPECT_EQ(phases["s"], 1u);
  EXPECT_EQ(phases["f"], 1u);
  EXPECT_EQ(phases["C"], 2u);
  EXPECT_EQ(phases["i"], 1u);
  EXPECT_THAT(file["traceEvents"], Contains(::testing::Truly([](const json& event) {
                return event["name"] == "pthread_mutex_lock" && event["ph"] == "X" &&
                       event["ts"] == 1'030'000.0 && event["dur"] == 41'000.0 && event["cat"] == "exact" &&
                       event["args"]["call"] == "mutex" && event["args"]["object"] == "0x7f0012345678";
              })));
}

TEST(ChromeJson, KeepsHostileNames) {
  const json file = json::parse(ChromeJson(MakeHostileTrace()));
  ExpectStrictEvents(file);
  std::set<std::string> names;
  for (const json& event : file["traceEvents"])
    if (event["ph"] == "X") names.insert(event["name"].get<std::string>());
  EXPECT_EQ(names.size(), HostileNames().size() + 1);
}

TEST(ExportText, IsUtf8InOneLine) {
  EXPECT_EQ(OneLine("a\nb\x7f"), "a b ");
  EXPECT_EQ(OneLine("\xff"), "\xef\xbf\xbd");
  EXPECT_EQ(OneLine("漢字"), "漢字");
}

TEST(ExportText, CountsMicrosecondsExactly) {
  for (const auto& [ns, us] : std::map<int64_t, std::string>{{0, "0.000"},
                                                             {1, "0.001"},
                                                             {-1, "-0.001"},
                                                             {1'999, "1.999"},
                                                             {INT64_MAX, "9223372036854775.807"}}) {
    std::string text;
    AppendUs(ns, &text);
    EXPECT_EQ(text, us);
  }
}

}  // namespace
}  // namespace lagwatch::trace
