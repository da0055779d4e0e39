/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that a display paces: each lasts until its next refresh. Prints how many were dropped, and the most
 * that may have been, by a clock around them; then the same of frames of two and a half refreshes. */
#include <lagwatch/adapters/frames.h>

enum { FRAMES = 40, REFRESH_NS = 5000000 };

static void SleepUntil(uint64_t time_ns) {
  const struct timespec time = {(time_t)(time_ns / 1000000000u), (long)(time_ns % 1000000000u)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static void Draw(uint64_t frame_ns) {
  lw_frames frames = {.refresh_ns = REFRESH_NS};
  uint64_t most = 0;
  for (int i = 0; i < FRAMES; ++i) {
    const uint64_t begin_ns = lw_frames_now_ns();
    lw_frames_begin(&frames, NULL);
    SleepUntil(begin_ns + frame_ns);
    lw_frames_end(&frames, NULL);
    most += (lw_frames_now_ns() - begin_ns - REFRESH_NS / 2) / REFRESH_NS;
  }
  printf("frames %d dropped %d most %d\n", (int)frames.count, (int)frames.dropped, (int)most);
}

int main(void) {
  Draw(REFRESH_NS);
  Draw(REFRESH_NS * 5 / 2);
  return 0;
}
