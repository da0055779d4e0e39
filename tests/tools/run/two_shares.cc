// SPDX-License-Identifier: Apache-2.0
// An unprepared program whose loop freezes once, in two functions by turns.
//
//   two_shares LOAD_MS SAVE_MS TURNS
//
// LoadHere() takes LOAD_MS and SaveHere() SAVE_MS of it, each in so many parts. Prints their names, the one
// first that took longer; nothing if they differ by less than a sixth of the freeze, as on a machine that is
// too busy.
#include <poll.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

using Clock = std::chrono::steady_clock;

void SpinUntil(Clock::time_point end) {
  while (Clock::now() < end) {
    for (int i = 0; i < 100'000; ++i) asm volatile("");
  }
}

[[gnu::noinline]] void LoadHere(Clock::duration duration) {
  SpinUntil(Clock::now() + duration);
  asm volatile("# load");
}
[[gnu::noinline]] void SaveHere(Clock::duration duration) {
  SpinUntil(Clock::now() + duration);
  asm volatile("# save");
}

[[gnu::noinline]] void Freeze(std::chrono::milliseconds load, std::chrono::milliseconds save, int turns) {
  const Clock::time_point begin = Clock::now();
  Clock::duration loaded{0};
  for (int i = 0; i < turns; ++i) {
    const Clock::time_point turn = Clock::now();
    LoadHere(load / turns);
    loaded += Clock::now() - turn;
    SaveHere(save / turns);
  }
  const Clock::duration whole = Clock::now() - begin;
  const Clock::duration saved = whole - loaded;
  if (std::chrono::abs(saved - loaded) < whole / 6) return;
  std::puts(saved > loaded ? "SaveHere LoadHere" : "LoadHere SaveHere");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  for (int turn = 0; turn < 4; ++turn) {
    poll(nullptr, 0, 20);
    if (turn == 1)
      Freeze(std::chrono::milliseconds(std::atoi(argv[1])), std::chrono::milliseconds(std::atoi(argv[2])),
             std::atoi(argv[3]));
  }
}
