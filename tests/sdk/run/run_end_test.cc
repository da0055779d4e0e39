// SPDX-License-Identifier: Apache-2.0
// The signals that runs end by, as the kernel, its log and systemd's dumps have them.
#include "sdk/run/run_end.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "sdk/run/run_writer.h"
#include "tests/sdk/run/ended_runs_testing.h"

namespace lagwatch::sdk {
namespace {

using policies::ExitReason;
using testing::SomeFacts;
using testing::WriteContent;

// A process that keeps a record and ends by `end`, seen as a process sees it that is not its parent.
class FollowedRun : public EndedRunsTest {
 protected:
  enum class Parent : uint8_t { kHasNotWaited, kHasWaited };

  void EndBy(const std::function<void()>& end, Parent parent = Parent::kHasNotWaited) {
    RunFacts facts = SomeFacts();
    int ready[2];
    ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
      // A sanitizer has handlers.
      for (int fatal : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE}) signal(fatal, SIG_DFL);
      facts.pid = static_cast<uint32_t>(getpid());
      facts.start_ticks = *ProcessStartTicks(facts.pid);
      TextCell scene;
      auto writer = std::move(RunWriter::Create(directory_.path(), facts, &scene).value());
      if (is_in_hang_) writer->HangBegan(base::CreateUuidV7(1'700'000'000'000), "ui", base::kNsPerSecond);
      static_cast<void>(writer.release());
      close(ready[1]);
      pause();
      _exit(9);
    }
    close(ready[1]);
    char byte;
    EXPECT_EQ(read(ready[0], &byte, 1), 0);
    close(ready[0]);
    const int followed = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
    const uint64_t start_ticks = ProcessStartTicks(static_cast<uint32_t>(child)).value();
    child_ = child;
    end();
    pollfd ended{.fd = followed, .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&ended, 1, -1), 1);
    if (parent == Parent::kHasWaited) waitpid(child, nullptr, 0);
    status_ = ReadExitStatus(followed, child);
    if (status_) noted_ = NoteExitStatus(directory_.path(), child, start_ticks, *status_);
    EXPECT_EQ(NoteExitStatus(directory_.path(), child, start_ticks + 1, SIGSEGV), 0);
    if (parent == Parent::kHasNotWaited) waitpid(child, nullptr, 0);
    close(followed);
  }
  void EndBySignal(int signal) {
    EndBy([&] { kill(child_, signal); });
  }

  bool is_in_hang_ = false;
  pid_t child_ = 0;
  std::optional<int> status_;
  int noted_ = 0;
};

TEST_F(FollowedRun, ACrashThatNothingHandledIsToldWithItsSignal) {
  EndBySignal(SIGSEGV);
  EXPECT_EQ(noted_, 1);
  const std::vector<EndedRun> runs = Told();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].reason, ExitReason::kCrash);
  EXPECT_EQ(runs[0].ToRunEnd().signal, SIGSEGV);
}

TEST_F(FollowedRun, ACrashInAHangIsToldAsOne) {
  is_in_hang_ = true;
  EndBySignal(SIGBUS);
  EXPECT_EQ(ToldReason(), ExitReason::kCrashInHang);
}

TEST_F(FollowedRun, AnAbortInAHangMayBeAServiceManagers) {
  is_in_hang_ = true;
  EndBySignal(SIGABRT);
  EXPECT_EQ(ToldReason(), ExitReason::kKilledInHang);
}

TEST_F(FollowedRun, ARequestToStopIsNoCrash) {
  EndBySignal(SIGTERM);
  EXPECT_EQ(ToldReason(), ExitReason::kStopped);
}

TEST_F(FollowedRun, AKillSaysNothingNew) {
  EndBySignal(SIGKILL);
  EXPECT_TRUE(status_.has_value());
  EXPECT_EQ(noted_, 0);
  EXPECT_NE(ToldReason(), ExitReason::kCrash);
}

TEST_F(FollowedRun, TheKernelKnowsTheEndForLongerOnNewMachines) {
  EndBy([&] { kill(child_, SIGABRT); }, Parent::kHasWaited);
  if (!status_) GTEST_SKIP() << "Linux before 6.15 forgets it with the process";
  EXPECT_EQ(*status_ & 0x7f, SIGABRT);
  EXPECT_EQ(ToldReason(), ExitReason::kCrash);
}

TEST(KeptCrashes, AreInTheKernelsLog) {
  constexpr char kLog[] =
      "<6>[   50.5] editor[77]: segfault at 10 ip 0000 sp 0000 error 4 in editor[400000+1000]\n"
      "<6>[  100.5] traps: editor[77] trap invalid opcode ip:55 sp:7f error:0 in editor[251bff,55+3]\n"
      "<6>[  101.5] traps: a-longer-name-t[78] general protection fault ip:55 sp:7f error:0 in x\n"
      "<6>[  102.5] my editor[79]: segfault at 10 ip 0000 sp 0000 error 4\n"
      "<6>[  103.5] editor[80]: saved a file\n";
  EXPECT_EQ(FindCrashInLog(kLog, "editor", 77, 99), SIGILL);
  EXPECT_EQ(FindCrashInLog(kLog, "editor", 77, 110), 0);  // of a process that had the number before
  EXPECT_EQ(FindCrashInLog(kLog, "a-longer-name-than-that", 78, 99), SIGSEGV);
  EXPECT_EQ(FindCrashInLog(kLog, "editor", 79, 99), 0);
  EXPECT_EQ(FindCrashInLog(kLog, "editor", 80, 99), 0);
  EXPECT_EQ(FindCrashInLog("", "editor", 77, 99), 0);
  EXPECT_EQ(FindCrashInLog(kLog, "", 77, 99), 0);
}

TEST(KeptCrashes, AreAmongSystemdsDumps) {
  const testing::ScopedTempDirectory directory;
  const std::string boot_id(32, 'b');
  const std::string dump = (directory / "core.editor.1000.") + boot_id + ".77.1700000000000000.zst";
  WriteContent(dump, "");
  if (setxattr(dump.c_str(), "user.coredump.signal", "6", 1, 0) != 0) GTEST_SKIP() << "no attributes here";
  EXPECT_EQ(FindCrashInDumps(directory.path(), boot_id, 77), SIGABRT);
  EXPECT_EQ(FindCrashInDumps(directory.path(), boot_id, 7), 0);
  EXPECT_EQ(FindCrashInDumps(directory.path(), std::string(32, 'c'), 77), 0);
  EXPECT_EQ(FindCrashInDumps(directory / "none", boot_id, 77), 0);
}

}  // namespace
}  // namespace lagwatch::sdk
