// SPDX-License-Identifier: Apache-2.0
#include "tests/soak/soak_activities.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace lagwatch::soak {
namespace {

#define LAGWATCH_NO_TAIL_CALL asm volatile("")

#if defined(__SANITIZE_THREAD__)
constexpr bool kIsThreadSanitized = true;
#else
constexpr bool kIsThreadSanitized = false;
#endif

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kForkOneIn = 1000;  // of a sanitizer's memory, a copy takes long
#else
constexpr int kForkOneIn = 40;
#endif
constexpr uint64_t kMostTold = 10;
constexpr size_t kPageBytes = 4096;

void Check(bool is_good, const char* what, Place* place) {
  if (is_good) return;
  if (place->diary->failures.fetch_add(1) < kMostTold)
    std::fprintf(stderr, "soak: %s: %s\n", what, strerror(errno));
}

// For the outcome of a call that a signal would end.
void CheckUninterrupted(bool is_good, const char* what, Place* place) {
  if (is_good) return;
  if (errno != EINTR) return Check(false, what, place);
  if (place->diary->interrupted_calls.fetch_add(1) < kMostTold)
    std::fprintf(stderr, "soak: %s was interrupted\n", what);
}

[[gnu::noinline]] void Work(int microseconds) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t end_ns = now.tv_sec * 1'000'000'000LL + now.tv_nsec + microseconds * 1000LL;
  while (now.tv_sec * 1'000'000'000LL + now.tv_nsec < end_ns) clock_gettime(CLOCK_MONOTONIC, &now);
  LAGWATCH_NO_TAIL_CALL;
}

void Allocate(Place* place) {
  std::vector<std::unique_ptr<char[]>> blocks;
  for (int i = 0; i < 50; ++i) {
    size_t bytes = size_t{1} << place->Below(16);
    blocks.push_back(std::make_unique_for_overwrite<char[]>(bytes));
    blocks.back()[bytes - 1] = 1;
    if (place->Below(2) == 0) blocks[static_cast<size_t>(place->Below(i + 1))] = nullptr;
  }
}

// Room that new stacks will be put into, while captures still take it for one mapping. The kernel is asked
// itself, because the thread sanitizer would go through all of the block.
void MapAndUnmapMuch(Place* place) {
  const size_t bytes = size_t{16} << 20;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  long block = syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  Check(block != -1, "mmap", place);
  if (block == -1) return;
  Work(30);
  syscall(SYS_munmap, block, bytes);
}

[[gnu::noinline]] void ThrowAfter(int depth, Place* place) {
  if (depth == 0) throw std::runtime_error("thrown in the soak");
  std::string of_the_frame(static_cast<size_t>(place->Below(64)), 'x');
  ThrowAfter(depth - 1, place);
  LAGWATCH_NO_TAIL_CALL;
}

void ThrowAndCatch(Place* place) {
  try {
    ThrowAfter(1 + place->Below(20), place);
    Check(false, "nothing was thrown", place);
  } catch (const std::runtime_error&) {
  }
}

void LoadAndUnload(Place* place) {
  void* plugin = dlopen(LAGWATCH_SOAK_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  Check(plugin != nullptr, "dlopen", place);
  if (plugin == nullptr) return;
  using CallBack = void(void (*)(void*), void*);
  auto* call_back = reinterpret_cast<CallBack*>(dlsym(plugin, "SoakCallBack"));
  Check(call_back != nullptr, "dlsym", place);
  if (call_back != nullptr) {
    call_back([](void*) { Work(30); }, nullptr);
    try {
      call_back([](void* argument) { ThrowAfter(3, static_cast<Place*>(argument)); }, place);
    } catch (const std::runtime_error&) {
    }
  }
  dlclose(plugin);
}

// Only what may be called in the child of a program with threads.
void RunChild(bool executes_something, Place* place) {
  pid_t child = fork();
  if (child == 0) {
    if (executes_something) execl("/bin/true", "true", static_cast<char*>(nullptr));
    _exit(executes_something ? 127 : 0);
  }
  Check(child > 0, "fork", place);
  if (child < 0) return;
  int status = 0;
  CheckUninterrupted(waitpid(child, &status, 0) == child, "waitpid", place);
  Check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child failed", place);
}

void Fork(Place* place) { RunChild(false, place); }
void ForkAndExecute(Place* place) { RunChild(true, place); }

void ChangeSignalMask(Place* place) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  for (int i = 0; i < 4; ++i) {
    pthread_sigmask(SIG_BLOCK, &all, &before);
    Work(place->Below(40));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    Work(place->Below(20));
  }
}

void RunOnAlternateStack(Place* place) {
  static const bool has_handler = [] {
    struct sigaction action {};
    action.sa_handler = [](int) { Work(30); };
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    return sigaction(SIGUSR1, &action, nullptr) == 0;
  }();
  Check(has_handler, "sigaction", place);
  const size_t bytes = size_t{64} << 10;
  std::unique_ptr<char[]> memory(new char[bytes]);
  stack_t alternate{.ss_sp = memory.get(), .ss_flags = 0, .ss_size = bytes};
  stack_t before{};
  Check(sigaltstack(&alternate, &before) == 0, "sigaltstack", place);
  raise(SIGUSR1);
  if ((before.ss_flags & SS_DISABLE) != 0) before = {.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
  Check(sigaltstack(&before, nullptr) == 0, "sigaltstack back", place);
}

struct Coroutine {
  ucontext_t caller;
  ucontext_t self;
  int turns;  // left to take
};
thread_local Coroutine t_coroutine;

// On a stack of any size, so that what lies past its end is at times mapped and at times not.
void RunOneCoroutine(Place* place) {
  const size_t bytes = kPageBytes * static_cast<size_t>(8 + place->Below(120));
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Check(memory != MAP_FAILED, "mmap", place);
  if (memory == MAP_FAILED) return;
  getcontext(&t_coroutine.self);
  t_coroutine.self.uc_stack.ss_sp = memory;
  t_coroutine.self.uc_stack.ss_size = bytes;
  t_coroutine.self.uc_link = &t_coroutine.caller;
  makecontext(&t_coroutine.self, RunCoroutine, 0);
  for (t_coroutine.turns = 3; t_coroutine.turns > 0; --t_coroutine.turns) {
    swapcontext(&t_coroutine.caller, &t_coroutine.self);
  }
  munmap(memory, bytes);
}

void RunCoroutines(Place* place) {
  for (int i = 0; i < 3; ++i) RunOneCoroutine(place);
}

[[gnu::noinline]] void Recurse(int depth) {
  if (depth == 0) return Work(30);
  Recurse(depth - 1);
  LAGWATCH_NO_TAIL_CALL;
}

void RecurseDeeply(Place* place) { Recurse(100 << place->Below(7)); }

void SleepShortly(Place* place) {
  timespec duration{.tv_sec = 0, .tv_nsec = 1 + place->Below(40'000'000)};
  CheckUninterrupted(nanosleep(&duration, nullptr) == 0, "nanosleep", place);
}

void PollShortly(Place* place) {
  CheckUninterrupted(poll(nullptr, 0, 1 + place->Below(40)) == 0, "poll", place);
}

void WaitForFutexShortly(Place* place) {
  uint32_t word = 0;
  timespec duration{.tv_sec = 0, .tv_nsec = 1 + place->Below(40'000'000)};
  long result = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &duration, nullptr, 0);
  CheckUninterrupted(result == -1 && errno == ETIMEDOUT, "futex", place);
}

// A thread of its own, with a stack where there was something else a moment ago.
void CreateAndJoinThread(Place* place) {
  Place inner{.random = std::minstd_rand(place->random()), .diary = place->diary};
  std::thread([&inner] {
    Allocate(&inner);
    if (!kIsThreadSanitized) RunCoroutines(&inner);
    ThrowAndCatch(&inner);
    Work(30);
  }).join();
}

}  // namespace

void RunCoroutine() {
  while (t_coroutine.turns > 1) {
    Work(10);
    swapcontext(&t_coroutine.self, &t_coroutine.caller);
  }
  Work(10);
  asm volatile("");  // or it would be a jump, and this function not on the stack
}

std::span<const Activity> Activities() {
  static constexpr Activity kActivities[] = {
      {"allocate", Allocate, 1},
      {"map", MapAndUnmapMuch, 2},
      {"throw", ThrowAndCatch, 1},
      {"load", LoadAndUnload, 2},
      {"mask", ChangeSignalMask, 2},
      {"alternate stack", RunOnAlternateStack, 2},
      {"recurse", RecurseDeeply, 2},
      {"thread", CreateAndJoinThread, 2},
      {"fork", Fork, kForkOneIn},
      {"execute", ForkAndExecute, 2 * kForkOneIn},
      {"nanosleep", SleepShortly, 1},
      {"poll", PollShortly, 1},
      {"futex", WaitForFutexShortly, 1},
      // Last, because the thread sanitizer, which must be informed of every switch of stacks, goes without.
      {"coroutines", RunCoroutines, 2},
  };
  return std::span(kActivities).first(std::size(kActivities) - (kIsThreadSanitized ? 1 : 0));
}

}  // namespace lagwatch::soak

#if defined(__SANITIZE_THREAD__)
// The sanitizer sees neither the loader's lock nor that what it maps is new, which exceptions
// then look through.
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_suppressions() {
  return "race:ld-linux\nrace:libgcc_s\nrace:libsoak_plugin\n";
}
#endif
