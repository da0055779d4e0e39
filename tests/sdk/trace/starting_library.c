/* SPDX-License-Identifier: Apache-2.0 */
/* A library whose constructor starts lagwatch, and uses files in a dispatch. The spool is
 * $LAGWATCH_TEST_SPOOL. */
#include <lagwatch/c.h>
#include <stdlib.h>
#include <sys/stat.h>

__attribute__((constructor)) static void Start(void) {
  lw_options options;
  lw_options_init(&options);
  options.app = "sdk-test";
  options.spool_directory = getenv("LAGWATCH_TEST_SPOOL");
  options.trace = 1;
  options.trace_hooks = 1;
  options.io_watch_ms = 60000;
  options.io_watch_calls = 1000;
  if (lw_start(&options) != LW_OK) return;
  lw_loop* loop = lw_watch_loop("constructor");
  struct stat status;
  lw_dispatch_begin(loop, "start");
  for (int i = 0; i < 1200; ++i) stat("/usr/share/lagwatch-none", &status);
  lw_dispatch_end(loop);
}
