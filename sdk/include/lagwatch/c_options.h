/* SPDX-License-Identifier: Apache-2.0 */
/* The monitor's options. Written by lagwatch-schema from policies/options/options.def. */
#ifndef LAGWATCH_C_OPTIONS_H_
#define LAGWATCH_C_OPTIONS_H_

#include <lagwatch/c_types.h>

/* Filled in by lw_options_init(). Values outside of their range are clamped to it; switches are off (0) by
 * default. */
typedef struct lw_options {
  size_t struct_size_bytes;

  /* -- Used by most programs. */
  /* The program's name in reports. Default: the program's file name. */
  const char* app;
  /* The program's version. Default: empty. */
  const char* app_version;
  /* The collector's URL, or sentry: and a DSN. file:///directory receives one file per batch; a Sentry
   * project receives one event per hang. Default: empty: reports stay on disk; http://, https://,
   * file:///, sentry:. */
  const char* endpoint;
  /* The collector's key for this project. Default: empty; no blanks. */
  const char* key;
  /* The affected user, as a pseudonym. Default: empty. */
  const char* user;
  /* The spool directory, where reports wait. It is created if it does not exist. All programs of the user
   * share the default: one with an endpoint also sends the reports of the others, see docs/privacy.md. The
   * monitor stays off if the directory is a symbolic link, belongs to another user or is writable by
   * others. Default: lagwatch/spool in $XDG_STATE_HOME or ~/.local/state; without a home directory
   * /tmp/lagwatch-UID. */
  const char* spool_directory;
  /* A dispatch longer than this is a hang. Default: 2000; 16 to 3600000. */
  uint32_t threshold_ms;
  /* A hang longer than this is an ANR. Default: 5000; 16 to 3600000; 0: off. */
  uint32_t anr_threshold_ms;
  /* Callbacks for hangs. Context and callbacks must stay until lw_stop() has returned. Default: none. */
  lw_listener listener;

  /* -- Other hangs, and how they are looked at. */
  /* A longer idle handler is reported. Default: 2000; 16 to 3600000. */
  uint32_t idle_handler_threshold_ms;
  /* A longer input event is reported. Default: 2000; 16 to 3600000. */
  uint32_t input_threshold_ms;
  /* A longer frame is reported. Default: 120; 16 to 3600000; 0: off. */
  uint32_t slow_frame_ms;
  /* A longer dispatch is passed to the listener. Default: 250; 16 to 3600000; 0: never. */
  uint32_t sensitive_ms;
  /* Time between two checks of one hang, before they become rarer. Default: 1000; 1 to 3600000. */
  uint32_t check_period_ms;
  /* Time between two samples of a busy loop's stack. Default: 50; 1 to 3600000. */
  uint32_t sample_interval_ms;
  /* Number of samples per check. Default: 20; 1 to 100. */
  uint32_t ring_size;
  /* The sample that represents a busy loop: path (the newest on the heaviest path from the outermost call
   * inwards) or leaf (of the innermost function seen most often). Default: LW_EXPENSIVE_PATH; an
   * lw_expensive. */
  uint32_t expensive;
  /* Time between two records of the loops' usage. Default: 3600; 60 to 86400; 0: never. */
  uint32_t usage_period_s;

  /* -- Slow dispatches that are no hangs. */
  /* Not 0: reports slow dispatches, too, with a tree of the calls that took their time. The report's kind
   * is slow, its tree made of recorded calls (lw_trace_begin(), instrumented functions) and of samples;
   * see docs/detection.md. At most one per dump_interval_ms. Records as trace does, with its interval,
   * buffer and hooks, even if trace is off. */
  uint32_t slow_reports;
  /* A dispatch longer than this is slow. It is listed in the history with its CPU time. Default: 700; 1 to
   * 3600000. */
  uint32_t slow_dispatch_ms;

  /* -- The program's start. */
  /* Selects whether the program's start is watched. Default: LW_START_UNWATCHED; an lw_start_kind. */
  uint32_t start;
  /* A longer cold start is reported. Default: 10000; 16 to 3600000. */
  uint32_t cold_start_ms;
  /* A longer warm start is reported. Default: 4000; 16 to 3600000. */
  uint32_t warm_start_ms;

  /* -- Reports of CPU use, kinds cpu and cpu-average. */
  /* Not 0: reports excessive CPU use. */
  uint32_t watch_cpu;
  /* Limit for one second. Default: 80; 1 to 100; 0: off. */
  uint32_t cpu_percent;
  /* Limit for the average over a window in the foreground. Default: 80; 1 to 100; 0: off. */
  uint32_t cpu_average_percent;
  /* Limit for the average over a window in the background. Default: 20; 1 to 100; 0: off. */
  uint32_t cpu_background_percent;
  /* Length of the window. Default: 60000; 1000 to 3600000. */
  uint32_t cpu_window_ms;

  /* -- Traces of the time before a hang. */
  /* Not 0: records the stacks of all threads continuously, in a ring, and attaches a trace to each report
   * of a hang. Reports of CPU use, slow frames and dumps have one, too; lw_trace_now() requests one
   * without a report. See docs/tracing.md. */
  uint32_t trace;
  /* Time between two samples of a running thread. Default: 10; 1 to 100. */
  uint32_t trace_interval_ms;
  /* Not 0: also captures stacks inside hooked calls (malloc, locks, I/O). The import tables of all modules
   * are rewritten for it: see docs/design/trace_hooks.md. */
  uint32_t trace_hooks;
  /* Length of a trace before the hang. Default: 10; 0 to 600. */
  uint32_t trace_before_s;
  /* A dispatch longer than this gets a trace, even if it is no hang. At most one per dump_interval_ms.
   * Default: 0; 16 to 3600000; 0: off. */
  uint32_t trace_slow_ms;
  /* Memory for the recording. Half is for distinct stacks, a quarter for the main thread's samples, an
   * eighth for those of the other threads, an eighth for calls; the oldest is overwritten. Default: 8192;
   * 1024 to 262144. */
  uint32_t trace_buffer_kib;
  /* A larger trace is shortened at its begin. Default: 256; 4 to 900. */
  uint32_t trace_max_kib;
  /* Modules whose function calls are recorded, too, if they were built with -fpatchable-function-entry.
   * Their code is patched while the program runs: see docs/design/trace_instrument.md. Calls of functions
   * built with -finstrument-functions, and parts named by lw_trace_begin(), are recorded in any case.
   * Default: empty; file names or patterns (*, ?), separated by commas. */
  const char* trace_patch;

  /* -- Dumps, as by lw_dump_now(). */
  /* A signal (such as USR2) that requests a dump. The program's own handler for it is called, too; without
   * one, the signal has no other effect. SIGKILL, SIGSTOP and signals that a program must not continue
   * after (SIGSEGV and similar ones) are treated as 0. Default: 0: none; a signal. */
  int32_t dump_signal;
  /* Shortest time between two dumps. Default: 10000; 0 to 3600000. */
  uint32_t dump_interval_ms;

  /* -- Sending of reports; reports that are not sent are counted, and the counts are sent. */
  /* Fraction of users who send reports on a given day, in parts per million. Default: 50000; 0 to 1000000;
   * 1000000: all. */
  uint32_t user_rate_ppm;
  /* Reports to send per user and day. The last ones are reserved for important reports. Default: 20; from
   * 0; 4294967295: all. */
  uint32_t reports_per_day;
  /* Of these, reports to send per cause. Default: 3; from 0; 4294967295: all. */
  uint32_t reports_per_cause;
  /* Reports of slow dispatches to send per user and day. At most 2 are of one cause; they do not count for
   * reports_per_day. Default: 5; from 0; 4294967295: all. */
  uint32_t slow_reports_per_day;
  /* Traces to send per user and day. Each is sent with its report; at most 2 are of one cause, and at most
   * 4 MiB in total. Default: 5; from 0; 4294967295: all. */
  uint32_t traces_per_day;
  /* Not 0: sends nothing on a metered network. lw_set_network() sets which one the program is on. */
  uint32_t unmetered_only;
  /* Certificates, one of which must have signed the server's. Default: empty: the system's store; a PEM
   * file. */
  const char* ca_file;
  /* The proxy's URL. Default: empty: from the environment (https_proxy, no_proxy, …);
   * http://host:port. */
  const char* proxy;
  /* The program's own function that sends batches, used in place of endpoint. Default: none. */
  lw_transport transport;
  /* The public key that signs the collector's config: lagwatch-collector --print-public-key. If it is
   * invalid, nothing is sent. The config is fetched from an http:// or https:// endpoint only. Default:
   * empty: no remote config; 64 hexadecimal digits. */
  const char* config_key;

  /* -- Privacy. */
  /* The user's consent, without which nothing is watched, kept or sent. lw_set_consent() changes it at any
   * time. Default: LW_CONSENT_GIVEN; an lw_consent. */
  uint32_t consent;
  /* Patterns of text to remove from tags, thread names and other texts before they are written. One per
   * line, in addition to the built-in ones (docs/privacy.md); '*' matches any run without blanks, '?' any
   * byte. Default: empty; 8 lines of 63 bytes. */
  const char* scrub_tags;
  /* The key that reports are sealed with: lagwatch-collector --print-seal-key. Only that collector can
   * then read what is written and sent; see docs/design/sealing.md. If it is invalid, the monitor stays
   * off and nothing is written. Default: empty: nothing is sealed; 64 hexadecimal digits. */
  const char* seal_key;

  /* -- The process and its system. */
  /* The signal that captures stacks. If the program replaces its handler later, lagwatch uses another
   * signal. Default: 0: an unused one; a real-time signal. */
  int32_t capture_signal;
  /* Selects the records that are synced to disk at once: see docs/spool_format.md. Default:
   * LW_SPOOL_SYNC_HANGS; an lw_spool_sync. */
  uint32_t spool_sync;
  /* Not 0: notifies systemd's watchdog while no loop hangs, in place of the program. "WATCHDOG=1" is sent
   * twice in the unit's WatchdogSec=, which should be well above the thresholds: systemd restarts a
   * program that stays frozen for so long, also after lw_stop(), or when the spool's disk hangs. Uses
   * NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID of the environment; without them nothing is sent, and an
   * idle program is never woken for it. */
  uint32_t feed_systemd;
  /* Not 0: the program's seccomp filters, now and later, allow lagwatch's system calls.
   * docs/configuration.md lists them. Otherwise lw_start() leaves the monitor off in a confined program,
   * except where the first process of the pid namespace has as many filters, as in a container; and a
   * program that confines itself must call lw_stop() first. */
  uint32_t seccomp_allows_lagwatch;
  /* Called once by lw_start(), on its thread, if the last run left a record. Default: none. */
  lw_on_last_exit on_last_exit;
  /* Passed to on_last_exit. Default: none. */
  void* on_last_exit_context;
  /* The program's own function that reads stacks of managed code, such as Java's. Default: none. */
  lw_scripts scripts;
  /* Not 0: leaves out the names, threads and stacks of other processes that a thread waits for, the names
   * of those that use the processors, and the servers of file systems. Their process ids stay. Those of
   * other users are always left out: see docs/design/peers.md. */
  uint32_t hide_peers;

  /* -- Sending of reports; reports that are not sent are counted, and the counts are sent. */
  /* The user's proof for the allowlist, sent with the request for the config. Default: empty; 32
   * hexadecimal digits. */
  const char* user_proof;

  /* -- Other hangs, and how they are looked at. */
  /* A dispatch that spends longer than this in calls that use files makes a report of kind io: opens,
   * reads, writes, syncs, look-ups, locks and name lookups. The import tables of all modules are rewritten
   * for it; see docs/detection.md. Default: 0; 1 to 3600000; 0: off. */
  uint32_t io_watch_ms;
  /* So many calls that name a file's path in one dispatch make a report, too, however short they are; with
   * io_watch_ms only. Default: 1000; 1 to 1000000; 0: any number. */
  uint32_t io_watch_calls;
  /* Keys of lw_set_value(), with commas between them, by whose values the hang rate is counted: an
   * experiment, a kind of document. scene is that of lw_set_scene(). A run has 32 values of each key;
   * later ones count as (others). See docs/analysis.md. Default: empty; 4 keys of 32 bytes. */
  const char* usage_keys;

  /* -- Traces of the time before a hang. */
  /* The rules of the functions that trace_patch records. If the file cannot be read, or has a mistake,
   * nothing is patched. Default: empty: instrument.rules beside the program; a file's path. */
  const char* trace_rules;
} lw_options;

#endif /* LAGWATCH_C_OPTIONS_H_ */
