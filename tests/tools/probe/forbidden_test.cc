// SPDX-License-Identifier: Apache-2.0
// Programs that forbid probes, and probes from a program's start.
#include <unistd.h>

#include <csignal>

#include "tests/tools/probe/probe_testing.h"

namespace lagwatch::tools {
namespace {

class ForbiddenProbes : public ProbeTest {
 protected:
  void SetUp() override {}
  void Run(std::vector<std::string> command) {
    program_ = std::make_unique<Process>(std::move(command));
    ASSERT_TRUE(WaitUntil([&] { return program_->Output() == "ready\n"; })) << program_->Errors();
  }
  void Await(const std::string& input, const std::string& output) {
    program_->WriteInput(input);
    ASSERT_TRUE(WaitUntil([&] { return program_->Output().ends_with(output); })) << program_->Output();
  }
  // For all threads; then it may do no more than these commands need.
  void ConfineAll() {
    Do("confine 1");
    EXPECT_THAT(program_->Output(), HasSubstr("confined 0"));
    Do("request 3");
  }
  void ConfineAllAndExit() {
    ConfineAll();
    program_->WriteInput("exit 4\n");
    EXPECT_EQ(program_->Wait(), 4);
  }
  std::string FirstByte() {
    const size_t before = program_->Output().size();
    program_->WriteInput("code\n");
    EXPECT_TRUE(WaitUntil([&] { return program_->Output().size() > before; }));
    return program_->Output().substr(before);
  }
};

TEST_F(ForbiddenProbes, AreRefusedUnderRunWithNoProbes) {
  Run({LAGWATCH_PROGRAM, "run", "--no-probes", "--spool", "/nonexistent", "--quiet", "--",
       LAGWATCH_PROBED_PROGRAM});
  const std::string before = Code();
  EXPECT_EQ(Ask({pid(), "add_numbers { count }"}), 2);
  EXPECT_THAT(errors_, HasSubstr("it has forbidden probes"));
  EXPECT_EQ(Ask({pid(), "add_numbers { count }", "--kernel"}), 2);
  EXPECT_THAT(errors_, HasSubstr(geteuid() == 0 ? "it has forbidden probes" : "need root"));
  EXPECT_EQ(Code(), before);
}

TEST_F(ForbiddenProbes, OfTheKernelEndWhenTheProgramForbidsThem) {
  if (geteuid() != 0) GTEST_SKIP() << "root alone may use the kernel's probes";
  Run({LAGWATCH_FORBIDDING_PROGRAM});
  const std::string before = FirstByte();
  const auto console = Start({pid(), "probed_function { count }", "--kernel"});
  if (!WaitUntil([&] { return IsArmed(*console); })) GTEST_SKIP() << console->Errors();
  Await("call\n", "called 2\n");
  Await("forbid\n", "forbidden 1\n");
  EXPECT_EQ(console->Wait(), 0);
  EXPECT_THAT(console->Output(), HasSubstr("count"));
  EXPECT_EQ(FirstByte(), before);
}

TEST_F(ForbiddenProbes, AreTakenAwayWhenTheProgramForbidsThem) {
  Run({LAGWATCH_FORBIDDING_PROGRAM});
  const std::string before = FirstByte();
  const auto console = Start({pid(), "probed_function { print(\"hit\", tid) }"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); }));
  Await("call\n", "called 2\n");
  EXPECT_NE(FirstByte(), before);
  ASSERT_TRUE(WaitUntil([&] { return console->Output().find("hit") != std::string::npos; }));
  Await("forbid\n", "forbidden 1\n");
  EXPECT_EQ(console->Wait(), 0);
  EXPECT_TRUE(WaitUntil([&] { return FirstByte() == before; }));
  EXPECT_EQ(Ask({pid(), "probed_function { count }"}), 2);
  EXPECT_THAT(errors_, HasSubstr("it has forbidden probes"));
}

TEST_F(ForbiddenProbes, AreForbiddenBeforeAnyConsole) {
  Run({LAGWATCH_FORBIDDING_PROGRAM});
  Await("forbid\n", "forbidden 1\n");
  EXPECT_EQ(Ask({pid(), "probed_function { count }"}), 2);
  EXPECT_THAT(errors_, HasSubstr("it has forbidden probes"));
}

TEST_F(ForbiddenProbes, BeginWithTheProgramUnderRun) {
  program_ = std::make_unique<Process>(std::vector<std::string>{
      LAGWATCH_PROGRAM, "run", "--spool", "/nonexistent", "--quiet", "--probe",
      "main { print(\"began\", tid) } exit { print(status) }", "--", LAGWATCH_PROBED_PROGRAM});
  program_->WriteInput("exit 4\n");
  EXPECT_EQ(program_->Wait(), 4);
  EXPECT_TRUE(WaitUntil([&] { return program_->Errors().find("2 hits") != std::string::npos; }))
      << program_->Errors();
  EXPECT_THAT(program_->Errors(), HasSubstr("began"));
}

// Of a function that lagwatch's own takes the place of, too.
TEST_F(ForbiddenProbes, SeeImportedCallsUnderRun) {
  Run({LAGWATCH_PROGRAM, "run", "--spool", "/nonexistent", "--quiet", "--probe",
       "call usleep(unsigned us) { print(\"sleeps\", us) }", "--", LAGWATCH_PROBED_PROGRAM});
  Do("sleep 2");
  program_->WriteInput("exit 4\n");
  EXPECT_EQ(program_->Wait(), 4);
  EXPECT_TRUE(WaitUntil([&] { return program_->Errors().find("2 hits") != std::string::npos; }))
      << program_->Errors();
  EXPECT_THAT(program_->Errors(), ::testing::ContainsRegex("sleeps +5000"));
}

// Its texts are read by a system call that its filter does not expect.
TEST_F(ForbiddenProbes, DoNotEndAProgramThatConfinesItself) {
  Run({LAGWATCH_PROGRAM, "run", "--spool", "/nonexistent", "--quiet", "--probe",
       "handle_request { print(str(arg1)) }", "--", LAGWATCH_PROBED_PROGRAM});
  Do("request 2");
  Do("confine");
  EXPECT_THAT(program_->Output(), HasSubstr("confined 0"));
  Do("request 3");
  program_->WriteInput("exit 4\n");
  EXPECT_EQ(program_->Wait(), 4);
}

// Its filter is one for all threads, also the service's.
TEST_F(ForbiddenProbes, EndUnderRunBeforeAllThreadsAreConfined) {
  Run({LAGWATCH_PROGRAM, "run", "--spool", "/nonexistent", "--quiet", "--probe", "handle_request { count }",
       "--", LAGWATCH_PROBED_PROGRAM});
  ConfineAllAndExit();
}

// The library is loaded into it, and nothing redirects its calls.
TEST_F(ForbiddenProbes, EndBeforeAProbedProgramConfinesItself) {
  Run({LAGWATCH_PROBED_PROGRAM});
  const auto console = Start({pid(), "handle_request { print(str(arg1)); calls: count }"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); })) << console->Errors();
  Do("request 2");
  ConfineAll();
  EXPECT_EQ(console->Wait(), 0);
  EXPECT_THAT(console->Errors(), HasSubstr("confines itself by seccomp"));
  EXPECT_THAT(console->Output(), HasSubstr("calls\n  2\n"));
  program_->WriteInput("exit 4\n");
  EXPECT_EQ(program_->Wait(), 4);
}

// By system calls that no function of the C library makes.
TEST_F(ForbiddenProbes, EndSoonAfterAFilterThatIsNotNoticed) {
  Run({LAGWATCH_PROBED_PROGRAM});
  const std::string before = Code();
  const auto console = Start({pid(), "handle_request { calls: count }"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); })) << console->Errors();
  Do("request 2");
  Do("confine-unnoticed");
  EXPECT_THAT(program_->Output(), HasSubstr("confined 0"));
  EXPECT_EQ(console->Wait(), 0);
  EXPECT_THAT(console->Errors(), HasSubstr("confines itself by seccomp"));
  EXPECT_THAT(console->Output(), HasSubstr("calls\n  2\n"));
  EXPECT_EQ(Code(), before);
}

TEST_F(ForbiddenProbes, EndSoonAfterAMainThreadThatIsNotNoticed) {
  Run({LAGWATCH_PROBED_PROGRAM});
  ASSERT_EQ(Ask({pid(), "handle_request { count }", "--leave", "--for", "1ms"}), 0) << errors_;
  program_->WriteInput("end-main-unnoticed\n");
  EXPECT_EQ(program_->Wait(), 0);  // it had no other thread than the service's
}

TEST_F(ForbiddenProbes, EndBeforeAProgramWithProbesThatStayConfinesItself) {
  Run({LAGWATCH_PROBED_PROGRAM});
  ASSERT_EQ(Ask({pid(), "handle_request { count }", "--leave", "--for", "1ms"}), 0) << errors_;
  ConfineAllAndExit();
}

// The service is still there for a moment.
TEST_F(ForbiddenProbes, DoNotEndAProgramThatConfinesItselfAfterThem) {
  Run({LAGWATCH_PROBED_PROGRAM});
  ASSERT_EQ(Ask({pid(), "handle_request { count }", "--for", "1ms"}), 0) << errors_;
  ConfineAllAndExit();
}

TEST_F(ForbiddenProbes, EndBeforeTheMainThread) {
  for (const bool is_armed_then : {true, false}) {
    Run({LAGWATCH_PROBED_PROGRAM});
    const auto console = Start({pid(), "handle_request { count }"});
    ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); })) << console->Errors();
    if (!is_armed_then) {
      console->Signal(SIGINT);
      EXPECT_EQ(console->Wait(), 0);
    }
    program_->WriteInput("end-main\n");
    EXPECT_EQ(program_->Wait(), 0);
    EXPECT_THAT(program_->Output(), HasSubstr("ended"));
    EXPECT_EQ(console->Wait(), 0);
  }
}

// The code is restored, and the other consoles find the service, though both are another user's by now.
TEST_F(ForbiddenProbes, CanBeTakenAwayWhenTheProgramHasDroppedItsRights) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  Run({LAGWATCH_PROBED_PROGRAM});
  const std::string before = Code();
  ASSERT_EQ(Ask({pid(), "add_numbers { count }", "--leave", "--for", "1ms"}), 0) << errors_;
  const auto console = Start({pid(), "handle_request { count }"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); })) << console->Errors();
  Do("drop-root");
  EXPECT_THAT(program_->Output(), HasSubstr("dropped 0\n"));
  console->Signal(SIGINT);
  EXPECT_EQ(console->Wait(), 0) << console->Errors();
  EXPECT_EQ(Ask({pid(), "--disarm"}), 0) << errors_;
  EXPECT_EQ(Code(), before);
}

TEST_F(ForbiddenProbes, AreNotHitInChildrenThatShareMemory) {
  Run({LAGWATCH_PROBED_PROGRAM});
  EXPECT_THAT(Records(Probe("add_numbers { print(a, b) } exit { print(status) }", "vfork 3")),
              ::testing::IsEmpty());
  EXPECT_THAT(Records(Probe("add_numbers { print(b) }", "add 1")), ::testing::ElementsAre("2"));
}

}  // namespace
}  // namespace lagwatch::tools
