// SPDX-License-Identifier: Apache-2.0
// Dispatches and hangs of loops that lagwatch watches, on a program that is frozen for 600 ms by a line.
#include <csignal>

#include "tests/testing/temp_directory.h"
#include "tests/tools/probe/probe_testing.h"

namespace lagwatch::tools {
namespace {

class LoopProbes : public ProbeTest {
 protected:
  void SetUp() override {}
  void Run(const std::vector<std::string>& before) {
    std::vector<std::string> command = before;
    command.insert(command.end(), {LAGWATCH_ATTACHED_PROGRAM, "loop"});
    program_ = std::make_unique<Process>(command);
    ASSERT_TRUE(WaitUntil([&] { return program_->Output() == "ready\n"; })) << program_->Errors();
  }
  void RunWatched() {
    Run({LAGWATCH_PROGRAM, "run", "--threshold-ms", "200", "--spool", spool_, "--quiet", "--"});
  }
  void Freeze() {
    const size_t before = Count(program_->Output(), "froze\n");
    program_->WriteInput("x");
    ASSERT_TRUE(WaitUntil([&] { return Count(program_->Output(), "froze\n") == before + 1; }));
  }
  std::unique_ptr<Process> Armed(const std::string& script) {
    auto console = Start({pid(), script});
    EXPECT_TRUE(WaitUntil([&] { return IsArmed(*console) || console->Errors().find("lagwatch: ") == 0; }));
    EXPECT_TRUE(IsArmed(*console)) << console->Errors();
    return console;
  }
  static void End(Process* console) {
    console->Signal(SIGINT);
    EXPECT_EQ(console->Wait(), 0) << console->Errors();
  }
  static bool Prints(const Process& console, const char* text) {
    return WaitUntil([&] { return console.Output().find(text) != std::string::npos; });
  }

  testing::ScopedTempDirectory directory_;
  std::string spool_ = directory_ / "spool";
};

TEST_F(LoopProbes, SeesDispatchesWithTheirTimes) {
  RunWatched();
  const auto console =
      Armed("dispatch * if duration > 500ms { print(\"long\", loop, tag, duration) } dispatch { count }");
  Freeze();
  Freeze();
  EXPECT_TRUE(Prints(*console, "long"));
  EXPECT_TRUE(WaitUntil([&] { return Count(console->Output(), "long") == 2; })) << console->Output();
  End(console.get());
  EXPECT_THAT(console->Output(), ::testing::ContainsRegex("long +[^ ]+ +poll")) << console->Output();
  const auto none = Armed("dispatch no-such-loop { print(\"hit\", loop) }");
  Freeze();
  End(none.get());
  EXPECT_EQ(none->Output(), "");
}

TEST_F(LoopProbes, ArmsAScriptOnAHang) {
  RunWatched();
  const auto console = Armed("on hang of * { print(\"hang\", loop, duration); arm allocations for 1s }");
  Freeze();
  EXPECT_TRUE(Prints(*console, "hang"));
  EXPECT_TRUE(WaitUntil([&] { return Count(console->Errors(), "armed at") == 2; })) << console->Errors();
  End(console.get());
  EXPECT_EQ(Count(console->Output(), "hang"), 1U) << console->Output();
}

TEST_F(LoopProbes, AreThereOnceTheProgramIsAttachedTo) {
  Run({});
  EXPECT_EQ(Ask({pid(), "dispatch { count }"}), 2);
  EXPECT_THAT(errors_, HasSubstr("its loops are not watched"));
  Process attach({LAGWATCH_PROGRAM, "attach", pid(), "--threshold-ms", "200", "--spool", spool_});
  ASSERT_EQ(attach.Wait(), 0) << attach.Errors();
  const auto console = Armed("dispatch if duration > 500ms { print(\"long\", tag) }");
  // Its loop is known from its first wait on.
  ASSERT_TRUE(WaitUntil([&] {
    Freeze();
    return console->Output().find("long") != std::string::npos;
  }));
  End(console.get());
  Process detach({LAGWATCH_PROGRAM, "detach", pid()});
  EXPECT_EQ(detach.Wait(), 0) << detach.Errors();
}

}  // namespace
}  // namespace lagwatch::tools
