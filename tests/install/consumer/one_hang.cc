// SPDX-License-Identifier: Apache-2.0
// One dispatch of 200 ms with a threshold of 50 ms: exits 0 when that is one hang that was reported; once, or
// again where the first stacks came before all unwind tables were read (a static program has no search
// table). Usage: one_hang SPOOL
#include <lagwatch/lagwatch.h>
#include <lagwatch/queue_ping.h>

#include <chrono>
#include <cstdio>
#include <thread>

int main(int, char** argv) {
  lagwatch::Options options;
  options.app = "one-hang";
  options.spool_directory = argv[1];
  options.threshold_ms = 50;
  auto monitor = lagwatch::Monitor::Start(options);
  if (!monitor.is_on()) {
    std::fprintf(stderr, "lagwatch is off: %s\n", monitor.why_off().c_str());
    return 1;
  }
  {
    lagwatch::ScopedDispatch dispatch(monitor.WatchLoop("ui"), "sleep");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  monitor.Stop();
  lw_stats stats = monitor.stats();
  std::printf("hangs: %d, reports: %d\n", static_cast<int>(stats.hangs),
              static_cast<int>(stats.reports_written));
  return stats.hangs == 1 && stats.reports_written >= 1 ? 0 : 1;
}
