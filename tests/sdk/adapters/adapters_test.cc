// SPDX-License-Identifier: Apache-2.0
// Programs whose loops are watched by an adapter, or by `lagwatch run` alone: each hang that they have
// planted is reported, with its tag, and nothing else: no dialog, no wait, no loop that is run by hand.
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "stack/script_stacks.h"
#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {
namespace {

struct Found {
  std::string stack;
  std::string tag;
  std::vector<std::string> fibers;  // stacks of those that are suspended
};

// "FUNCTION<CALLER&SUSPENDED TAG": the stack has both functions, and a suspended fiber's has the third.
struct Planted {
  explicit Planted(std::string text) {
    const auto cut = [&](char sign) {
      const size_t at = std::min(text.find(sign), text.size());
      std::string end = at == text.size() ? "" : text.substr(at + 1);
      text.resize(at);
      return end;
    };
    suspended = cut('&');
    caller = cut('<');
    function = text;
  }
  bool IsIn(const Found& report) const {
    const size_t at = report.stack.find('"' + function);
    if (at == std::string::npos && report.stack.find("::" + function) == std::string::npos) return false;
    if (!caller.empty() && report.stack.find('"' + caller, at) == std::string::npos) return false;
    return suspended.empty() || std::ranges::any_of(report.fibers, [&](const std::string& fiber) {
             return fiber.find('"' + suspended) != std::string::npos &&  // and it ends in the fiber
                    fiber.find("\"main\"") == std::string::npos;
           });
  }

  std::string function;
  std::string caller;
  std::string suspended;
};

class AdapterTest : public RunTest, public ::testing::WithParamInterface<const char*> {
 protected:
  std::vector<Found> Reports() const {
    std::vector<Found> reports;
    for (const json& header : Ask({"reports"})) {
      const json report = Ask({"report", header.at("id")});
      Found found{report.at("expensive_stack").dump(), report.value("tag", ""), {}};
      std::set<std::string> fibers;
      for (const json& thread : report.at("threads")) {
        const std::string name = thread.value("name", "");
        if (!name.starts_with("fiber ")) continue;
        EXPECT_TRUE(fibers.insert(name).second) << name << " is listed twice";
        EXPECT_NE(thread.at("tid"), stack::ScriptThreadOf(std::stoul(name.substr(6)))) << "a goroutine's";
        if (thread.at("completeness") == "complete") found.fibers.push_back(thread.at("stack").dump());
      }
      reports.push_back(std::move(found));
    }
    return reports;
  }
};

TEST_P(AdapterTest, FindsWhatIsPlantedAndNothingElse) {
  const std::string path = GetParam();
  std::vector<std::string> command = {path, spool_};
  if (path.ends_with("_gtk") || path.ends_with("_gtk4")) {
    if (access("/usr/bin/xvfb-run", X_OK) != 0) GTEST_SKIP() << "there is no Xvfb";
    command.insert(command.begin(), {"/usr/bin/xvfb-run", "-a"});
  }
  if (path.find("/plain_") != std::string::npos) command = Watched({path});
  setenv("XDG_RUNTIME_DIR", directory_.path().c_str(), 1);  // else Qt makes one in /tmp, and leaves it
  Process program(command);
  constexpr int kCannotRunHere = 77;
  const int code = program.Wait();
  if (code == kCannotRunHere) GTEST_SKIP() << program.Errors();
  ASSERT_EQ(code, 0) << program.Errors();
  std::vector<Found> reports = Reports();
  std::istringstream planted(program.Output());
  size_t count = 0;
  for (std::string function, tag; planted >> function && std::getline(planted >> std::ws, tag); ++count) {
    const Planted hang(function);
    const auto found = std::ranges::find_if(reports, [&](const Found& report) { return hang.IsIn(report); });
    if (found == reports.end()) {
      ADD_FAILURE() << function << " is not reported";
      continue;
    }
    if (tag != "*") {
      EXPECT_EQ(found->tag, tag == "-" ? "" : tag) << function;
    }
    reports.erase(found);
  }
  EXPECT_GE(count, 3u);
  for (const Found& report : reports) ADD_FAILURE() << "accused, tag " << report.tag << ": " << report.stack;
}

INSTANTIATE_TEST_SUITE_P(Loops, AdapterTest, ::testing::Values(LAGWATCH_ADAPTER_PROGRAMS),
                         [](const auto& program) {
                           const std::string file = program.param;
                           return file.substr(file.rfind('/') + 1);
                         });

#ifdef LAGWATCH_QUICK_PROGRAM
class QuickTest : public RunTest {
 protected:
  // The number of frames by loop; that of all is the number that were drawn.
  std::map<std::string, int> Frames(const std::string& render_loop) {
    setenv("XDG_RUNTIME_DIR", directory_.path().c_str(), 1);
    Process program({"/usr/bin/xvfb-run", "-a", LAGWATCH_QUICK_PROGRAM, spool_},
                    {"QSG_RENDER_LOOP=" + render_loop});
    EXPECT_EQ(program.Wait(), 0) << program.Errors();
    int drawn = 0, synchronized = 0, sum = 0;
    std::istringstream(program.Output()) >> drawn >> synchronized;
    EXPECT_GT(drawn, 0);
    has_idle_synchronization_ = synchronized != drawn;
    std::map<std::string, int> frames;
    for (const json& row : Ask({"frames"})) {
      frames[row.at("loop")] += row.at("frames").get<int>();
      sum += row.at("frames").get<int>();
    }
    EXPECT_EQ(sum, drawn);
    return frames;
  }
  bool has_idle_synchronization_ = false;
};

TEST_F(QuickTest, CountsTheFramesThatAreDrawn) {
  if (access("/usr/bin/xvfb-run", X_OK) != 0) GTEST_SKIP() << "there is no Xvfb";
  EXPECT_EQ(Frames("threaded").size(), 1u);
  if (!has_idle_synchronization_) GTEST_SKIP() << "each synchronization was drawn";
}

TEST_F(QuickTest, CountsThemForTheLoopThatIsWatchedMeanwhile) {
  if (access("/usr/bin/xvfb-run", X_OK) != 0) GTEST_SKIP() << "there is no Xvfb";
  const auto frames = Frames("basic");
  EXPECT_TRUE(frames.contains("ui"));
  EXPECT_TRUE(frames.contains("render"));
}
#endif

#ifdef LAGWATCH_URING_PLUGIN
class PluginTest : public RunTest {};

TEST_F(PluginTest, MayUnloadLiburingAndLoadItAgain) {
  constexpr int kCannotRunHere = 77;
  Process program(Watched({LAGWATCH_URING_RELOADS, LAGWATCH_URING_PLUGIN}));
  const int code = program.Wait();
  if (code == kCannotRunHere) GTEST_SKIP() << "the kernel refuses rings";
  EXPECT_EQ(code, 0) << program.Errors();
}
#endif

}  // namespace
}  // namespace lagwatch::tools
