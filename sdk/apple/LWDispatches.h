// SPDX-License-Identifier: Apache-2.0
// The dispatches and frames of one watched run loop: takes the steps of LWRunLoopRules through the C API.
// Everything here is called on the loop's thread.
#ifndef LAGWATCH_APPLE_LWDISPATCHES_H_
#define LAGWATCH_APPLE_LWDISPATCHES_H_

#include <lagwatch/c.h>

#include "LWRunLoopRules.h"

typedef struct LWDispatches {
  lw_loop* loop;
  LWRunLoopRules rules;
} LWDispatches;

// Begins to watch the calling thread's loop, within a dispatch of this tag. Tags are not copied, here and
// below.
void LWDispatchesStart(LWDispatches* dispatches, const char* name, const char* tag);
// An activity of the loop; `mode` is the tag of the dispatch that it may begin, NULL for a mode that is not
// common. Context: hot.
static inline void LWDispatchesActivity(LWDispatches* dispatches, LWActivity activity, const char* mode) {
  const unsigned steps = LWRunLoopRulesNext(&dispatches->rules, activity, mode != NULL);
  if (steps & LWStepEndFrame) lw_frame_end(dispatches->loop);
  if (steps & LWStepEndDispatch) lw_dispatch_end(dispatches->loop);
  if (steps & LWStepBeginDispatch) lw_dispatch_begin(dispatches->loop, mode);
}

// Begins a frame, for this refresh of the display; 0 if it is unknown.
void LWDispatchesBeginFrame(LWDispatches* dispatches, uint64_t vsync_ns);
// Converts a refresh of the display from the media clock, in seconds, to CLOCK_MONOTONIC. 0, unknown, for one
// that is not within the last second.
uint64_t LWVsyncNs(uint64_t now_mono_ns, double now_media_s, double refresh_media_s);

#endif  // LAGWATCH_APPLE_LWDISPATCHES_H_
