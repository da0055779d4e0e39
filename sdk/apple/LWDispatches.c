// SPDX-License-Identifier: Apache-2.0
#include "LWDispatches.h"

void LWDispatchesStart(LWDispatches* dispatches, const char* name, const char* tag) {
  dispatches->loop = lw_watch_loop(name);
  if (LWRunLoopRulesStart(&dispatches->rules) & LWStepBeginDispatch) lw_dispatch_begin(dispatches->loop, tag);
}

void LWDispatchesBeginFrame(LWDispatches* dispatches, uint64_t vsync_ns) {
  if (LWRunLoopRulesBeginFrame(&dispatches->rules)) lw_frame_begin(dispatches->loop, vsync_ns);
}
