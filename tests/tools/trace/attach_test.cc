// SPDX-License-Identifier: Apache-2.0
// `lagwatch trace record --pid` of processes that run already, which do not notice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "tests/tools/trace/recorded.h"

namespace lagwatch::tools {
namespace {

using testing::HasRecorder;
using ::testing::HasSubstr;
using testing::kMs;
using testing::Process;
using testing::TotalsByName;
using testing::TraceDirectory;
using testing::WaitUntil;

class AttachTest : public ::testing::Test {
 protected:
  int Attach(pid_t pid, std::vector<std::string> flags = {"--duration", "1"},
             std::vector<std::string> runner = {}) {
    const auto command = directory_.AttachCommand(flags, pid);
    runner.insert(runner.end(), command.begin(), command.end());
    Process recorder(runner);
    const int code = recorder.Wait();
    errors_ = recorder.Errors();
    return code;
  }

  TraceDirectory directory_;
  std::string errors_;
};

TEST_F(AttachTest, RecordsABusyProcessTwice) {
  Process program(
      {"/usr/bin/python3", "-c", "import time\nwhile True: sorted(range(10000)); time.sleep(0.0001)"});
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(Attach(program.pid()), 0) << errors_;
    const trace::Trace trace = directory_.Read();
    EXPECT_EQ(trace.pid, program.pid());
    EXPECT_GT(TotalsByName(trace)["<module> (<string>)"], 500 * kMs) << testing::LossesOf(trace);
  }
  EXPECT_EQ(kill(program.pid(), 0), 0);
}

// The process has its name from itself.
TEST_F(AttachTest, WritesIntoNoFolderThatAProcessNames) {
  Process program(
      {"/usr/bin/python3", "-c",
       "import ctypes, time; ctypes.CDLL(None).prctl(15, b'../aside'); print('ready', flush=True)\n"
       "time.sleep(60)"});
  ASSERT_TRUE(WaitUntil([&] { return program.Output() == "ready\n"; }));
  const std::string folder = directory_ / "folder";
  std::filesystem::create_directory(folder);
  Process recorder({"/usr/bin/env", "--chdir", folder, LAGWATCH_PROGRAM, "trace", "record", "--duration",
                    "0.2", "--pid", std::to_string(program.pid())});
  EXPECT_EQ(recorder.Wait(), 0) << recorder.Errors();
  EXPECT_TRUE(std::filesystem::exists(folder + "/.._aside.lwtrace")) << recorder.Errors();
}

TEST_F(AttachTest, RecordsAProcessThatNeverWaits) {
  Process program({"/usr/bin/python3", "-c", "while True: pass"});
  ASSERT_TRUE(WaitUntil([&] { return Attach(program.pid()) == 0; })) << errors_;
  EXPECT_EQ(directory_.Read().pid, program.pid());
}

TEST_F(AttachTest, RecordsASleepingProcessTwice) {
  Process program({"/usr/bin/python3", "-c", "import time; print('ready', flush=True); time.sleep(60)"});
  ASSERT_TRUE(WaitUntil([&] { return program.Output() == "ready\n"; }));
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(Attach(program.pid()), 0) << errors_;
    const trace::Trace trace = directory_.Read();
    ASSERT_EQ(trace.threads.size(), 1u) << trace.threads.back().name;
    EXPECT_GT(TotalsByName(trace)["<module> (<string>)"], 500 * kMs) << testing::LossesOf(trace);
  }
}

TEST_F(AttachTest, NoCallOfTheProgramFails) {
  Process program({LAGWATCH_EINTR});
  ASSERT_TRUE(WaitUntil([&] { return program.Output() == "ready\n"; }));
  for (const char* interval_ms : {"10", "1", "1"})
    ASSERT_EQ(Attach(program.pid(), {"--duration", "1.5", "--interval-ms", interval_ms}), 0) << errors_;
  EXPECT_GE(directory_.Read().threads.size(), 7u);
  program.CloseInput();
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_EQ(program.Output(), "ready\n0 interrupted\n");
}

TEST_F(AttachTest, EndsWithTheProcess) {
  Process program({"/bin/sleep", "3"});
  EXPECT_EQ(Attach(program.pid(), {}), 0) << errors_;
  EXPECT_EQ(directory_.Read().pid, program.pid());
}

TEST_F(AttachTest, SaysThatThereIsNoSuchProcess) {
  Process program({"/bin/true"});
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_EQ(Attach(program.pid()), 2);
  EXPECT_THAT(errors_, HasSubstr("no such process: " + std::to_string(program.pid())));
}

TEST_F(AttachTest, SaysThatItIsSomebodyElses) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  Process program({"/bin/sleep", "60"});
  const std::vector<std::string> as_nobody = {"/usr/bin/setpriv", "--reuid", "65534",
                                              "--regid",          "65534",   "--clear-groups"};
  EXPECT_EQ(Attach(program.pid(), {"--duration", "1"}, as_nobody), 2);
  EXPECT_THAT(errors_, HasSubstr("belongs to another user"));
  EXPECT_EQ(kill(program.pid(), 0), 0);
}

TEST_F(AttachTest, RecordsSomebodyElsesProcessForRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may";
  Process program({"/usr/bin/setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                   "/usr/bin/python3", "-c",
                   "import time\nwhile True: sorted(range(10000)); time.sleep(0.0001)"});
  ASSERT_TRUE(WaitUntil([&] { return Attach(program.pid(), {"--duration", "0.5"}) == 0; }, 5)) << errors_;
  EXPECT_GT(TotalsByName(directory_.Read())["<module> (<string>)"], 200 * kMs);
}

TEST_F(AttachTest, SaysThatAStaticProgramCannotBe) {
  Process program({LAGWATCH_STATIC_PROGRAM, "60"});
  EXPECT_EQ(Attach(program.pid()), 2);
  EXPECT_THAT(errors_, HasSubstr("linked statically"));
}

TEST_F(AttachTest, SaysThatItIsBeingTraced) {
  Process program({"/bin/sleep", "60"});
  ASSERT_EQ(ptrace(PTRACE_SEIZE, program.pid(), nullptr, nullptr), 0);
  EXPECT_EQ(Attach(program.pid()), 2);
  EXPECT_THAT(errors_, HasSubstr("being debugged"));
  EXPECT_EQ(kill(program.pid(), 0), 0);
}

TEST_F(AttachTest, SaysThatItIsBeingRecorded) {
  Process program({"/usr/bin/python3", "-c", "import time; print('ready', flush=True); time.sleep(60)"});
  ASSERT_TRUE(WaitUntil([&] { return program.Output() == "ready\n"; }));
  const TraceDirectory other;
  Process first(other.AttachCommand({}, program.pid()));
  // The first one records.
  ASSERT_TRUE(WaitUntil([&] { return HasRecorder(program.pid()); }));
  EXPECT_EQ(Attach(program.pid(), {"--duration", "0.1"}), 2);
  EXPECT_THAT(errors_, HasSubstr("being recorded already"));
  first.Signal(SIGINT);
  EXPECT_EQ(first.Wait(), 0) << first.Errors();
  EXPECT_EQ(other.Read().pid, program.pid());
}

TEST_F(AttachTest, ALostTerminalEndsTheRecording) {
  Process program({"/usr/bin/python3", "-c", "import time; print('ready', flush=True); time.sleep(60)"});
  ASSERT_TRUE(WaitUntil([&] { return program.Output() == "ready\n"; }));
  Process recorder(directory_.AttachCommand({}, program.pid()));
  ASSERT_TRUE(WaitUntil([&] { return HasRecorder(program.pid()); }));
  recorder.Signal(SIGHUP);
  EXPECT_EQ(recorder.Wait(), 0) << recorder.Errors();
  EXPECT_EQ(directory_.Read().pid, program.pid());
}

TEST_F(AttachTest, ARecordingThatNobodyWantsEnds) {
  Process program({"/usr/bin/python3", "-c", "import time; print('ready', flush=True); time.sleep(60)"});
  ASSERT_TRUE(WaitUntil([&] { return program.Output() == "ready\n"; }));
  Process recorder(directory_.AttachCommand({}, program.pid()));
  ASSERT_TRUE(WaitUntil([&] { return HasRecorder(program.pid()); }));
  recorder.Signal(SIGKILL);
  EXPECT_EQ(recorder.Wait(), -SIGKILL);
  EXPECT_TRUE(WaitUntil([&] { return !HasRecorder(program.pid()); }));
  EXPECT_EQ(Attach(program.pid(), {"--duration", "0.1"}), 0) << errors_;
}

// Code with system calls of its own may count on vectors that a called function may change.
TEST_F(AttachTest, KeepsVectorsAndStaysOffASmallStack) {
  Process program({LAGWATCH_ODD, "wait-on-small-stack"});
  ASSERT_TRUE(WaitUntil([&] { return program.Output() == "ready\n"; }));
  EXPECT_EQ(Attach(program.pid(), {"--duration", "0.2"}), 0) << errors_;
  kill(program.pid(), SIGUSR1);  // the wait ends
  EXPECT_EQ(program.Wait(), 0) << program.Errors();
}

}  // namespace
}  // namespace lagwatch::tools
