// SPDX-License-Identifier: Apache-2.0
// A program that knows where its time went: calls in a known order, each of which is timed by itself.
//
//   scripted_program FILE
//
// writes a line "FUNCTION NANOSECONDS" for each function, with what it called, and one for what had been
// planned in all. One thread runs at a time.
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <ctime>

#define FUNCTION extern "C" [[gnu::noinline, gnu::visibility("default")]] void

namespace {

constexpr int64_t kNsPerMs = 1'000'000;

int64_t ReadNs(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

enum Name { kMain, kLoad, kParse, kSave, kDraw, kLayout, kAwait, kWork, kIndex, kRest, kNameCount };
constexpr const char* kNames[kNameCount] = {
    "main",           "ScriptedLoad",  "ScriptedParse", "ScriptedSave",  "ScriptedDraw",
    "ScriptedLayout", "ScriptedAwait", "ScriptedWork",  "ScriptedIndex", "ScriptedRest"};
std::atomic<int64_t> g_totals_ns[kNameCount];
std::atomic<int64_t> g_planned_ns;  // the time of all of it on an idle machine

class Timed {
 public:
  explicit Timed(Name name) : name_(name) {}
  ~Timed() { g_totals_ns[name_] += ReadNs(CLOCK_MONOTONIC) - begin_ns_; }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  Name name_;
  int64_t begin_ns_ = ReadNs(CLOCK_MONOTONIC);
};

// The durations of calls: they differ, and are no multiple of any interval.
class Durations {
 public:
  explicit Durations(uint32_t seed) : state_(seed) {}
  int64_t Next(int64_t least_ms, int64_t most_ms) {
    state_ = state_ * 1664525 + 1013904223;
    return least_ms * kNsPerMs + (state_ >> 8) % ((most_ms - least_ms) * kNsPerMs);
  }

 private:
  uint32_t state_;
};

// By the thread's own clock: a processor that is taken away is given back. `rounds` between two looks at it.
[[gnu::always_inline]] inline void Spin(int64_t duration_ns, int rounds) {
  g_planned_ns += duration_ns;
  const int64_t end_ns = ReadNs(CLOCK_THREAD_CPUTIME_ID) + duration_ns;
  while (ReadNs(CLOCK_THREAD_CPUTIME_ID) < end_ns) {
    for (int i = 0; i < rounds; ++i) asm volatile("");
  }
}

[[gnu::always_inline]] inline void Sleep(int64_t duration_ns) {
  g_planned_ns += duration_ns;
  const timespec pause{duration_ns / 1'000'000'000, duration_ns % 1'000'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
}

}  // namespace

FUNCTION ScriptedParse(int64_t duration_ns) {
  const Timed timed(kParse);
  Spin(duration_ns, 200'000);
}

FUNCTION ScriptedSave(int64_t duration_ns) {
  const Timed timed(kSave);
  Sleep(duration_ns);
}

FUNCTION ScriptedLayout(int64_t duration_ns) {
  const Timed timed(kLayout);
  Spin(duration_ns, 1);
}

FUNCTION ScriptedIndex(int64_t duration_ns) {
  const Timed timed(kIndex);
  Spin(duration_ns, 20'000);
}

FUNCTION ScriptedRest(int64_t duration_ns) {
  const Timed timed(kRest);
  Sleep(duration_ns);
}

FUNCTION ScriptedLoad() {
  const Timed timed(kLoad);
  Durations durations(1);
  for (int i = 0; i < 12; ++i) {
    ScriptedParse(durations.Next(110, 210));
    ScriptedSave(durations.Next(100, 170));
  }
}

FUNCTION ScriptedDraw() {
  const Timed timed(kDraw);
  Durations durations(2);
  Spin(durations.Next(200, 250), 50'000);
  for (int i = 0; i < 10; ++i) ScriptedLayout(durations.Next(130, 220));
}

FUNCTION ScriptedWork() {
  const Timed timed(kWork);
  Durations durations(3);
  for (int i = 0; i < 12; ++i) {
    ScriptedIndex(durations.Next(110, 210));
    ScriptedRest(durations.Next(100, 170));
  }
}

FUNCTION ScriptedAwait() {
  const Timed timed(kAwait);
  pthread_t worker{};
  const auto work = [](void*) -> void* {
    ScriptedWork();
    return nullptr;
  };
  if (pthread_create(&worker, nullptr, work, nullptr) == 0) pthread_join(worker, nullptr);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  {
    const Timed timed(kMain);
    ScriptedLoad();
    ScriptedDraw();
    ScriptedAwait();
  }
  std::FILE* file = std::fopen(argv[1], "w");
  if (file == nullptr) return 1;
  for (int i = 0; i < kNameCount; ++i)
    std::fprintf(file, "%s %lld\n", kNames[i], static_cast<long long>(g_totals_ns[i].load()));
  std::fprintf(file, "(planned) %lld\n", static_cast<long long>(g_planned_ns.load()));
  return std::fclose(file) == 0 ? 0 : 1;
}
