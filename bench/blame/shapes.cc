// SPDX-License-Identifier: Apache-2.0
#include "bench/blame/shapes.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

namespace lagwatch::bench {
namespace {

bool IsBefore(int64_t end_ns) { return NowNs() < end_ns; }
int64_t EndNs(int64_t ms) { return NowNs() + ms * base::kNsPerMs; }

// The code that callers share. The empty statements keep calls from becoming jumps.

[[gnu::noinline]] void Sleep(int64_t ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  asm volatile("");
}

[[gnu::noinline]] void Poll(int64_t ms) {
  poll(nullptr, 0, static_cast<int>(ms));
  asm volatile("");
}

[[gnu::noinline]] void AwaitSignal(int64_t ms) {
  static std::mutex mutex;
  static std::condition_variable changed;
  std::unique_lock lock(mutex);
  changed.wait_for(lock, std::chrono::milliseconds(ms));
}

[[gnu::noinline]] void AwaitLock(int64_t ms) {
  static std::timed_mutex mutex;
  static std::once_flag is_taken;
  std::call_once(is_taken, [] { std::thread([] { mutex.lock(); }).join(); });
  static_cast<void>(mutex.try_lock_for(std::chrono::milliseconds(ms)));
}

[[gnu::noinline]] void Spin(int64_t ms) {
  for (const int64_t end_ns = EndNs(ms); IsBefore(end_ns);) {
    for (int i = 0; i < 1000; ++i) asm volatile("");
  }
}

[[gnu::noinline]] void SortNumbers(int64_t ms) {
  std::vector<uint32_t> numbers(2000);
  uint32_t seed = 1;
  for (const int64_t end_ns = EndNs(ms); IsBefore(end_ns);) {
    for (uint32_t& number : numbers) number = seed = seed * 1664525 + 1013904223;
    std::sort(numbers.begin(), numbers.end());
  }
}

[[gnu::noinline]] void CopyMemory(int64_t ms) {
  static std::vector<char> from(1 << 20, 'x');
  static std::vector<char> to(1 << 20);
  for (const int64_t end_ns = EndNs(ms); IsBefore(end_ns);) {
    std::memcpy(to.data(), from.data(), from.size());
    asm volatile("" ::: "memory");
  }
}

[[gnu::noinline]] void AskKernel(int64_t ms) {
  for (const int64_t end_ns = EndNs(ms); IsBefore(end_ns);) {
    for (int i = 0; i < 100; ++i) getppid();
  }
}

// The callers.
#define LAGWATCH_CALLER(name)                          \
  [[gnu::noinline]] void name(Work work, int64_t ms) { \
    work(ms);                                          \
    asm volatile("# " #name);                          \
  }
LAGWATCH_CALLER(PlayClick)
LAGWATCH_CALLER(DrawRow)
LAGWATCH_CALLER(SaveDraft)
LAGWATCH_CALLER(CheckSpelling)

constexpr int64_t kAfterMs = 150;  // the look for the report may be so late

constexpr NamedWork kWorks[] = {
    {"sleep", Sleep}, {"poll", Poll},        {"condition", AwaitSignal}, {"lock", AwaitLock},
    {"spin", Spin},   {"sort", SortNumbers}, {"memcpy", CopyMemory},     {"system calls", AskKernel}};

}  // namespace

LAGWATCH_CALLER(LoadContacts)
#undef LAGWATCH_CALLER

[[gnu::noinline]] void Query(Caller caller, Work work, int64_t ms, int layers) {
  if (layers == 0) {
    caller(work, ms);
  } else {
    Query(caller, work, ms, layers - 1);
  }
  asm volatile("# Query");
}

std::vector<Shape> Shapes() {
  // In the window three times as long as all others, then others until after the report.
  Shape first{"first", {{LoadContacts, kWindowMs + 140}, {PlayClick, 60 + kAfterMs}}};
  Shape rows{"many", {{LoadContacts, kWindowMs + 110}}};
  for (int i = 0; i < 24; ++i)
    rows.steps.push_back({i % 3 == 0 ? DrawRow : i % 3 == 1 ? SaveDraft : CheckSpelling, 10});
  Shape turns{"in turns", {}};
  for (int i = 0; i < 16; ++i) {
    turns.steps.push_back({LoadContacts, 22});
    turns.steps.push_back({i % 2 == 0 ? PlayClick : DrawRow, 13});
  }
  Shape layers{"in layers", {{PlayClick, kWindowMs, 3}, {LoadContacts, 130, 5}, {DrawRow, 70 + kAfterMs, 2}}};
  return {first, rows, turns, layers};
}

std::span<const Caller> Callers() {
  static constexpr Caller kCallers[] = {LoadContacts, PlayClick, DrawRow, SaveDraft, CheckSpelling};
  return kCallers;
}

std::span<const NamedWork> Works() { return kWorks; }

}  // namespace lagwatch::bench
