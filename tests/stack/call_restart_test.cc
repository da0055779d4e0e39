// SPDX-License-Identifier: Apache-2.0
#include "stack/signal/call_restart.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <functional>
#include <initializer_list>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "stack/signal/signal_handler.h"
#include "stack/stack_capturer.h"
#include "stack/threads/thread_state.h"
#include "stack/unwind/table_unwinder.h"
#include "tests/testing/emulation.h"
#include "tests/testing/process.h"

namespace lagwatch::stack {
namespace {

constexpr timespec kLong{.tv_sec = 600, .tv_nsec = 0};
constexpr int kLongMs = 600'000;

// The call that a test thread waits in; the result is 0, or errno.
using Wait = std::function<int()>;

int ErrnoOf(int64_t result) { return result < 0 ? errno : 0; }

// Handles SIGUSR1 as a program would that wants its calls to end.
class ScopedHandler {
 public:
  explicit ScopedHandler(bool blocks_all = false) {
    struct sigaction action {};
    action.sa_handler = [](int) { ++calls_; };
    if (blocks_all) sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, &before_);
    calls_ = 0;
  }
  ~ScopedHandler() { sigaction(SIGUSR1, &before_, nullptr); }
  ScopedHandler(const ScopedHandler&) = delete;
  ScopedHandler& operator=(const ScopedHandler&) = delete;

  static int calls() { return calls_; }

 private:
  static inline std::atomic<int> calls_{0};
  struct sigaction before_ {};
};

class WaitingThread {
 public:
  explicit WaitingThread(Wait wait)
      : thread_([this, wait = std::move(wait)] {
          tid_ = gettid();
          result_ = wait();
          is_over_ = true;
        }) {
    EXPECT_TRUE(IsAsleepSoon());
  }
  ~WaitingThread() { thread_.join(); }
  WaitingThread(const WaitingThread&) = delete;
  WaitingThread& operator=(const WaitingThread&) = delete;

  bool IsAsleepSoon() const {
    BlockedThread blocked;
    return testing::WaitUntil([&] {
      return is_over_ ||
             (tid_ != 0 && ReadThreadActivity(base::OwnThread(tid_), &blocked) == ThreadActivity::kBlocked &&
              blocked.syscall_number >= 0 && !IsWaitingToStart(blocked));
    });
  }
  bool IsOverSoon() const {
    return testing::WaitUntil([&] { return is_over_.load(); });
  }
  bool is_over() const { return is_over_; }
  int result() const { return result_; }
  int tid() const { return tid_; }
  void EndByOwnSignal() { pthread_kill(thread_.native_handle(), SIGUSR1); }

 private:
  // On a busy machine the new thread may still be in the C library's futex.
  static bool IsWaitingToStart(const BlockedThread& blocked) {
    return blocked.syscall_number == SYS_futex && blocked.arguments[3] == 0;
  }

  std::atomic<int> tid_{0};
  std::atomic<int> result_{-1};
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

class CallRestartTest : public ::testing::Test {
 protected:
  void SetUp() override {
#if !defined(__x86_64__)
    GTEST_SKIP() << "no call is made again on this processor";
#endif
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizer calls handlers by its own, with copies of contexts";
#endif
    LAGWATCH_SKIP_UNDER_EMULATION("system calls are the emulator's");
  }
  // Whatever the thread does, which a capturer would not.
  void SendTo(int tid) const {
    siginfo_t info;
    std::memset(&info, 0, sizeof info);
    info.si_signo = capturer_->signal_number();
    info.si_code = SI_TIMER;
    info.si_value.sival_ptr = reinterpret_cast<void*>(kTimerMark);
    syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, info.si_signo, &info);
  }
  void ExpectGoesOnUntilOwnSignal(const char* what, const Wait& wait) {
    SCOPED_TRACE(what);
    ScopedHandler handler;
    WaitingThread thread(wait);
    for (int i = 0; i < 20; ++i) {
      SendTo(thread.tid());
      usleep(500);
    }
    EXPECT_TRUE(thread.IsAsleepSoon());
    EXPECT_FALSE(thread.is_over()) << std::strerror(thread.result());
    thread.EndByOwnSignal();
    EXPECT_TRUE(thread.IsOverSoon());
    EXPECT_EQ(thread.result(), EINTR);
    EXPECT_EQ(ScopedHandler::calls(), 1);
  }
  void ExpectEnds(const char* what, const Wait& wait) {
    SCOPED_TRACE(what);
    WaitingThread thread(wait);
    SendTo(thread.tid());
    EXPECT_TRUE(thread.IsOverSoon());
    EXPECT_EQ(thread.result(), EINTR);
  }

  std::unique_ptr<StackCapturer> capturer_ =
      StackCapturer::Create({.signal_number = testing::CaptureSignal()}, CreateTableUnwinder().value())
          .value();
};

TEST_F(CallRestartTest, DescriptorsAreWaitedForOn) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event;
  ExpectGoesOnUntilOwnSignal("poll", [] { return ErrnoOf(poll(nullptr, 0, -1)); });
  ExpectGoesOnUntilOwnSignal("poll, some time", [] { return ErrnoOf(poll(nullptr, 0, kLongMs)); });
  ExpectGoesOnUntilOwnSignal("ppoll", [] { return ErrnoOf(ppoll(nullptr, 0, &kLong, nullptr)); });
  ExpectGoesOnUntilOwnSignal("select", [] {
    timeval timeout{.tv_sec = kLong.tv_sec, .tv_usec = 0};
    return ErrnoOf(select(0, nullptr, nullptr, nullptr, &timeout));
  });
  ExpectGoesOnUntilOwnSignal("pselect",
                             [] { return ErrnoOf(pselect(0, nullptr, nullptr, nullptr, &kLong, nullptr)); });
  ExpectGoesOnUntilOwnSignal("epoll_wait", [&] { return ErrnoOf(epoll_wait(epoll, &event, 1, -1)); });
  ExpectGoesOnUntilOwnSignal("epoll_pwait",
                             [&] { return ErrnoOf(epoll_pwait(epoll, &event, 1, kLongMs, nullptr)); });
  close(epoll);
}

TEST_F(CallRestartTest, SleepsGoOn) {
  ExpectGoesOnUntilOwnSignal("nanosleep", [] { return ErrnoOf(nanosleep(&kLong, nullptr)); });
  ExpectGoesOnUntilOwnSignal("nanosleep of what is left", [] {
    timespec left = kLong;
    return ErrnoOf(nanosleep(&left, &left));
  });
  ExpectGoesOnUntilOwnSignal("usleep", [] { return ErrnoOf(usleep(kLongMs * 1000U)); });
  ExpectGoesOnUntilOwnSignal("clock_nanosleep", [] {
    timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += kLong.tv_sec;
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr);
  });
  ExpectGoesOnUntilOwnSignal("pause", [] { return ErrnoOf(pause()); });
  ExpectGoesOnUntilOwnSignal("sigtimedwait", [] {
    sigset_t other;
    sigemptyset(&other);
    sigaddset(&other, SIGUSR2);
    return ErrnoOf(sigtimedwait(&other, nullptr, &kLong));
  });
}

TEST_F(CallRestartTest, WaitsForOthersGoOn) {
  ExpectGoesOnUntilOwnSignal("sem_timedwait", [] {
    sem_t never;
    sem_init(&never, 0, 0);
    timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += kLong.tv_sec;
    return ErrnoOf(sem_timedwait(&never, &end));
  });
  const int semaphores = semget(IPC_PRIVATE, 1, 0600);
  ExpectGoesOnUntilOwnSignal("semtimedop", [&] {
    sembuf down{.sem_num = 0, .sem_op = -1, .sem_flg = 0};
    return ErrnoOf(semtimedop(semaphores, &down, 1, &kLong));
  });
  semctl(semaphores, 0, IPC_RMID);
  const int queue = msgget(IPC_PRIVATE, 0600);
  ExpectGoesOnUntilOwnSignal("msgrcv", [&] {
    std::array<long, 4> message{};
    return ErrnoOf(msgrcv(queue, message.data(), sizeof(long), 0, 0));
  });
  msgctl(queue, IPC_RMID, nullptr);
}

TEST_F(CallRestartTest, SocketsWithATimeoutAreWaitedForOn) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const timeval timeout{.tv_sec = kLong.tv_sec, .tv_usec = 0};
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  char bytes[4096] = {};
  ExpectGoesOnUntilOwnSignal("recv", [&] { return ErrnoOf(recv(ends[0], bytes, sizeof bytes, 0)); });
  while (send(ends[0], bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
  }
  ExpectGoesOnUntilOwnSignal("send", [&] { return ErrnoOf(send(ends[0], bytes, sizeof bytes, 0)); });
  close(ends[0]);
  close(ends[1]);
}

TEST_F(CallRestartTest, CallsThatWaitForSignalsOrAreUnknownEndAsEver) {
  sigset_t none;
  sigemptyset(&none);
  ExpectEnds("ppoll with a mask", [&] { return ErrnoOf(ppoll(nullptr, 0, &kLong, &none)); });
  ExpectEnds("pselect with a mask",
             [&] { return ErrnoOf(pselect(0, nullptr, nullptr, nullptr, &kLong, &none)); });
  ExpectEnds("sigsuspend", [&] { return ErrnoOf(sigsuspend(&none)); });
  ExpectEnds("a number from elsewhere",
             [] { return ErrnoOf(syscall(SYS_ppoll, nullptr, 0, nullptr, nullptr, 8)); });
}

// It may have run for the same call, and ours have waited for its end.
TEST_F(CallRestartTest, NothingIsMadeAgainIfAHandlerCouldBlockOurs) {
  ScopedHandler handler(/*blocks_all=*/true);
  ExpectEnds("poll", [] { return ErrnoOf(poll(nullptr, 0, -1)); });
}

TEST_F(CallRestartTest, HandlersOfSignalsThatTheThreadBlocksDoNotMatter) {
  ScopedHandler handler(/*blocks_all=*/true);
  WaitingThread thread([] {
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &own, nullptr);
    return ErrnoOf(poll(nullptr, 0, 200));
  });
  for (int i = 0; i < 10; ++i) SendTo(thread.tid());
  EXPECT_TRUE(thread.IsOverSoon());
  EXPECT_EQ(thread.result(), 0);
}

// Both are there before the thread runs again, because it only gets the sender's processor once that sleeps.
TEST_F(CallRestartTest, AnOwnSignalAtTheSameTimeAlwaysEndsTheCall) {
  ScopedHandler handler;
  cpu_set_t before;
  sched_getaffinity(0, sizeof before, &before);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
  sigset_t own;
  sigset_t mask_before;
  sigemptyset(&own);
  sigaddset(&own, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &own, &mask_before);  // so that the other thread gets the process's, too
  // On a busy machine a thread of that class hardly runs.
  const int64_t end_ns = base::SystemClock().MonoNs() + 20 * base::kNsPerSecond;
  for (int i = 0; i < 200 && (i < 8 || base::SystemClock().MonoNs() < end_ns); ++i) {
    WaitingThread thread([&] {
      const sched_param none{};
      pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);
      pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
      return ErrnoOf(i % 2 == 0 ? poll(nullptr, 0, -1) : nanosleep(&kLong, nullptr));
    });
    const auto send_own = [&] { (i & 2) == 0 ? thread.EndByOwnSignal() : void(kill(getpid(), SIGUSR1)); };
    if ((i & 4) == 0) send_own();
    SendTo(thread.tid());
    SendTo(thread.tid());
    if ((i & 4) != 0) send_own();
    const bool is_over = thread.IsOverSoon();
    EXPECT_TRUE(is_over) << i;
    if (!is_over) thread.EndByOwnSignal();
  }
  pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
  sched_setaffinity(0, sizeof before, &before);
}

TEST_F(CallRestartTest, CapturesInterruptNoneOfAThousandsOfSleeps) {
  std::atomic<bool> stop{false};
  std::atomic<int> tid{0};
  std::atomic<int> interrupted{0};
  std::thread thread([&] {
    tid = gettid();
    while (!stop) {
      const int64_t begin_ns = base::SystemClock().MonoNs();
      while (base::SystemClock().MonoNs() - begin_ns < 50'000) {
      }
      interrupted += poll(nullptr, 0, 1) < 0 ? 1 : 0;
    }
  });
  EXPECT_TRUE(testing::WaitUntil([&] { return tid != 0; }));
  auto stack = std::make_unique<Stack>();
  capturer_->RefreshModules();
  for (int i = 0; i < 2000; ++i) capturer_->Capture(tid, stack.get());
  stop = true;
  thread.join();
  EXPECT_EQ(interrupted, 0);
}

#if defined(__x86_64__)
int64_t NumberIn(std::initializer_list<int> end) {
  unsigned char code[kCodeBeforeCallBytes];
  std::memset(code, 0x90, sizeof code);
  std::transform(end.begin(), end.end(), code + sizeof code - end.size(),
                 [](int byte) { return static_cast<unsigned char>(byte); });
  return NumberOfCall(code);
}

TEST(NumberOfCall, IsReadFromTheCodeBeforeIt) {
  EXPECT_EQ(NumberIn({0xb8, 0x0e, 0x01, 0, 0, 0x0f, 0x05}), 270);
  // mov 8(%rsp),%edi; mov %rbx,%rsi; mov 0x10(%rsp),%rdx; xor %r8d,%r8d
  EXPECT_EQ(NumberIn({0xb8, 7,    0,    0,    0,    0x8b, 0x7c, 0x24, 8,    0x48, 0x89,
                      0xde, 0x48, 0x8b, 0x54, 0x24, 0x10, 0x45, 0x31, 0xc0, 0x0f, 0x05}),
            7);
}

TEST(NumberOfCall, IsUnknownWhereItMayHaveChanged) {
  EXPECT_EQ(NumberIn({0x48, 0x89, 0xf8, 0x0f, 0x05}), -1) << "mov %rdi,%rax";
  EXPECT_EQ(NumberIn({0xb8, 7, 0, 0, 0, 0x48, 0x89, 0xf8, 0x0f, 0x05}), -1) << "… after a number";
  EXPECT_EQ(NumberIn({0xb8, 7, 0, 0, 0, 0x8b, 0x44, 0x24, 8, 0x0f, 0x05}), -1) << "mov 8(%rsp),%eax";
  EXPECT_EQ(NumberIn({0xb8, 7, 0, 0, 0, 0xff, 0xd0, 0x0f, 0x05}), -1) << "a call between them";
  EXPECT_EQ(NumberIn({0xb8, 7, 0, 0, 0, 0x90, 0x90}), -1) << "no system call";
  EXPECT_EQ(NumberIn({0x41, 0xb8, 7, 0, 0, 0, 0x0f, 0x05}), -1) << "mov $7,%r8d";
}
#endif

}  // namespace
}  // namespace lagwatch::stack
