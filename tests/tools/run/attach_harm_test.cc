// SPDX-License-Identifier: Apache-2.0
// `lagwatch attach` on programs that change while they are attached, and commands that are killed: no program
// is harmed, and nothing is left in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/tools/run/attach_testing.h"

namespace lagwatch::tools {
namespace {

using ::testing::HasSubstr;
using testing::WaitUntil;

class AttachHarmTest : public AttachRunningTest {
 protected:
  static std::string FolderOf(const Process& program) { return "/proc/" + std::to_string(program.pid()); }
  static size_t ThreadsOf(const Process& program) { return EntriesIn(FolderOf(program) + "/task"); }
  static void ExpectGoodEnd(Process* program) {
    program->CloseInput();
    EXPECT_EQ(program->Wait(), 0) << program->Output();
    EXPECT_THAT(program->Output(), ::testing::EndsWith("good\n"));
  }
  std::vector<std::string> SpiedAttach(const Process& program, const std::string& how) const {
    return {"/usr/bin/env", "LD_PRELOAD=" LAGWATCH_PTRACE_SPY, how,       LAGWATCH_PROGRAM,
            "attach",       std::to_string(program.pid()),     "--spool", spool_};
  }

  std::mt19937 random_{38};
};

TEST_F(AttachHarmTest, TakesNoThreadOfTheProgramsForItsOwn) {
  Process program({LAGWATCH_CHANGING_PROGRAM, "pause"});
  ASSERT_TRUE(IsReady(program));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Do("attach", program.pid()), 0) << errors_;
    EXPECT_EQ(Do("detach", program.pid()), 0) << errors_;
  }
  ExpectGoodEnd(&program);
}

// The stop is of a thread that has all its addresses elsewhere.
TEST_F(AttachHarmTest, AttachesToTheProgramThatAProcessHasBecomeMeanwhile) {
  Process program({LAGWATCH_CHANGING_PROGRAM, "exec"});
  ASSERT_TRUE(IsReady(program));
  Process attach(SpiedAttach(program, "PTRACE_SPY_SIGNAL=" + std::to_string(SIGUSR1)));
  EXPECT_EQ(attach.Wait(), 0) << attach.Errors();
  EXPECT_EQ(program.Output(), "ready\nready\n");
  EXPECT_EQ(Do("detach", program.pid()), 0) << errors_;
  EXPECT_EQ(ThreadsOf(program), 1u);
  ExpectGoodEnd(&program);
}

TEST_F(AttachHarmTest, ProgramsThatStartOthersAtAnyMomentLive) {
  for (int i = 0; i < 8; ++i) {
    Process program({LAGWATCH_CHANGING_PROGRAM, "exec"});
    ASSERT_TRUE(IsReady(program));
    Process attach({LAGWATCH_PROGRAM, "attach", std::to_string(program.pid()), "--spool", spool_});
    usleep(random_() % 80'000);
    program.WriteInput("exec\n");
    const int code = attach.Wait();
    EXPECT_TRUE(code == 0 || (code == 2 && attach.Errors().find("attach:") != std::string::npos))
        << code << attach.Errors();
    ASSERT_TRUE(WaitUntil([&] { return program.Output() == "ready\nready\n"; }));
    ExpectGoodEnd(&program);
  }
}

// That takes long in a program with many mappings. One that computes shows its stack only when it is stopped.
TEST_F(AttachHarmTest, LooksForNoStackWhileAThreadIsStopped) {
  Process program({LAGWATCH_ATTACHED_PROGRAM, "spin"});
  ASSERT_TRUE(IsReady(program));
  const std::string stops = directory_ / "stops";
  Process attach(SpiedAttach(program, "PTRACE_SPY=" + stops));
  ASSERT_EQ(attach.Wait(), 0) << attach.Errors();
  EXPECT_THAT(Contents(stops), ::testing::EndsWith("other\n"));
  EXPECT_THAT(Contents(stops), ::testing::Not(HasSubstr("mappings")));
}

// The kernel would make an interrupted wait again with the whole of its time.
TEST_F(AttachHarmTest, WaitsEndWhenTheyWouldHaveEnded) {
#ifndef __x86_64__
  GTEST_SKIP() << "the frame of signals is known for x86-64 alone";
#endif
  if (Contents("/proc/self/sched").empty()) GTEST_SKIP() << "this kernel does not show the scheduler's times";
  std::vector<std::unique_ptr<Process>> programs;
  for (const char* scene : {"poll", "epoll", "sleep"}) {
    programs.push_back(std::make_unique<Process>(std::vector<std::string>{LAGWATCH_CHANGING_PROGRAM, scene}));
    ASSERT_TRUE(IsReady(*programs.back()));
  }
  usleep(800'000);
  for (auto& program : programs) EXPECT_EQ(Do("attach", program->pid()), 0) << errors_;
  for (auto& program : programs) ExpectGoodEnd(program.get());
}

// After each of the calls by which it traces threads, of which there are some 45.
TEST_F(AttachHarmTest, ACommandThatIsKilledLeavesNoThread) {
#ifndef __x86_64__
  GTEST_SKIP() << "the frame of signals is known for x86-64 alone";
#endif
  std::vector<std::unique_ptr<Process>> programs;
  for (int call = 1; call <= 45; call += 4) {
    programs.push_back(
        std::make_unique<Process>(std::vector<std::string>{LAGWATCH_ATTACHED_PROGRAM, "loop"}));
    ASSERT_TRUE(IsReady(*programs.back()));
    Process attach(SpiedAttach(*programs.back(), "PTRACE_SPY_KILL=" + std::to_string(call)));
    static_cast<void>(attach.Wait());  // killed, or done before so many calls
  }
  // The helpers end by themselves. Those threads that watch are of no interest here.
  for (auto& program : programs) {
    const bool is_loaded =
        Contents(FolderOf(*program) + "/maps").find("liblagwatch-preload") != std::string::npos;
    if (is_loaded) Do("detach", program->pid());
    EXPECT_TRUE(WaitUntil([&] { return ThreadsOf(*program) == 1; })) << ThreadsOf(*program);
    ExpectGoodEnd(program.get());
  }
}

}  // namespace
}  // namespace lagwatch::tools
