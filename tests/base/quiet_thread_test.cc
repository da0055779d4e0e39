// SPDX-License-Identifier: Apache-2.0
#include "base/process/quiet_thread.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/process/program_caller.h"

namespace lagwatch::base {
namespace {

constexpr int64_t kLongNs = 60 * kNsPerSecond;

thread_local char large_thread_local[4 << 20];

bool IsOpen(int fd) { return fcntl(fd, F_GETFD) >= 0; }

TEST(QuietThread, HasItsStackBesidesTheThreadLocalVariablesOfTheProgram) {
  struct Seen {
    char last = 0;
    bool has_room = false;
  } seen;
  QuietThread thread;
  ASSERT_TRUE(thread
                  .Start(
                      "large", 256 << 10,
                      [](void* context) {
                        volatile char room[200 << 10];
                        for (size_t i = 0; i < sizeof room; i += 1024) room[i] = 1;
                        auto* told = static_cast<Seen*>(context);
                        told->has_room = room[0] != 0;
                        large_thread_local[sizeof large_thread_local - 1] = 2;
                        told->last = large_thread_local[sizeof large_thread_local - 1];
                      },
                      &seen)
                  .ok());
  ASSERT_TRUE(thread.TryJoin(kLongNs));
  EXPECT_TRUE(seen.has_room);
  EXPECT_EQ(seen.last, 2);
  EXPECT_EQ(large_thread_local[sizeof large_thread_local - 1], 0);
}

TEST(QuietThread, ADescriptorOfAThreadWithItsOwnTableIsNobodyElses) {
  struct Seen {
    int programs_fd;
    bool has_left = false;
    int error_for_programs_fd = 0;
    int own_fd = -1;
  };
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  Seen seen{.programs_fd = ends[0]};
  QuietThread thread;
  ASSERT_TRUE(thread
                  .Start(
                      "own-table", 256 << 10,
                      [](void* context) {
                        auto* told = static_cast<Seen*>(context);
                        told->has_left = HasOwnFiles();
                        if (fcntl(told->programs_fd, F_GETFD) < 0) told->error_for_programs_fd = errno;
                        // Left open, and still gone with the thread.
                        for (int i = 0; i < 100; ++i) told->own_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
                      },
                      &seen)
                  .ok());
  ASSERT_TRUE(thread.TryJoin(kLongNs));
  if (!seen.has_left) GTEST_SKIP() << "this kernel shares all descriptors";
  EXPECT_EQ(seen.error_for_programs_fd, EBADF);
  EXPECT_EQ(seen.own_fd, 99);
  EXPECT_FALSE(IsOpen(99));
  EXPECT_EQ(fcntl(ends[0], F_GETFD), FD_CLOEXEC) << "the program's own is as it was";
  // No other table holds the pipe's end, so its closing is seen at once.
  close(ends[1]);
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

TEST(QuietThread, LeavesTheTableAlsoOnKernelsWithoutCloseRange) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer knows one table for all threads";
#endif
  const int programs_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  std::thread([&] {
    if (!LeaveFileTableByUnshareForTest()) GTEST_SKIP() << "unshare(2) is forbidden here";
    EXPECT_FALSE(IsOpen(programs_fd));
    EXPECT_EQ(open("/dev/null", O_RDONLY | O_CLOEXEC), 0) << "the table is empty";
  }).join();
  EXPECT_TRUE(IsOpen(programs_fd));
  EXPECT_TRUE(IsOpen(0));
  close(programs_fd);
}

TEST(QuietThread, AThreadForTheProgramsFunctionsHasTheProgramsDescriptors) {
  struct Seen {
    int programs_fd;
    bool is_open = false;
    bool has_own = true;
  } seen{.programs_fd = open("/dev/null", O_RDONLY | O_CLOEXEC)};
  QuietThread thread;
  auto look = [](void* context) {
    auto* told = static_cast<Seen*>(context);
    told->is_open = IsOpen(told->programs_fd);
    told->has_own = HasOwnFiles();
  };
  ASSERT_TRUE(thread.Start("programs-table", 256 << 10, look, &seen, ThreadFiles::kProgram).ok());
  ASSERT_TRUE(thread.TryJoin(kLongNs));
  EXPECT_TRUE(seen.is_open);
  EXPECT_FALSE(seen.has_own);
  close(seen.programs_fd);
}

TEST(QuietThread, KeepsItsDirectoryAndUmaskWhenTheProgramChangesItsOwn) {
  struct Shared {
    std::atomic<bool> has_moved{false};
    std::string directory{};
    mode_t mask = 0777;
  } shared;
  const std::string before = std::filesystem::current_path();
  const mode_t mask_before = umask(0022);
  QuietThread thread;
  auto look = [](void* context) {
    auto* told = static_cast<Shared*>(context);
    while (!told->has_moved) std::this_thread::yield();
    told->directory = std::filesystem::current_path();
    told->mask = umask(0);
  };
  ASSERT_TRUE(thread.Start("own-directory", 256 << 10, look, &shared).ok());
  ASSERT_EQ(chdir("/"), 0);
  umask(0777);
  shared.has_moved = true;
  ASSERT_TRUE(thread.TryJoin(kLongNs));
  umask(mask_before);
  ASSERT_EQ(chdir(before.c_str()), 0);
  EXPECT_EQ(shared.directory, before);
  EXPECT_EQ(shared.mask, 0077u);
}

TEST(QuietThread, RunsACallWithItsOwnFilesAndForwardsItsExceptions) {
  const int programs_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  bool is_programs = true;
  bool has_own = false;
  int depth = 0;
  EXPECT_TRUE(RunWithOwnFiles([&] {
    has_own = HasOwnFiles();
    is_programs = IsOpen(programs_fd);
    const pthread_t outer = pthread_self();
    EXPECT_TRUE(RunWithOwnFiles([&] { depth += pthread_equal(outer, pthread_self()) != 0 ? 1 : 0; }));
  }));
  EXPECT_THROW(static_cast<void>(RunWithOwnFiles([] { throw std::runtime_error("no memory"); })),
               std::runtime_error);
  EXPECT_TRUE(IsOpen(programs_fd));
  EXPECT_FALSE(HasOwnFiles());
  close(programs_fd);
  if (!has_own) GTEST_SKIP() << "this kernel shares all descriptors";
  EXPECT_FALSE(is_programs);
  EXPECT_EQ(depth, 1) << "a thread that has its own files needs no other one";
}

TEST(ProgramCaller, CallsWithTheProgramsDescriptorsForAThreadThatHasItsOwn) {
  auto caller = ProgramCaller::Start("test-call");
  ASSERT_TRUE(caller.ok());
  const int programs_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  int open_count = 0;
  EXPECT_TRUE(RunWithOwnFiles([&] {
    for (int i = 0; i < 100; ++i)
      (*caller)->Call([&] { open_count += IsOpen(programs_fd) && !HasOwnFiles() ? 1 : 0; });
  }));
  EXPECT_EQ(open_count, 100);
  EXPECT_TRUE((*caller)->TryStop(kLongNs));
  close(programs_fd);
}

}  // namespace
}  // namespace lagwatch::base
