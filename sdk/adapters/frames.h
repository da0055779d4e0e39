/* SPDX-License-Identifier: Apache-2.0 */
/* Marks a loop's frames, and keeps the numbers of the last seconds for a small window in debug builds: frames
 * a second, the median and the 95th percentile of their durations, and dropped frames by level. frames_sdl.h,
 * frames_gtk.h and frames_qt.h draw it. Header only.
 *
 *   static lw_frames frames;
 *   lw_frames_begin(&frames, loop);            // in the place of lw_frame_begin(loop, 0)
 *   lw_frames_end(&frames, loop);              // in the place of lw_frame_end(loop), before the picture is
 *                                              // presented: with vsync that call waits for the display
 *   lw_frames_scope(&frames, "list", "scroll") // the user's activity from now on; NULL: none
 *
 * A scope starts from zero, and is part of the scene: the collector has the frames of "list/scroll" apart
 * from those of "list". All functions on the loop's thread. */
#ifndef LAGWATCH_ADAPTERS_FRAMES_H_
#define LAGWATCH_ADAPTERS_FRAMES_H_

#include <lagwatch/c.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LW_FRAMES_KEPT = 240, LW_FRAMES_LEVELS = 5 };

/* All zero at first. */
typedef struct lw_frames {
  uint64_t refresh_ns;                 /* how long the display shows a frame; 0: 60 Hz */
  uint64_t begin_ns;                   /* of the frame under way; 0: there is none */
  uint64_t count;                      /* in this scope, as the next ones */
  uint64_t dropped;                    /* whole refreshes of each, after the first half one */
  uint64_t by_level[LW_FRAMES_LEVELS]; /* best (fewer than 3 dropped), normal (9), middle (24), high (42),
                                          frozen */
  struct {
    uint64_t end_ns;
    uint32_t duration_us;
  } last[LW_FRAMES_KEPT];
  char scope[32];
} lw_frames;

/* Of the last LW_FRAMES_KEPT frames. */
typedef struct lw_frame_numbers {
  double per_second; /* of the last second before the last frame's end */
  double median_ms;
  double p95_ms;
  uint64_t count; /* in the scope, as the next one */
  uint64_t dropped;
} lw_frame_numbers;

static inline uint64_t lw_frames_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* `loop` may be NULL, here and below. */
static inline void lw_frames_begin(lw_frames* frames, lw_loop* loop) {
  frames->begin_ns = lw_frames_now_ns();
  lw_frame_begin(loop, 0);
}

static inline void lw_frames_end(lw_frames* frames, lw_loop* loop) {
  static const uint64_t kLevels[LW_FRAMES_LEVELS - 1] = {3, 9, 24, 42};
  const uint64_t end_ns = lw_frames_now_ns();
  const uint64_t refresh_ns = frames->refresh_ns != 0 ? frames->refresh_ns : 16666667u;
  uint64_t duration_ns;
  uint64_t dropped;
  size_t level = 0;
  lw_frame_end(loop);
  if (frames->begin_ns == 0) return;
  /* A frame that the display paces lasts one refresh, now a little more and now a little less: no drop. */
  duration_ns = end_ns - frames->begin_ns;
  dropped = duration_ns < refresh_ns / 2 ? 0 : (duration_ns - refresh_ns / 2) / refresh_ns;
  while (level < LW_FRAMES_LEVELS - 1 && dropped >= kLevels[level]) ++level;
  frames->by_level[level] += 1;
  frames->dropped += dropped;
  frames->last[frames->count % LW_FRAMES_KEPT].end_ns = end_ns;
  frames->last[frames->count % LW_FRAMES_KEPT].duration_us = (uint32_t)(duration_ns / 1000u);
  frames->count += 1;
  frames->begin_ns = 0;
}

/* The scene is set, too: "SCENE/SCOPE", or the scene alone. `scope` may be NULL. */
static inline void lw_frames_scope(lw_frames* frames, const char* scene, const char* scope) {
  char text[80];
  const uint64_t refresh_ns = frames->refresh_ns;
  snprintf(text, sizeof text, "%s%s%s", scene, scope != NULL ? "/" : "", scope != NULL ? scope : "");
  lw_set_scene(text);
  memset(frames, 0, sizeof *frames);
  frames->refresh_ns = refresh_ns;
  snprintf(frames->scope, sizeof frames->scope, "%s", scope != NULL ? scope : "");
}

static inline int lw_frames_compare(const void* left, const void* right) {
  const uint32_t a = *(const uint32_t*)left;
  const uint32_t b = *(const uint32_t*)right;
  return a < b ? -1 : a > b;
}

static inline lw_frame_numbers lw_frames_numbers(const lw_frames* frames) {
  lw_frame_numbers numbers = {0.0, 0.0, 0.0, frames->count, frames->dropped};
  uint32_t sorted_us[LW_FRAMES_KEPT];
  const size_t kept = frames->count < LW_FRAMES_KEPT ? (size_t)frames->count : (size_t)LW_FRAMES_KEPT;
  uint64_t newest_ns;
  size_t in_second = 0;
  size_t i;
  if (kept == 0) return numbers;
  newest_ns = frames->last[(frames->count - 1) % LW_FRAMES_KEPT].end_ns;
  for (i = 0; i < kept; ++i) {
    sorted_us[i] = frames->last[i].duration_us;
    if (newest_ns - frames->last[i].end_ns < 1000000000u) ++in_second;
  }
  qsort(sorted_us, kept, sizeof sorted_us[0], lw_frames_compare);
  numbers.per_second = (double)in_second;
  numbers.median_ms = sorted_us[(kept - 1) / 2] / 1000.0;
  numbers.p95_ms = sorted_us[(kept * 95 + 99) / 100 - 1] / 1000.0;
  return numbers;
}

enum { LW_FRAMES_LINES = 3, LW_FRAMES_LINE_BYTES = 64 };

/* Writes the lines that the window shows. */
static inline void lw_frames_text(const lw_frames* frames,
                                  char lines[LW_FRAMES_LINES][LW_FRAMES_LINE_BYTES]) {
  const lw_frame_numbers numbers = lw_frames_numbers(frames);
  const uint64_t* levels = frames->by_level;
  snprintf(lines[0], LW_FRAMES_LINE_BYTES, "%3.0f fps  %s", numbers.per_second, frames->scope);
  snprintf(lines[1], LW_FRAMES_LINE_BYTES, "p50 %.1f ms  p95 %.1f ms", numbers.median_ms, numbers.p95_ms);
  snprintf(lines[2], LW_FRAMES_LINE_BYTES, "dropped %llu  levels %llu %llu %llu %llu %llu",
           (unsigned long long)numbers.dropped, (unsigned long long)levels[0], (unsigned long long)levels[1],
           (unsigned long long)levels[2], (unsigned long long)levels[3], (unsigned long long)levels[4]);
}

#endif /* LAGWATCH_ADAPTERS_FRAMES_H_ */
