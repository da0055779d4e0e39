// SPDX-License-Identifier: Apache-2.0
// A game's loop, whose frames have stages; one frame in a hundred takes too long to draw.
#include <lagwatch/lagwatch.h>

#include <chrono>
#include <thread>

static void Work(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

int main() {
  auto monitor = lagwatch::Monitor::Start({.app = "game-sample"});
  auto loop = monitor.WatchLoop("game");
  for (int i = 1; i <= 200; ++i) {
    lagwatch::ScopedFrame frame(loop);
    frame.Stage(LW_STAGE_INPUT);
    Work(1);
    frame.Stage(LW_STAGE_ANIMATION);
    Work(2);
    frame.Stage(LW_STAGE_DRAW);
    Work(i % 100 == 0 ? 900 : 2);
    frame.Stage(LW_STAGE_SUBMIT);
    Work(1);
  }
}
