// SPDX-License-Identifier: Apache-2.0
// A program that does what recorders do not like:
//
//   odd_program WHAT
//
// and is busy in OddBusy() for a while before and after.
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

namespace {

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

}  // namespace

extern "C" [[gnu::noinline, gnu::visibility("default")]] void OddBusy() {
  const double end = CpuSeconds() + 0.3;
  while (CpuSeconds() < end) {
    for (int i = 0; i < 10'000; ++i) asm volatile("");
  }
}

extern "C" [[gnu::noinline, gnu::visibility("default")]] void OddChildBusy() {
  OddBusy();
  asm volatile("");
}

namespace {

void Crash() {
  volatile uintptr_t nowhere = 0;  // the compiler must not know
  *reinterpret_cast<volatile int*>(nowhere) = 1;
}

// The parent does not wait for its children.
int ForkAndExecute(const char* self) {
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      if (i == 0) OddChildBusy();
      if (i == 1) execl(self, self, "quiet-child", static_cast<char*>(nullptr));
      _exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
  }
  return 0;
}

// Of threads with the smallest usual stack.
int RunOnSmallStacks() {
  constexpr size_t kStackBytes = 64 << 10;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t threads[4];
  for (pthread_t& thread : threads) {
    const auto run = [](void*) -> void* {
      OddBusy();
      return nullptr;
    };
    if (pthread_create(&thread, &attributes, run, nullptr) != 0) return 1;
  }
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  return 0;
}

// A coroutine's, of 8 KiB, with what others own below it.
constexpr size_t kCoroutineBytes = 8 << 10;
constexpr size_t kBelowBytes = 256 << 10;
alignas(64) unsigned char g_memory[kBelowBytes + kCoroutineBytes];
unsigned char g_signal_stack[64 << 10];
ucontext_t g_main;
ucontext_t g_coroutine;
bool g_has_lost_vectors = false;

// By a system call of its own, around which registers stay as they are. A signal ends it.
void WaitForSignal() {
#if defined(__x86_64__)
  const uint64_t before = 0x0123'4567'89ab'cdef;
  uint64_t after = 0;
  long result = SYS_pause;
  asm volatile(
      "movq %[before], %%xmm3\n\t"
      "syscall\n\t"
      "movq %%xmm3, %[after]"
      : "+a"(result), [after] "=r"(after)
      : [before] "r"(before)
      : "rcx", "r11", "memory", "xmm3");
  g_has_lost_vectors = after != before;
#else
  pause();
#endif
}

int WaitOnSmallStack() {
  stack_t signal_stack{.ss_sp = g_signal_stack, .ss_flags = 0, .ss_size = sizeof g_signal_stack};
  sigaltstack(&signal_stack, nullptr);
  struct sigaction wake {};
  wake.sa_handler = [](int) {};
  wake.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &wake, nullptr);
  getcontext(&g_coroutine);
  g_coroutine.uc_stack.ss_sp = g_memory + kBelowBytes;
  g_coroutine.uc_stack.ss_size = kCoroutineBytes;
  g_coroutine.uc_link = &g_main;
  makecontext(&g_coroutine, WaitForSignal, 0);
  puts("ready");
  fflush(stdout);
  swapcontext(&g_main, &g_coroutine);
  size_t changed_bytes = 0;
  for (size_t i = 0; i < kBelowBytes; ++i) changed_bytes += g_memory[i] != 0 ? 1 : 0;
  if (changed_bytes != 0) fprintf(stderr, "%zu bytes below the stack were written to\n", changed_bytes);
  if (g_has_lost_vectors) fprintf(stderr, "a vector register was written to\n");
  return changed_bytes != 0 || g_has_lost_vectors ? 1 : 0;
}

// As programs do that care for all signals themselves.
int TakeAllSignals() {
  static volatile sig_atomic_t count = 0;
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) {
    struct sigaction action {};
    action.sa_handler = [](int) { count = count + 1; };
    sigaction(number, &action, nullptr);
  }
  OddBusy();
  constexpr int kOnTheirWay = 5;
  if (count > kOnTheirWay) fprintf(stderr, "%d signals that nobody sent\n", static_cast<int>(count));
  return count > kOnTheirWay ? 1 : 0;
}

// As daemons do when they begin.
int ResetAllSignals() {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    sigaction(number, &action, nullptr);
    signal(number, SIG_DFL);
  }
  OddBusy();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  int failed = 0;
  if (what == "at-once") _exit(0);
  if (what == "quiet-child") OddChildBusy();
  OddBusy();
  if (what == "kill") raise(SIGKILL);
  if (what == "crash") Crash();
  if (what == "fork") failed = ForkAndExecute(argv[0]);
  if (what == "small-stacks") failed = RunOnSmallStacks();
  if (what == "wait-on-small-stack") failed = WaitOnSmallStack();
  if (what == "take-all-signals") failed = TakeAllSignals();
  if (what == "reset-all-signals") failed = ResetAllSignals();
  if (what == "close-all") {
    for (int fd = 0; fd < 1024; ++fd) close(fd);
  }
  OddBusy();
  return failed;
}
