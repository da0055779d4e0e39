// SPDX-License-Identifier: Apache-2.0
#include "LWDispatches.h"

void LWDispatchesStart(LWDispatches* dispatches, const char* name, const char* tag) {
  dispatches->loop = lw_watch_loop(name);
  if (LWRunLoopRulesStart(&dispatches->rules) & LWStepBeginDispatch) lw_dispatch_begin(dispatches->loop, tag);
}

void LWDispatchesBeginFrame(LWDispatches* dispatches, uint64_t vsync_ns) {
  if (LWRunLoopRulesBeginFrame(&dispatches->rules)) lw_frame_begin(dispatches->loop, vsync_ns);
}

uint64_t LWVsyncNs(uint64_t now_mono_ns, double now_media_s, double refresh_media_s) {
  const double age_s = now_media_s - refresh_media_s;
  if (!(age_s >= 0 && age_s < 1)) return 0;
  const uint64_t age_ns = (uint64_t)(age_s * 1e9);
  return age_ns < now_mono_ns ? now_mono_ns - age_ns : 0;
}
