// SPDX-License-Identifier: Apache-2.0
// `lagwatch attach` and `lagwatch detach` on unprepared programs that run already.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/testing/configured_collector.h"
#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::WaitUntil;

std::string Contents(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

size_t EntriesIn(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

class AttachRunningTest : public RunTest {
 protected:
  int Do(const std::string& command, pid_t pid, std::vector<std::string> flags = {}) {
    std::vector<std::string> all = {LAGWATCH_PROGRAM, command, std::to_string(pid)};
    if (command == "attach") all.insert(all.end(), {"--threshold-ms", "200", "--spool", spool_});
    all.insert(all.end(), flags.begin(), flags.end());
    Process process(all);
    const int code = process.Wait();
    output_ = process.Output();
    errors_ = process.Errors();
    return code;
  }
  static bool IsReady(const Process& process) {
    return WaitUntil([&] { return process.Output().starts_with("ready\n"); });
  }
  // Returns once the program is back in its loop.
  static void Freeze(Process* process) {
    const std::string before = process->Output();
    process->WriteInput("freeze\n");
    ASSERT_TRUE(WaitUntil([&] { return process->Output() == before + "froze\n"; }));
    usleep(100'000);
  }
  size_t Reports() const { return fs::exists(spool_) ? Ask({"reports"}).size() : 0; }

  std::string output_;
  std::string errors_;
};

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

class AttachContainerTest : public AttachRunningTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "namespaces need root";
  }
  // The program with what the kernel gives a container: its own processes, mounts and host name. An empty
  // file system covers lagwatch's folder there.
  std::vector<std::string> Contained() const {
    const fs::path binaries = fs::path(LAGWATCH_PROGRAM).parent_path().parent_path();
    const std::string folder = directory_ / "";
    const std::string prepare = "cd " + folder + " && cp " + LAGWATCH_ATTACHED_PROGRAM + " program && echo " +
                                name_ +
                                " > hostname && mount --bind hostname /etc/hostname && mount -t tmpfs none " +
                                binaries.string() + " && exec ./program loop";
    return {"/usr/bin/unshare", "--mount", "--pid", "--fork", "--kill-child",
            "--mount-proc",     "/bin/sh", "-c",    prepare};
  }
  std::vector<std::string> Attach(std::vector<std::string> flags = {}) const {
    flags.insert(flags.begin(), {LAGWATCH_PROGRAM, "attach", "--container", name_, "--threshold-ms", "200",
                                 "--spool", spool_});
    return flags;
  }

  const std::string name_ = "box-" + std::to_string(getpid());
};

TEST_F(AttachContainerTest, ReportsReachACollectorThoughTheContainerHasEnded) {
  testing::ConfiguredCollector collector(directory_ / "data");
  collector.Start();
  Process program(Contained());
  ASSERT_TRUE(IsReady(program)) << program.Errors();
  Process attach(Attach({"--endpoint", collector.endpoint(), "--key", collector.kKey}));
  ASSERT_EQ(attach.Wait(), 0) << attach.Errors();
  usleep(200'000);
  Freeze(&program);
  program.Signal(SIGKILL);
  program.Wait();
  json reports;
  EXPECT_TRUE(WaitUntil([&] {
    Process question({LAGWATCH_PROGRAM, "reports", "--endpoint", collector.endpoint(), "--token",
                      collector.admin_token(), "--json"});
    if (question.Wait() != 0) return false;
    reports = json::parse(question.Output(), nullptr, /*allow_exceptions=*/false);
    return reports.is_array() && !reports.empty();
  })) << attach.Errors();
  EXPECT_EQ(reports[0]["kind"], "lag") << reports.dump(1);
}

TEST_F(AttachContainerTest, LoadsByMemoryWithoutSeeingTheLibrary) {
  Process program(Contained());
  ASSERT_TRUE(IsReady(program)) << program.Errors();
  Process attach(Attach());
  ASSERT_EQ(attach.Wait(), 0) << attach.Errors();
  const pid_t pid = std::stoi(attach.Output().substr(std::string("process ").size()));
  EXPECT_NE(pid, program.pid()) << "the one in the container, not unshare";
  usleep(200'000);
  Freeze(&program);
  ASSERT_TRUE(WaitUntil([&] { return Reports() == 1; }));
  EXPECT_THAT(Ask({"report", Ask({"reports"})[0]["id"]}).dump(), HasSubstr("FreezeForAWhile"));
  EXPECT_THAT(Contents("/proc/" + std::to_string(pid) + "/maps"), HasSubstr("/memfd:lagwatch/"));
  EXPECT_EQ(Do("detach", pid), 0) << errors_;
  EXPECT_EQ(Do("attach", pid), 0) << errors_;
  EXPECT_EQ(Do("detach", pid), 0) << errors_;
  for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    std::error_code error;
    EXPECT_THAT(fs::read_symlink(entry.path(), error).string(), ::testing::Not(HasSubstr("memfd:lagwatch")));
  }
  const std::string outside = directory_ / "outside";
  Process watch(
      {LAGWATCH_PROGRAM, "watch", "--container", name_, "--threshold-ms", "200", "--spool", outside});
  ASSERT_TRUE(WaitUntil([&] {
    return watch.Errors().find("(" + std::to_string(pid) + ") is watched from outside") != std::string::npos;
  })) << watch.Errors();
  EXPECT_EQ(watch.Errors().find("(" + std::to_string(getpid()) + ")"), std::string::npos);
  watch.Signal(SIGINT);
  EXPECT_EQ(watch.Wait(), 0) << watch.Errors();
  Process unknown({LAGWATCH_PROGRAM, "attach", "--container", name_ + "x"});
  EXPECT_EQ(unknown.Wait(), 2);
  EXPECT_THAT(unknown.Errors(), HasSubstr("no container"));
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
      command.Wait();
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
