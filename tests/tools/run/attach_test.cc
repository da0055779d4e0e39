// SPDX-License-Identifier: Apache-2.0
// `lagwatch attach` and `lagwatch detach` on unprepared programs that run already.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tools/run/attach_testing.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::WaitUntil;

TEST_F(AttachRunningTest, ReportsHangsFromAttachToDetachAndAgain) {
  Process program({LAGWATCH_ATTACHED_PROGRAM, "loop"});
  ASSERT_TRUE(IsReady(program));
  Freeze(&program);
  ASSERT_EQ(Do("attach", program.pid(), {"--app", "mine", "--app-version", "9"}), 0) << errors_;
  EXPECT_THAT(output_, HasSubstr("is watched"));
  usleep(200'000);  // the loop is known by its waits
  Freeze(&program);
  ASSERT_TRUE(WaitUntil([&] { return Reports() == 1; }));
  const json report = Ask({"report", Ask({"reports"})[0]["id"]});
  EXPECT_EQ(report["app"], "mine");
  EXPECT_THAT(report.dump(), HasSubstr("FreezeForAWhile"));

  ASSERT_EQ(Do("detach", program.pid()), 0) << errors_;
  EXPECT_EQ(EntriesIn("/proc/" + std::to_string(program.pid()) + "/task"), 1u);
  Freeze(&program);
  EXPECT_EQ(Reports(), 1u);
  EXPECT_EQ(Do("detach", program.pid()), 2);
  EXPECT_THAT(errors_, HasSubstr("not attached"));

  ASSERT_EQ(Do("attach", program.pid()), 0) << errors_;
  EXPECT_EQ(Do("attach", program.pid()), 2);
  EXPECT_THAT(errors_, HasSubstr("watched already"));
  usleep(200'000);
  Freeze(&program);
  EXPECT_TRUE(WaitUntil([&] { return Reports() == 2; }));
  program.CloseInput();
  EXPECT_EQ(program.Wait(), 0) << program.Output();
  EXPECT_EQ(program.Errors(), "");
}

TEST_F(AttachRunningTest, ReportsAProgramThatIsFrozenAlready) {
  if (!fs::exists("/proc/self/sched")) GTEST_SKIP() << "this kernel does not say when a thread has run last";
  Process program({LAGWATCH_ATTACHED_PROGRAM, "locked"});
  ASSERT_TRUE(IsReady(program));
  usleep(700'000);
  ASSERT_EQ(Do("attach", program.pid()), 0) << errors_;
  EXPECT_THAT(output_, HasSubstr("has been frozen for"));
  ASSERT_EQ(Reports(), 1u);
  EXPECT_THAT(Ask({"report", Ask({"reports"})[0]["id"]}).dump(), HasSubstr("WaitForMutex"));
  program.Signal(SIGKILL);
  EXPECT_EQ(program.Wait(), -SIGKILL);
}

// As services do that have a user of their own.
TEST_F(AttachRunningTest, MakesTheSpoolForAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root attaches to the programs of others";
  constexpr uid_t kNobody = 65534;
  const std::string user_id = std::to_string(kNobody);
  for (fs::path folder = directory_.path(); folder != fs::temp_directory_path().root_path();
       folder = folder.parent_path())
    fs::permissions(folder, fs::perms::others_exec, fs::perm_options::add);
  Process program({"setpriv", "--reuid=" + user_id, "--regid=" + user_id, "--clear-groups",
                   LAGWATCH_ATTACHED_PROGRAM, "loop"},
                  {"HOME=/nonexistent"});
  ASSERT_TRUE(IsReady(program));
  spool_ = directory_ / "its/spool";
  ASSERT_EQ(Do("attach", program.pid()), 0) << errors_;
  EXPECT_THAT(output_, HasSubstr("its reports are in " + spool_));
  struct stat status {};
  ASSERT_EQ(stat(spool_.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, kNobody);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  usleep(200'000);  // the loop is known by its waits
  Freeze(&program);
  EXPECT_TRUE(WaitUntil([&] { return Reports() == 1; }));
  ASSERT_EQ(Do("detach", program.pid()), 0) << errors_;

  // A directory that is there and belongs to another user is left as it is.
  spool_ = directory_ / "mine";
  fs::create_directory(spool_);
  EXPECT_EQ(Do("attach", program.pid()), 2);
  EXPECT_THAT(errors_, HasSubstr("name one that is its own"));
  ASSERT_EQ(stat(spool_.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, geteuid());
  program.CloseInput();
  EXPECT_EQ(program.Wait(), 0) << program.Output();
}

TEST_F(AttachRunningTest, RedirectsEachFunctionThatTheLibraryHooks) {
  Process program({LAGWATCH_IMPORTING_PROGRAM});
  ASSERT_TRUE(IsReady(program));
  ASSERT_EQ(Do("attach", program.pid()), 0) << errors_;
  program.WriteInput("print\n");
  ASSERT_EQ(program.Wait(), 0);
  std::istringstream lines(program.Output());
  std::string function;
  std::string library;
  lines >> function;  // "ready"
  size_t count = 0;
  for (; lines >> function >> library; ++count)
    EXPECT_THAT(library, HasSubstr("lagwatch-preload")) << function;
  EXPECT_GT(count, 40u);
}

TEST_F(AttachRunningTest, LoadsIntoAProgramThatNeverWaits) {
  Process program({LAGWATCH_ATTACHED_PROGRAM, "spin"});
  ASSERT_TRUE(IsReady(program));
  EXPECT_EQ(Do("attach", program.pid()), 0) << errors_;
  const std::string threads = "/proc/" + std::to_string(program.pid()) + "/task";
  EXPECT_GT(EntriesIn(threads), 1u);
  EXPECT_EQ(Do("detach", program.pid()), 0) << errors_;
  EXPECT_EQ(EntriesIn(threads), 1u);
  EXPECT_EQ(kill(program.pid(), 0), 0);
}

TEST_F(AttachRunningTest, LoadsIntoAProgramWhoseThreadsWaitForEachOther) {
  Process program({LAGWATCH_ATTACHED_PROGRAM, "waiting"});
  ASSERT_TRUE(IsReady(program));
  usleep(100'000);
  EXPECT_EQ(Do("attach", program.pid()), 0) << errors_;
  EXPECT_EQ(Do("detach", program.pid()), 0) << errors_;
  program.Signal(SIGUSR1);
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_EQ(program.Output(), "ready\ngood\n");
}

class AttachAndRecordTest : public AttachRunningTest {
 protected:
  std::vector<std::string> Record(const std::string& seconds) const {
    return {LAGWATCH_PROGRAM,
            "trace",
            "record",
            "--duration",
            seconds,
            "-o",
            directory_ / "recorded.lwtrace",
            "--pid",
            std::to_string(program_.pid())};
  }
  void TearDown() override {
    program_.CloseInput();
    EXPECT_EQ(program_.Wait(), 0) << program_.Output();
  }
  // Of the command's answer: "… samples of 1 thread in 1.5 s, …".
  static double SecondsOf(const Process& record) {
    const std::string text = record.Errors();
    const size_t at = text.find(" in ");
    return at == std::string::npos ? 0 : std::stod(text.substr(at + 4));
  }

  Process program_{{LAGWATCH_ATTACHED_PROGRAM, "loop"}};
};

TEST_F(AttachAndRecordTest, CommandsAtTheSameTimeTakeTurns) {
  ASSERT_TRUE(IsReady(program_));
  for (int i = 0; i < 3; ++i) {
    Process record(Record("0.2"));
    Process attach({LAGWATCH_PROGRAM, "attach", std::to_string(program_.pid()), "--spool", spool_});
    const bool is_attached = attach.Wait() == 0;
    EXPECT_TRUE(is_attached || attach.Errors().find("it is being recorded") != std::string::npos)
        << attach.Errors();
    EXPECT_EQ(record.Wait(), 0) << record.Errors();
    EXPECT_EQ(Do("detach", program_.pid()), is_attached ? 0 : 2) << errors_;
  }
}

TEST_F(AttachAndRecordTest, ARecordingGoesOnWhateverElseIsAsked) {
  ASSERT_TRUE(IsReady(program_));
  ASSERT_EQ(Do("attach", program_.pid()), 0) << errors_;
  const auto recorders = [&] {
    int count = 0;
    for (const auto& thread : fs::directory_iterator("/proc/" + std::to_string(program_.pid()) + "/task"))
      count += Contents(thread.path() / "comm") == "lagwatch-trace\n" ? 1 : 0;
    return count;
  };
  const int before = recorders();
  Process record(Record("60"));
  ASSERT_TRUE(WaitUntil([&] { return recorders() > before; }));
  EXPECT_EQ(Do("detach", program_.pid()), 0) << errors_;
  EXPECT_EQ(Do("attach", program_.pid()), 2);
  EXPECT_THAT(errors_, HasSubstr("it is being recorded"));
  usleep(1'000'000);
  record.Signal(SIGINT);
  EXPECT_EQ(record.Wait(), 0);
  EXPECT_GT(SecondsOf(record), 0.9) << record.Errors();
  ASSERT_EQ(Do("attach", program_.pid()), 0) << errors_;
  usleep(200'000);
  Freeze(&program_);
  EXPECT_TRUE(WaitUntil([&] { return Reports() == 1; }));
}

// A pipe that has the name which the kernel gives to a removed library would have no end.
TEST_F(AttachRunningTest, RefusesALibraryThatIsAPipe) {
  const std::string folder = directory_ / "libraries";
  const std::string library = folder + "/libc.so.6";
  fs::create_directory(folder);
  const std::string maps = Contents("/proc/self/maps");
  const size_t end = maps.find("/libc.so.6") + std::string("/libc.so.6").size();
  fs::copy(maps.substr(maps.rfind(' ', end) + 1, end - maps.rfind(' ', end) - 1), library);
  Process program({"/usr/bin/env", "LD_LIBRARY_PATH=" + folder, LAGWATCH_ATTACHED_PROGRAM, "loop"});
  ASSERT_TRUE(IsReady(program));
  fs::remove(library);
  ASSERT_EQ(mkfifo((library + " (deleted)").c_str(), 0600), 0);
  EXPECT_EQ(Do("attach", program.pid()), 2);
  EXPECT_THAT(errors_, HasSubstr("cannot be read"));
}

TEST_F(AttachRunningTest, WaitsForNoProcessorWhileAThreadIsStopped) {
  const sched_param first{.sched_priority = 1};
  const sched_param standard{.sched_priority = 0};
  if (sched_setscheduler(0, SCHED_FIFO, &first) != 0) GTEST_SKIP() << "the priority is not permitted";
  sched_setscheduler(0, SCHED_OTHER, &standard);
  Process program({LAGWATCH_ATTACHED_PROGRAM, "loop"});
  ASSERT_TRUE(IsReady(program));
  const std::string policies = directory_ / "policies";
  Process attach({"/usr/bin/env", "LD_PRELOAD=" LAGWATCH_PTRACE_SPY, "PTRACE_SPY=" + policies,
                  LAGWATCH_PROGRAM, "attach", std::to_string(program.pid()), "--spool", spool_});
  ASSERT_EQ(attach.Wait(), 0) << attach.Errors();
  // The program's own thread, and after it only the helper.
  EXPECT_THAT(Contents(policies), StartsWith("first in, first out\n"));
  EXPECT_THAT(Contents(policies), EndsWith("other\n"));
}

TEST_F(AttachRunningTest, DetachesAfterTheFirstHangOrATime) {
  Process program({LAGWATCH_ATTACHED_PROGRAM, "loop"});
  ASSERT_TRUE(IsReady(program));
  Process attach({LAGWATCH_PROGRAM, "attach", std::to_string(program.pid()), "--until", "hang",
                  "--threshold-ms", "200", "--spool", spool_});
  ASSERT_TRUE(WaitUntil([&] { return attach.Output().find("is watched") != std::string::npos; }));
  usleep(200'000);
  Freeze(&program);
  EXPECT_EQ(attach.Wait(), 0) << attach.Errors();
  EXPECT_THAT(attach.Output(), HasSubstr("not watched any more"));
  ASSERT_EQ(Reports(), 1u);
  EXPECT_EQ(Ask({"reports"})[0]["ended"], true);
  EXPECT_EQ(Do("attach", program.pid(), {"--until", "1s"}), 0) << errors_;
  EXPECT_THAT(output_, HasSubstr("not watched any more"));
  EXPECT_EQ(Do("attach", program.pid(), {"--until", "soon"}), 2);
  EXPECT_THAT(errors_, HasSubstr("such as 30s"));
  EXPECT_EQ(EntriesIn("/proc/" + std::to_string(program.pid()) + "/task"), 1u);
}

TEST_F(AttachRunningTest, LeavesNothingBehindAfterManyCycles) {
  Process program({LAGWATCH_ATTACHED_PROGRAM, "futex"});
  ASSERT_TRUE(IsReady(program));
  const std::string process = "/proc/" + std::to_string(program.pid());
  auto mappings = [&] {
    std::ifstream file(process + "/maps");
    return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
  };
  size_t descriptors = 0;
  ptrdiff_t first_mappings = 0;
  constexpr int kCycles = 12;
  for (int i = 0; i < kCycles; ++i) {
    ASSERT_EQ(Do("attach", program.pid()), 0) << errors_;
    ASSERT_EQ(Do("detach", program.pid()), 0) << errors_;
    if (i == kCycles / 2) {
      descriptors = EntriesIn(process + "/fd");
      first_mappings = mappings();
    }
  }
  EXPECT_EQ(EntriesIn(process + "/fd"), descriptors);
  EXPECT_EQ(EntriesIn(process + "/task"), 2u);
  EXPECT_LE(mappings(), first_mappings + 2);
  program.CloseInput();
  EXPECT_EQ(program.Wait(), 0) << program.Output();
}

// The thread that was made to call goes on by itself.
TEST_F(AttachRunningTest, ProgramsSurviveACommandThatIsKilled) {
#ifndef __x86_64__
  GTEST_SKIP() << "the frame of signals is known for x86-64 alone";
#endif
  for (const char* scene : {"loop", "spin"}) {
    Process program({LAGWATCH_ATTACHED_PROGRAM, scene});
    ASSERT_TRUE(IsReady(program));
    for (int i = 0; i < 40; ++i) {
      Process command({LAGWATCH_PROGRAM, "attach", std::to_string(program.pid()), "--spool", spool_});
      usleep(static_cast<useconds_t>(1000 * (i + 1)));
      command.Signal(SIGKILL);
      static_cast<void>(command.Wait());  // it may have been quicker
    }
    Do("detach", program.pid());
    EXPECT_EQ(kill(program.pid(), 0), 0) << scene;
    program.Signal(SIGTERM);
    EXPECT_EQ(program.Wait(), -SIGTERM) << scene << program.Output();
  }
}

// Confines itself by a filter that allows everything, and becomes the program of its arguments.
constexpr const char* kConfine = R"(
import ctypes, os, struct, sys
no_new_privileges, set_filter = 38, 22
allow = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000))
program = ctypes.create_string_buffer(struct.pack('HQ', 1, ctypes.addressof(allow)))
prctl = ctypes.CDLL(None).prctl
assert prctl(no_new_privileges, 1, 0, 0, 0) == 0 and prctl(set_filter, 2, program) == 0
os.execvp(sys.argv[1], sys.argv[1:])
)";

TEST_F(AttachRunningTest, TakesAProgramThatIsConfinedAsItsContainerIs) {
  Process confined({"/usr/bin/python3", "-c", kConfine, LAGWATCH_ATTACHED_PROGRAM, "loop"});
  ASSERT_TRUE(IsReady(confined)) << confined.Errors();
  EXPECT_EQ(Do("attach", confined.pid()), 2);
  EXPECT_THAT(errors_, HasSubstr("is confined by seccomp"));
  if (geteuid() != 0) GTEST_SKIP() << "only root makes containers";

  const std::string script =
      "(sleep 2; echo freeze; sleep 2) | $0 loop & sleep 1; $1 attach $! --threshold-ms 200 --spool $2; wait";
  Process container({"/usr/bin/unshare", "--pid", "--fork", "--mount-proc", "/usr/bin/python3", "-c",
                     kConfine, "sh", "-c", script, LAGWATCH_ATTACHED_PROGRAM, LAGWATCH_PROGRAM, spool_});
  EXPECT_EQ(container.Wait(), 0) << container.Errors();
  EXPECT_EQ(Reports(), 1u) << container.Errors() << container.Output();
}

TEST_F(AttachRunningTest, RefusesWithAReasonAndAWayThatWorks) {
  Process program({LAGWATCH_ATTACHED_PROGRAM, "loop"});
  ASSERT_TRUE(IsReady(program));
  program.Signal(SIGSTOP);
  ASSERT_TRUE(WaitUntil([&] {
    std::ifstream file("/proc/" + std::to_string(program.pid()) + "/stat");
    std::string text;
    std::getline(file, text);
    return text.find(") T ") != std::string::npos;
  }));
  EXPECT_EQ(Do("attach", program.pid()), 2);
  EXPECT_THAT(errors_, HasSubstr("is stopped"));
  EXPECT_THAT(errors_, HasSubstr("lagwatch watch " + std::to_string(program.pid())));
  program.Signal(SIGCONT);
  ASSERT_EQ(ptrace(PTRACE_SEIZE, program.pid(), nullptr, nullptr), 0);
  EXPECT_EQ(Do("attach", program.pid()), 2);
  EXPECT_THAT(errors_, HasSubstr("being debugged"));
  EXPECT_FALSE(fs::exists(spool_));

  Process no_libc({LAGWATCH_STATIC_PROGRAM, "60"});
  ASSERT_TRUE(WaitUntil([&] {
    return Do("attach", no_libc.pid()) == 2 && errors_.find("linked statically") != std::string::npos;
  })) << errors_;
  EXPECT_THAT(errors_, HasSubstr("lagwatch watch " + std::to_string(no_libc.pid())));
}

}  // namespace
}  // namespace lagwatch::tools
