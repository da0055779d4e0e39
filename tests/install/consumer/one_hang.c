/* SPDX-License-Identifier: Apache-2.0 */
/* The same in C. Usage: one_hang SPOOL */
#define _POSIX_C_SOURCE 200809L
#include <lagwatch/c.h>
#include <stdio.h>
#include <time.h>

int main(int argc, char** argv) {
  const struct timespec freeze = {0, 200 * 1000 * 1000};
  lw_options options;
  lw_stats stats;
  lw_loop* loop;

  (void)argc;
  lw_options_init(&options);
  options.app = "one-hang";
  options.spool_directory = argv[1];
  options.threshold_ms = 50;
  if (lw_start(&options) != LW_OK) {
    fprintf(stderr, "lagwatch is off: %s\n", lw_why_off());
    return 1;
  }
  loop = lw_watch_loop("ui");
  lw_dispatch_begin(loop, "sleep");
  nanosleep(&freeze, NULL);
  lw_dispatch_end(loop);
  lw_stop(0);
  lw_stats_init(&stats);
  lw_get_stats(&stats);
  printf("hangs: %d, reports: %d\n", (int)stats.hangs, (int)stats.reports_written);
  return stats.hangs == 1 && stats.reports_written >= 1 ? 0 : 1;
}
