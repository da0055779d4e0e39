// SPDX-License-Identifier: Apache-2.0
// Frames of managed code, by a reader that the program has (lw_scripts).
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "report/format/report.h"
#include "tests/sdk/sdk_testing.h"
#include "tests/testing/stalls.h"

namespace lagwatch {
namespace {

using testing::WaitUntil;

// A run time whose "virtual machine" is this test's own executable.
struct Machine {
  std::atomic<int32_t> tid{0};                        // of the thread that runs managed code
  std::atomic<bool> is_held{false};                   // no answer until it is not
  std::atomic<const char*> inner{"shop.Cart.total"};  // the innermost function
  std::atomic<int> questions{0};

  static size_t Read(void* self, int32_t tid, lw_script_frame* frames, size_t capacity) {
    auto* machine = static_cast<Machine*>(self);
    ++machine->questions;
    while (machine->is_held) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (tid != machine->tid || capacity < 3) return 0;
    frames[0] = {machine->inner, "Cart.java", 42};
    frames[1] = {"shop.Shop.checkout", "Shop.java", 7};
    frames[2] = {"shop.Main.main", nullptr, 0};
    return 3;
  }
};

class ScriptsTest : public SdkTest {
 protected:
  Options OptionsWith(const char* runtime_modules) {
    Options options = TestOptions();
    options.process.scripts = {.context = &machine_,
                               .language = "java",
                               .runtime_modules = runtime_modules,
                               .read_stack = Machine::Read};
    return options;
  }
  // One dispatch that sleeps in the C library until `is_over`.
  template <typename IsOver>
  void SleepUntil(Loop loop, IsOver is_over) {
    ScopedDispatch dispatch(loop, "sleep");
    ASSERT_TRUE(WaitUntil([&] {
      usleep(50'000);
      return is_over();
    }));
  }
  // The reports with managed frames: on a busy machine a reader may take too long at first.
  std::vector<report::Report> ManagedReports() const {
    std::vector<report::Report> reports = Reports();
    std::erase_if(reports, [](const report::Report& report) { return report.symbols.empty(); });
    return reports;
  }
  // "module name:line" of each frame of the stack that the report blames.
  static std::vector<std::string> BlamedFrames(const report::Report& report) {
    std::vector<std::string> texts;
    for (const report::Frame& frame : report.stacks[report.expensive_stack].frames) {
      const bool is_known = frame.module != report::kNoModule;
      std::string text = is_known ? report.modules[frame.module].path : "?";
      text = text.substr(text.rfind('/') + 1);
      for (const report::Symbol& symbol : report.symbols) {
        if (symbol.module == frame.module && symbol.function_offset == frame.symbol_offset())
          text += " " + symbol.name + ":" + std::to_string(frame.offset - frame.function_offset);
      }
      texts.push_back(text);
    }
    return texts;
  }

  Machine machine_;
};

TEST_F(ScriptsTest, TakeThePlaceOfTheRuntimesFrames) {
  machine_.tid = gettid();
  auto monitor = Monitor::Start(OptionsWith("libother, sdk"));
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  SleepUntil(monitor.WatchLoop("ui"), [&] { return !ManagedReports().empty(); });

  const report::Report hang = ManagedReports()[0];
  const std::vector<std::string> frames = BlamedFrames(hang);
  ASSERT_GE(frames.size(), 4u);
  EXPECT_TRUE(frames[0].starts_with("libc.so")) << frames[0];
  const std::vector<std::string> managed(frames.end() - 3, frames.end());
  EXPECT_EQ(managed,
            (std::vector<std::string>{"[java] shop.Cart.total (Cart.java):42",
                                      "[java] shop.Shop.checkout (Shop.java):7", "[java] shop.Main.main:0"}));
  for (const std::string& frame : frames) EXPECT_FALSE(frame.starts_with("sdk")) << frame;
  EXPECT_EQ(hang.stacks[hang.expensive_stack].completeness, report::Completeness::kComplete);
  EXPECT_EQ(hang.symbols.size(), 3u);  // each once
}

// The cause key is made of it, and of the module's path.
TEST_F(ScriptsTest, HaveTheSameNumberInEveryRun) {
  machine_.tid = gettid();
  auto number = [&](const char* inner) {
    machine_.inner = inner;
    const size_t before = ManagedReports().size();
    auto monitor = Monitor::Start(OptionsWith("libc,sdk"));
    SleepUntil(monitor.WatchLoop("ui"), [&] { return ManagedReports().size() > before; });
    const report::Report hang = ManagedReports()[before];
    return hang.stacks[hang.expensive_stack].frames[0].function_offset;
  };
  const uint64_t first = number("shop.Cart.total");
  EXPECT_NE(first, 0u);
  EXPECT_EQ(number("shop.Cart.total"), first);
  EXPECT_NE(number("shop.Cart.discount"), first);
}

TEST_F(ScriptsTest, AChangedFunctionIsAChangedStack) {
  machine_.tid = gettid();
  auto monitor = Monitor::Start(OptionsWith("libc,sdk"));
  SleepUntil(monitor.WatchLoop("ui"), [&] {
    if (!ManagedReports().empty()) machine_.inner = "shop.Cart.discount";
    return ManagedReports().size() >= 2;
  });
  EXPECT_EQ(BlamedFrames(ManagedReports()[0])[0], "[java] shop.Cart.total (Cart.java):42");
  EXPECT_EQ(BlamedFrames(ManagedReports()[1])[0], "[java] shop.Cart.discount (Cart.java):42");
}

TEST_F(ScriptsTest, LeaveNativeStacksAlone) {
  auto monitor = Monitor::Start(OptionsWith("libother"));  // no frame is of the run time
  SleepUntil(monitor.WatchLoop("ui"), [&] { return !Reports().empty(); });
  EXPECT_TRUE(Reports()[0].symbols.empty());
  EXPECT_GE(BlamedFrames(Reports()[0]).size(), 3u);
}

TEST_F(ScriptsTest, AReaderThatHangsLosesItsFramesAndNothingElse) {
  machine_.tid = gettid();
  machine_.is_held = true;
  auto monitor = Monitor::Start(OptionsWith("sdk"));
  SleepUntil(monitor.WatchLoop("ui"), [&] { return !Reports().empty(); });
  EXPECT_TRUE(Reports()[0].symbols.empty());
  EXPECT_GE(BlamedFrames(Reports()[0]).size(), 3u);
  EXPECT_EQ(machine_.questions, 1);  // it was not asked again meanwhile
  machine_.is_held = false;
}

}  // namespace
}  // namespace lagwatch
