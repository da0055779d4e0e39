/* SPDX-License-Identifier: Apache-2.0 */
/* The C header from C: compiles, links, and does what it says. Called by lifecycle_test.cc. */
#include <lagwatch/c.h>
#include <string.h>

/* Returns 0, or the number of the check that failed. */
int RunCTest(const char* spool_directory) {
  lw_options options;
  lw_stats stats;
  lw_loop* loop;
  lw_thresholds thresholds;
  lw_last_exit last_exit;

  lw_options_init(&options);
  if (options.struct_size_bytes != sizeof options || options.threshold_ms != 2000) return 1;
  if (options.anr_threshold_ms != 5000) return 1;
  if (options.watch_cpu != 0 || options.cpu_window_ms != 60000) return 1;
  if (lw_options_set(&options, "app", "c-test") != 1 || strcmp(options.app, "c-test") != 0) return 1;
  if (lw_options_set(&options, "check_period_ms", "500") != 1 || options.check_period_ms != 500) return 1;
  if (lw_options_set(&options, "no_such_option", "1") != 0) return 1;
  options.spool_directory = spool_directory;
  if (lw_start(&options) != LW_OK) return 2;
  if (strlen(lw_why_off()) != 0) return 3;
  if (lw_start(&options) != LW_ALREADY_STARTED) return 4;
  loop = lw_watch_loop("c");
  if (loop == NULL) return 5;
  thresholds = lw_set_thresholds(loop, 4000000, 1);
  if (thresholds.threshold_ms != 3600000 || thresholds.anr_threshold_ms != 3600000) return 11;
  thresholds = lw_set_thresholds(loop, 2000, 0);
  if (thresholds.threshold_ms != 2000 || thresholds.anr_threshold_ms != 0) return 12;
  if (lw_set_thresholds(NULL, 2000, 0).threshold_ms != 0) return 13;
  lw_set_weight(loop, 1);
  lw_set_weight(NULL, 1);
  lw_note_queued(loop);
  lw_note_run(loop);
  lw_trace_begin("part");
  lw_trace_end("part");
  lw_scope_begin(loop, "scope", 100);
  lw_scope_end(loop);
  lw_scope_end(loop);
  lw_idle_begin(loop);
  lw_idle_end(loop);
  lw_input_received(loop);
  lw_input_finished(loop);
  lw_scope_begin(NULL, "scope", 100);
  lw_scope_end(NULL);
  lw_idle_begin(NULL);
  lw_idle_end(NULL);
  lw_input_received(NULL);
  lw_input_finished(NULL);
  lw_note_queued(NULL);
  lw_note_run(NULL);
  lw_set_refresh_interval(loop, 16666667);
  lw_frame_begin(loop, 0);
  lw_frame_stage(loop, LW_STAGE_DRAW);
  lw_frame_end(loop);
  lw_frame_end(loop);
  lw_set_refresh_interval(NULL, 0);
  lw_frame_begin(NULL, 0);
  lw_frame_stage(NULL, LW_STAGE_DRAW);
  lw_frame_end(NULL);
  lw_dispatch_begin(loop, "timed");
  lw_dispatch_end(loop);
  lw_dispatch_begin_counted(loop, "counted");
  lw_dispatch_begin_counted(loop, "nested");
  lw_dispatch_end_counted(loop);
  if (loop->begun != 2 || loop->ended != 1) return 6;
  lw_dispatch_end_counted(loop);
  if (loop->begun != 2 || loop->ended != 2) return 7;
  lw_dispatch_begin(NULL, "no loop");
  lw_dispatch_end(NULL);
  lw_dispatch_begin_counted(NULL, "no loop");
  lw_dispatch_end_counted(NULL);
  lw_stats_init(&stats);
  lw_get_stats(&stats);
  if (stats.hangs != 0) return 8;
  lw_last_exit_init(&last_exit);
  if (last_exit.struct_size_bytes != sizeof last_exit) return 11;
  if (lw_get_last_exit(&last_exit) != 0) return 12;
  if (lw_dump_now("c") != 1) return 14;
  if (lw_dump_now(NULL) != 0) return 15;
  lw_set_scene("c");
  lw_set_scene(NULL);
  lw_set_foreground(0);
  lw_set_foreground(1);
  lw_unwatch_loop(loop);
  lw_unwatch_loop(NULL);
  lw_withdraw_start();
  lw_ready();
  lw_stop(0);
  lw_stop(0);
  lw_withdraw_start();
  lw_ready();
  if (strlen(lw_why_off()) == 0) return 9;
  if (lw_dump_now("off") != 0) return 16;
  if (strlen(lw_version()) == 0) return 10;
  return 0;
}
