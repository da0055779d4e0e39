// SPDX-License-Identifier: Apache-2.0
// Frames and threads of lagwatch do not appear in its reports about a program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kOwnLibrary[] = "liblagwatch-preload.so";

struct Place {
  std::string module;
  uint64_t offset;
  bool operator==(const Place&) const = default;
};
void PrintTo(const Place& place, std::ostream* out) {
  *out << place.module << "+0x" << std::hex << place.offset;
}
using Places = std::vector<Place>;

// The first addresses at which files are mapped.
std::map<std::string, uint64_t> BasesOf(pid_t pid) {
  std::map<std::string, uint64_t> bases;
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t path = line.find('/');
    if (path != std::string::npos) bases.try_emplace(line.substr(path), std::stoull(line, nullptr, 16));
  }
  return bases;
}

// The stacks that a debugger finds, by thread; without frames that a compiler inlined or replaced by jumps,
// and without ours.
std::map<int, Places> StacksByDebugger(pid_t pid, const std::string& script) {
  std::ofstream(script) << R"(
import gdb
gdb.execute("set backtrace past-main on")
for thread in gdb.selected_inferior().threads():
    thread.switch()
    frame = gdb.newest_frame()
    print("LW thread", thread.ptid[1])
    while frame is not None and frame.is_valid():
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            print("LW frame", frame.pc())
        frame = frame.older()
)";
  Process gdb({"gdb", "-nx", "-batch", "-p", std::to_string(pid), "-x", script});
  EXPECT_EQ(gdb.Wait(), 0) << gdb.Errors();
  const auto bases = BasesOf(pid);
  std::map<int, Places> stacks;
  Places* stack = nullptr;
  bool is_first = false;
  std::istringstream lines(gdb.Output());
  for (std::string line; std::getline(lines, line);) {
    unsigned long long number = 0;
    if (std::sscanf(line.c_str(), "LW thread %llu", &number) == 1) {
      stack = &stacks[static_cast<int>(number)];
      is_first = true;
    } else if (std::sscanf(line.c_str(), "LW frame %llu", &number) == 1 && stack != nullptr) {
      const uint64_t address = number - (is_first ? 0 : 1);
      is_first = false;
      std::pair<std::string, uint64_t> found;
      for (const auto& [path, base] : bases) {
        if (base <= address && base > found.second) found = {path, base};
      }
      if (found.first.ends_with(kOwnLibrary)) continue;
      stack->push_back({found.first, address - found.second});
    }
  }
  return stacks;
}

Places PlacesOf(const json& stack) {
  Places places;
  for (const json& frame : stack) {
    if (frame.value("inlined", false)) continue;
    places.push_back({frame["module"], std::stoull(frame["offset"].get<std::string>(), nullptr, 16)});
  }
  return places;
}

// Either may see more of what is outside of main.
void ExpectSame(Places ours, Places theirs, const std::string& whose) {
  constexpr size_t kFewest = 3;
  const size_t common = std::min(ours.size(), theirs.size());
  EXPECT_GE(common, kFewest) << whose;
  ours.resize(common);
  theirs.resize(common);
  EXPECT_EQ(ours, theirs) << whose;
}

struct Way {
  const char* name;
  const char* freeze;
  bool has_hooks;
};

class OwnPartsTest : public RunTest, public ::testing::WithParamInterface<Way> {};

TEST_P(OwnPartsTest, NoFrameAndNoThreadOfLagwatchIsReported) {
  std::vector<std::string> flags;
  if (GetParam().has_hooks) flags = {"--trace", "--trace-hooks"};
  Process process(Watched({LAGWATCH_HOOKED_WAITS, GetParam().freeze}, flags));
  json reports;
  ASSERT_TRUE(testing::WaitUntil([&] {
    Process ask({LAGWATCH_PROGRAM, "reports", "--spool", spool_, "--json"});
    if (ask.Wait() != 0) return false;  // there is no spool yet
    reports = json::parse(ask.Output());
    return !reports.empty();
  }));
  const json report = Ask({"report", reports[0]["id"]});
  const auto expected = StacksByDebugger(process.pid(), directory_ / "stacks.py");
  ASSERT_FALSE(expected.empty()) << "gdb did not attach";
  const std::string cause = reports[0]["cause"].dump() + Ask({"clusters"}).dump();
  for (const std::string& text : {report.dump(), cause}) {
    EXPECT_THAT(text, Not(HasSubstr("liblagwatch")));
    EXPECT_THAT(text, Not(HasSubstr("Replacement")));
    EXPECT_THAT(text, Not(HasSubstr("HookMutex")));
  }
  EXPECT_THAT(cause, HasSubstr("Ask"));
  ExpectSame(PlacesOf(report["expensive_stack"]), expected.at(process.pid()), "the frozen thread");
  if (std::string(GetParam().freeze) == "lock") {
    ASSERT_EQ(report["waits"].size(), 1u);
    ExpectSame(PlacesOf(report["waits"][0]["stack"]), expected.at(process.pid()), "who waits");
    const json& owner = report["waits"][0]["owner"];
    EXPECT_EQ(owner["name"], "holder");
    ExpectSame(PlacesOf(owner["stack"]), expected.at(owner["tid"]), "whom it waits for");
  }
  std::vector<std::string> names;
  for (const json& thread : report["threads"]) {
    names.push_back(thread["name"]);
    ExpectSame(PlacesOf(thread["stack"]), expected.at(thread["tid"]), names.back());
  }
  EXPECT_THAT(names,
              ::testing::UnorderedElementsAre("hooked_waits", "holder", "signalled", "posted", "selecting"));
  EXPECT_EQ(report["lagwatch_threads"], expected.size() - names.size());
  Process show({LAGWATCH_PROGRAM, "report", report["id"], "--spool", spool_});
  EXPECT_EQ(show.Wait(), 0);
  EXPECT_THAT(show.Output(), HasSubstr(report["lagwatch_threads"] == 1 ? " 1 thread of lagwatch\n"
                                                                       : " threads of lagwatch\n"));
  kill(process.pid(), SIGKILL);
}

INSTANTIATE_TEST_SUITE_P(EveryHook, OwnPartsTest,
                         ::testing::Values(Way{"Poll", "poll", false}, Way{"PollAndHooks", "poll", true},
                                           Way{"Lock", "lock", false}, Way{"LockAndHooks", "lock", true}),
                         [](const auto& way) { return std::string(way.param.name); });

TEST_F(RunTest, NamesTheChildThatIsWaitedFor) {
  EXPECT_EQ(Process(Watched({LAGWATCH_HOOKED_WAITS, "child"})).Wait(), 0);
  const json reports = Ask({"reports"});
  ASSERT_FALSE(reports.empty());
  const json report = Ask({"report", reports[0]["id"]});
  EXPECT_EQ(report["facts"]["waits_for"], "process");
  EXPECT_EQ(report["facts"]["waits_for_name"], "sleep");
  const std::string pid = report["facts"]["waits_for_pid"].dump();
  Process show({LAGWATCH_PROGRAM, "report", report["id"], "--spool", spool_});
  EXPECT_EQ(show.Wait(), 0);
  EXPECT_THAT(show.Output(), HasSubstr("  waits for: sleep (pid " + pid + ")\n"));
  EXPECT_THAT(show.Output(), Not(HasSubstr("waits_for")));
  EXPECT_THAT(show.Output(), Not(HasSubstr("permille")));
  EXPECT_THAT(show.Output(), ::testing::ContainsRegex("  load_1min  [0-9]+[.][0-9][0-9]\n"));
}

}  // namespace
}  // namespace lagwatch::tools
