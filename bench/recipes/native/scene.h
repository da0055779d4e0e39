// SPDX-License-Identifier: Apache-2.0
// Scenes of native.cc: a handler that freezes in a known function, for a known reason.
#pragma once

#include <sys/prctl.h>

#include <cstdint>
#include <cstring>
#include <ctime>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace scenes {

constexpr int64_t kFreezeMs = 1200;

inline int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

inline void SleepMs(int64_t ms) {
  timespec rest{.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1'000'000};
  while (nanosleep(&rest, &rest) != 0) {
  }
}

// The other side that a report should name.
enum class Other {
  kNone,
  kOwner,      // the thread "culprit", at KeepItWaiting
  kPeer,       // the process "culprit", likewise
  kCandidate,  // the thread "culprit", as probably the one
  kDeadlock,
};

struct Scene {
  const char* name;
  const char* word;      // of the verdict
  const char* function;  // or its helper's name, after a '/'
  Other other;
  void (*run)();
};

// The culprit's work: on the stack of a thread that others wait for.
[[gnu::noinline]] void KeepItWaiting();

// Threads of one scene, which it joins. Each but the culprit is a bystander.
class Cast {
 public:
  ~Cast() {
    for (std::thread& thread : threads_) thread.join();
  }
  void Add(const char* name, std::function<void()> work) {
    threads_.emplace_back([name, work = std::move(work)] {
      prctl(PR_SET_NAME, name);
      work();
    });
  }

 private:
  std::vector<std::thread> threads_;
};

std::span<const Scene> OwnWork();
std::span<const Scene> Threads();
std::span<const Scene> Processes();
std::span<const Scene> Candidates();

}  // namespace scenes
