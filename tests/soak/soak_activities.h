// SPDX-License-Identifier: Apache-2.0
// Activities of programs that a capture could disturb, or be disturbed by. Each takes some microseconds to
// milliseconds, starts from nothing and leaves nothing behind.
#pragma once

#include <atomic>
#include <cstdint>
#include <random>
#include <span>

namespace lagwatch::soak {

struct Diary {
  std::atomic<uint64_t> interrupted_calls{0};  // that ended with EINTR, which only a capture can cause
  std::atomic<uint64_t> failures{0};           // anything else that went wrong
};

// A thread's own.
struct Place {
  std::minstd_rand random;
  Diary* diary;

  int Below(int bound) { return std::uniform_int_distribution(0, bound - 1)(random); }
};

struct Activity {
  const char* name;
  void (*run)(Place* place);
  int one_in;  // how seldom: in one of so many rounds
};

// Context: background.
std::span<const Activity> Activities();

// The begin of coroutines, and so the end of their stacks.
void RunCoroutine();

}  // namespace lagwatch::soak
