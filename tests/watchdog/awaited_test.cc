// SPDX-License-Identifier: Apache-2.0
#include "watchdog/spans/awaited.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <semaphore.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/testing/emulation.h"
#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"
#include "watchdog/waits/file_locks.h"
#include "watchdog/waits/peers/last_user.h"

extern char** environ;

namespace lagwatch::watchdog {
namespace {

using policies::VerdictWord;
using testing::WaitUntil;

pid_t StartSleep() {
  pid_t child = 0;
  char name[] = "sleep";
  char seconds[] = "60";
  char* arguments[] = {name, seconds, nullptr};
  EXPECT_EQ(posix_spawnp(&child, name, nullptr, nullptr, arguments, environ), 0);
  return child;
}

// Runs `body` in a forked child, which then waits until it is killed; returns once it has run.
pid_t StartChild(const std::function<void()>& body) {
  int ready[2];
  EXPECT_EQ(pipe2(ready, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ready[0]);
    body();
    close(ready[1]);
    for (;;) pause();
  }
  close(ready[1]);
  char byte;
  while (read(ready[0], &byte, 1) > 0) {
  }
  close(ready[0]);
  return child;
}

void KillAndReap(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

// Returns the finding for a thread that runs `wait`; `release` ends its wait.
Awaited FoundIn(const std::function<void()>& wait, const std::function<void()>& release) {
  std::atomic<int32_t> tid{0};
  std::thread thread([&] {
    tid = gettid();
    wait();
  });
  Awaited found;
  EXPECT_TRUE(WaitUntil([&] {
    if (tid != 0) found = FindAwaited(base::OwnThread(tid), nullptr);
    return found.is_named();
  }));
  release();
  thread.join();
  return found;
}

// Whether a process has two sockets open: one more than the one it listens by.
bool HasSocketBeside(pid_t process) {
  size_t sockets = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd")) {
    std::error_code error;
    sockets += std::filesystem::read_symlink(entry, error).string().starts_with("socket:");
  }
  return sockets >= 2;
}

class AwaitedTest : public ::testing::Test {
 protected:
  void SetUp() override { LAGWATCH_SKIP_UNDER_EMULATION("where other threads sleep cannot be read"); }
  std::string LockedFile() const {
    const std::string path = directory_ / "locked";
    close(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    return path;
  }

  testing::ScopedTempDirectory directory_;
};

TEST_F(AwaitedTest, NamesTheChildThatIsWaitedFor) {
  const pid_t child = StartSleep();
  const Awaited found = FoundIn([&] { waitpid(child, nullptr, 0); }, [&] { kill(child, SIGKILL); });
  EXPECT_EQ(found.word, VerdictWord::kProcess);
  EXPECT_EQ(found.pid, child);
  EXPECT_STREQ(found.process_name, "sleep");
  EXPECT_EQ(found.process_count, 1u);
}

TEST_F(AwaitedTest, NamesOneOfTheChildrenWhereAnyWillDo) {
  const pid_t first = StartSleep();
  const pid_t second = StartSleep();
  siginfo_t info{};
  const Awaited found = FoundIn([&] { waitid(P_ALL, 0, &info, WEXITED); }, [&] { kill(first, SIGKILL); });
  EXPECT_EQ(found.word, VerdictWord::kProcess);
  EXPECT_TRUE(found.pid == first || found.pid == second);
  EXPECT_STREQ(found.process_name, "sleep");
  EXPECT_EQ(found.process_count, 2u);
  KillAndReap(second);
}

TEST_F(AwaitedTest, NamesTheHolderOfAFilesLock) {
  const std::string path = LockedFile();
  for (bool is_posix : {false, true}) {
    auto lock = [&] {
      const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
      struct flock whole {};
      whole.l_type = F_WRLCK;
      EXPECT_EQ(is_posix ? fcntl(fd, F_SETLKW, &whole) : flock(fd, LOCK_EX), 0);
      return fd;
    };
    const pid_t child = StartChild([&] { lock(); });
    const Awaited found = FoundIn([&] { close(lock()); }, [&] { KillAndReap(child); });
    EXPECT_EQ(found.word, VerdictWord::kLock);
    EXPECT_EQ(found.pid, child);
    EXPECT_STRNE(found.process_name, "");
    EXPECT_STREQ(found.address, is_posix ? "POSIX lock of a file" : "FLOCK lock of a file");
  }
}

TEST_F(AwaitedTest, SaysThatTheHolderOfAnOpenFilesLockIsNotTold) {
  const std::string path = LockedFile();
  auto lock = [&] {
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    struct flock whole {};
    whole.l_type = F_WRLCK;
    EXPECT_EQ(fcntl(fd, F_OFD_SETLKW, &whole), 0);
    return fd;
  };
  const pid_t child = StartChild([&] { lock(); });
  const Awaited found = FoundIn([&] { close(lock()); }, [&] { KillAndReap(child); });
  EXPECT_EQ(found.word, VerdictWord::kLock);
  EXPECT_EQ(found.pid, 0);
  EXPECT_STREQ(found.address, "OFDLCK lock of a file; its holder is unknown");
}

TEST_F(AwaitedTest, NamesTheProcessAtTheOtherEndOfAPipe) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = StartChild([] {});
  close(ends[1]);
  char byte;
  const Awaited found = FoundIn([&] { EXPECT_EQ(read(ends[0], &byte, 1), 0); }, [&] { KillAndReap(child); });
  EXPECT_EQ(found.word, VerdictWord::kPipe);
  EXPECT_EQ(found.pid, child);
  close(ends[0]);
}

TEST_F(AwaitedTest, NamesTheLastUserOfASemaphoreAsACandidate) {
  const int semaphore = semget(IPC_PRIVATE, 2, 0600);
  if (semaphore < 0) GTEST_SKIP() << "no semaphores of System V here";
  sembuf give{.sem_num = 1, .sem_op = 1, .sem_flg = 0};
  sembuf take{.sem_num = 1, .sem_op = -1, .sem_flg = 0};
  EXPECT_EQ(semop(semaphore, &give, 1), 0);
  const pid_t child = StartChild([&] { semop(semaphore, &take, 1); });
  const Awaited found = FoundIn([&] { semop(semaphore, &take, 1); }, [&] { semop(semaphore, &give, 1); });
  EXPECT_EQ(found.word, VerdictWord::kLock);
  EXPECT_EQ(found.pid, child);
  EXPECT_STREQ(found.address, "probably: it used the semaphore last");
  semctl(semaphore, 0, IPC_RMID);
  KillAndReap(child);
}

TEST_F(AwaitedTest, NamesAProcessThatSharesASemaphoreAsACandidate) {
  const std::string name = "/lagwatch-test-" + std::to_string(getpid());
  sem_t* semaphore = sem_open(name.c_str(), O_CREAT | O_EXCL, 0600, 0);
  ASSERT_NE(semaphore, SEM_FAILED);
  sem_unlink(name.c_str());
  const pid_t child = StartChild([] {});
  const Awaited found = FoundIn([&] { sem_wait(semaphore); }, [&] { sem_post(semaphore); });
  EXPECT_EQ(found.word, VerdictWord::kLock);
  EXPECT_EQ(found.pid, child);
  EXPECT_EQ(found.process_count, 1u);
  EXPECT_STREQ(found.address, "probably: it shares the memory of the lock");
  sem_close(semaphore);
  KillAndReap(child);
}

TEST_F(AwaitedTest, NamesTheLastSenderToAQueueAsACandidate) {
  struct Message {
    long type = 1;
    char text[8] = {};
  };
  const int queue = msgget(IPC_PRIVATE, 0600);
  if (queue < 0) GTEST_SKIP() << "no queues of System V here";
  const auto send = [queue] {
    const Message message;
    msgsnd(queue, &message, 0, 0);
  };
  const auto receive = [queue] {
    Message message;
    EXPECT_EQ(msgrcv(queue, &message, sizeof message.text, 0, 0), 0);
  };
  const pid_t child = StartChild(send);
  receive();
  const Awaited found = FoundIn(receive, send);
  EXPECT_EQ(found.word, VerdictWord::kPipe);
  EXPECT_EQ(found.pid, child);
  msgctl(queue, IPC_RMID, nullptr);
  KillAndReap(child);
}

TEST(LastUser, IsFoundInTheKernelsTable) {
  constexpr std::string_view kLine =
      " -12345678          3   600          8           1     70    71     0     0";
  EXPECT_EQ(LastUserInLine(kLine, 3, /*is_sender=*/true), 70);
  EXPECT_EQ(LastUserInLine(kLine, 3, /*is_sender=*/false), 71);
  EXPECT_EQ(LastUserInLine(kLine, 4, true), 0);
  EXPECT_EQ(LastUserInLine("       key      msqid perms", 3, true), 0);
}

TEST_F(AwaitedTest, NamesAServiceByItsProcessAndItsSocket) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = directory_ / "bus";
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const pid_t child = StartChild([&] {
    const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(server, 1), 0);
    // Accepted once it is there.
    std::thread([server] { accept(server, nullptr, nullptr); }).detach();
  });
  const int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  // No process has it open until then.
  EXPECT_TRUE(WaitUntil([&] { return HasSocketBeside(child); }));
  pollfd answer{.fd = client, .events = POLLIN, .revents = 0};
  const Awaited polled = FoundIn([&] { poll(&answer, 1, 2000); }, [] {});
  char byte;
  const Awaited read = FoundIn([&] { recv(client, &byte, 1, 0); }, [&] { KillAndReap(child); });
  for (const Awaited& found : {polled, read}) {
    EXPECT_EQ(found.word, VerdictWord::kService);
    EXPECT_EQ(found.pid, child);
    EXPECT_EQ(found.address, path);
  }
  close(client);
}

TEST_F(AwaitedTest, NamesANameServerByItsAddress) {
  for (const char* server : {"127.0.0.1", "::1"}) {
    const bool is_ipv6 = std::string(server) == "::1";
    const int client = socket(is_ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(53);
    six.sin6_addr = in6addr_loopback;
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(53);
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int error = is_ipv6 ? connect(client, reinterpret_cast<sockaddr*>(&six), sizeof six)
                              : connect(client, reinterpret_cast<sockaddr*>(&four), sizeof four);
    if (error != 0 && is_ipv6) GTEST_SKIP() << "this machine has no IPv6";
    ASSERT_EQ(error, 0);
    char byte;
    const Awaited found = FoundIn([&] { recv(client, &byte, 1, 0); }, [&] { shutdown(client, SHUT_RDWR); });
    EXPECT_EQ(found.word, VerdictWord::kNameLookup);
    EXPECT_EQ(found.pid, 0);
    EXPECT_STREQ(found.address, is_ipv6 ? "[::1]:53" : "127.0.0.1:53");
    close(client);
  }
}

TEST_F(AwaitedTest, NamesNothingForAThreadThatSleeps) {
  std::atomic<int32_t> tid{0};
  std::atomic<bool> is_over{false};
  std::thread thread([&] {
    tid = gettid();
    while (!is_over) usleep(1000);
  });
  EXPECT_TRUE(WaitUntil([&] { return tid != 0; }));
  EXPECT_FALSE(FindAwaited(base::OwnThread(tid), nullptr).is_named());
  is_over = true;
  thread.join();
}

TEST(FileLocks, AWaitIsForTheLockOfTheSameNumber) {
  constexpr std::string_view kLocks =
      "1: POSIX  ADVISORY  WRITE 100 08:01:7 0 EOF\n"
      "2: FLOCK  ADVISORY  READ 200 08:01:8 0 EOF\n"
      "2: FLOCK  ADVISORY  READ 201 08:01:8 0 EOF\n"
      "2: -> FLOCK  ADVISORY  WRITE 4711 08:01:8 0 EOF\n"
      "3: OFDLCK ADVISORY  WRITE -1 08:01:9 0 EOF\n"
      "3: -> OFDLCK ADVISORY  WRITE -1 08:01:9 0 EOF\n";
  FileLock lock = FindAwaitedLock(kLocks, 4711, 8);
  EXPECT_STREQ(lock.kind, "FLOCK");
  EXPECT_EQ(lock.holder_pid, 200);
  EXPECT_EQ(lock.holder_count, 2u);
  lock = FindAwaitedLock(kLocks, 4711, 0);
  EXPECT_EQ(lock.holder_pid, 200);
  lock = FindAwaitedLock(kLocks, 4711, 9);
  EXPECT_STREQ(lock.kind, "OFDLCK");
  EXPECT_EQ(lock.holder_pid, 0);
  EXPECT_STREQ(FindAwaitedLock(kLocks, 4711, 7).kind, "");
  EXPECT_STREQ(FindAwaitedLock("", 4711, 7).kind, "");
  EXPECT_STREQ(FindAwaitedLock("1: ->\n2:\n:::\n-> 7\n3: -> X Y Z 4711 8\n", 4711, 0).kind, "");
}

}  // namespace
}  // namespace lagwatch::watchdog
