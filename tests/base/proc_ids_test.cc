// SPDX-License-Identifier: Apache-2.0
#include "base/system/proc_ids.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <latch>
#include <set>
#include <string>
#include <thread>

#include "base/process/proc_file.h"
#include "tests/testing/emulation.h"

namespace lagwatch::base {
namespace {

std::string CommOf(int tid) {
  char buffer[64];
  std::string name(ReadSmallFile(TaskPath(base::OwnThread(tid), "comm").c_str(), buffer, sizeof buffer));
  return name.substr(0, name.find('\n'));
}

// In the first process of a namespace that has the /proc of the outer one. Returns 0, or the number of the
// first thing that is wrong.
int LookAroundInside() {
  MatchProcIds();
  if (getpid() != 1) return 1;
  if (!HasForeignProcIds()) return 2;
  std::latch begun(1);
  std::latch end(1);
  int other_tid = 0;
  std::thread other([&] {
    pthread_setname_np(pthread_self(), "the other");
    other_tid = gettid();
    begun.count_down();
    end.wait();
  });
  begun.wait();
  pthread_setname_np(pthread_self(), "the first");
  std::set<int> tids;
  ForEachThread(Process::Own(), [&](int tid) {
    tids.insert(tid);
    return true;
  });
  const bool are_named = CommOf(gettid()) == "the first" && CommOf(other_tid) == "the other";
  const bool are_mapped = ThreadOfProcId(ProcIdOfThread(other_tid)) == other_tid;
  const int proc_id = ProcIdOfThread(other_tid);
  end.count_down();
  other.join();
  if (tids != std::set<int>{gettid(), other_tid}) return 3;
  if (!are_named || !are_mapped || proc_id == other_tid) return 4;
  if (ProcIdOfThread(other_tid) != 0 || ThreadOfProcId(proc_id) != 0) return 5;  // it has ended
  const pid_t child = _Fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const int child_id = ProcIdOfChild(child);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  if (child_id == child || child_id == 0) return 6;
  return 0;
}

TEST(ProcIds, AreTheOwnOnesElsewhere) {
  MatchProcIds();
  EXPECT_FALSE(HasForeignProcIds());
  EXPECT_EQ(ProcIdOfThread(gettid()), gettid());
  EXPECT_EQ(ThreadOfProcId(gettid()), gettid());
}

TEST(ProcIds, AreFoundInAnInnerNamespaceWithTheOuterProc) {
  LAGWATCH_SKIP_UNDER_EMULATION("the emulator has threads of its own");
  constexpr int kNotAllowed = 99;
  const pid_t outer = fork();
  ASSERT_GE(outer, 0);
  if (outer == 0) {
    if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) _exit(kNotAllowed);
    const pid_t inner = _Fork();  // without other tests' fork handlers
    if (inner == 0) _exit(LookAroundInside());
    int status = 0;
    waitpid(inner, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 100);
  }
  int status = 0;
  ASSERT_EQ(waitpid(outer, &status, 0), outer);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNotAllowed) GTEST_SKIP() << "no namespaces";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace lagwatch::base
