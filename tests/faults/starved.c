// SPDX-License-Identifier: Apache-2.0
// A program that links the library and does with it whatever may allocate.
#include <lagwatch/c.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>

static void Freeze(long long duration_ms) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const long long end_ms = now.tv_sec * 1000LL + now.tv_nsec / 1000000 + duration_ms;
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (now.tv_sec * 1000LL + now.tv_nsec / 1000000 < end_ms);
}

int main(int argc, char** argv) {
  lw_options options;
  lw_options_init(&options);
  options.spool_directory = argc > 1 ? argv[1] : "";
  options.threshold_ms = 20;
  options.trace = argc > 2;
  options.trace_hooks = argc > 2;
  options.dump_interval_ms = 0;
  poll(NULL, 0, 1);
  for (int i = 0; i < 2; ++i) {
    lw_start(&options);
    lw_loop* loop = lw_watch_loop("main");
    for (int turn = 0; turn < 2; ++turn) {
      lw_dispatch_begin(loop, "turn");
      Freeze(40);
      lw_dispatch_end(loop);
    }
    lw_dump_now("asked");
    lw_trace_now();
    lw_set_value("key", "value");
    lw_why_off();
    lw_stats stats;
    lw_stats_init(&stats);
    lw_get_stats(&stats);
    lw_stop(0);
    lw_unwatch_loop(loop);
  }
  puts("good");
  return 3;
}
