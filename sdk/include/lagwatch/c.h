/* SPDX-License-Identifier: Apache-2.0 */
/* lagwatch's C interface: the library's whole ABI.
 *
 * Rules that hold for every function:
 * - Nothing here ever fails the program: what cannot work is off, and lw_why_off() says why.
 * - Strings are UTF-8 and are copied, unless a function says otherwise. NULL stands for an empty string.
 * - Structs begin with their size, so that they can grow: fill them with their _init function.
 * - "hot" functions are wait-free, allocate nothing and make no system call, but for what the end of a
 * dispatch longer than 1 ms does, and one read of the thread's CPU clock in 100 ms at most.
 */
#ifndef LAGWATCH_C_H_
#define LAGWATCH_C_H_

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#error "lagwatch runs on Linux"
#endif
#define LW_API __attribute__((visibility("default")))

#ifdef __cplusplus
#define LW_NOEXCEPT noexcept
extern "C" {
#else
#define LW_NOEXCEPT
#endif

/* A watched loop. Belongs to the library and stays valid until the thread that watches it ends, whether or
 * not the monitor is on. The members are for the inline functions below and nobody else; their places are
 * part of the ABI. */
typedef struct lw_loop {
  uint64_t begun;
  uint64_t ended;
  uint64_t begin_ticks;
  const char* tag;
  uint64_t nested;
  uint32_t is_watchdog_asleep;
} lw_loop;

typedef enum lw_status {
  LW_OK = 0,
  LW_ALREADY_STARTED = 1, /* the first start's options stay in force */
  LW_OFF = 2              /* could not start: see lw_why_off() */
} lw_status;

/* Whether the user wants lagwatch to watch. */
typedef enum lw_consent {
  LW_CONSENT_GIVEN = 0,
  LW_CONSENT_NOT_GIVEN = 1 /* nothing is watched, kept or sent; no file, no thread */
} lw_consent;

/* As in reports; others may be added. */
typedef enum lw_kind {
  LW_KIND_LAG = 1, /* also before lw_ready(), where reports say "startup-lag" */
  LW_KIND_BUSY_LOOP = 2,
  LW_KIND_WAITED = 3,
  LW_KIND_IDLE_HANDLER = 4,
  LW_KIND_INPUT = 5,
  LW_KIND_SCOPE = 6,
  LW_KIND_FRAME = 9 /* "frames" in reports */
} lw_kind;
typedef enum lw_level { LW_LEVEL_LAG = 0, LW_LEVEL_ANR = 1 } lw_level;

/* What a listener is told. Valid during the call only. */
typedef struct lw_lag {
  size_t struct_size_bytes;
  const char* loop;
  const char* tag; /* may be empty */
  int32_t tid;
  lw_kind kind;
  lw_level level;
  uint64_t threshold_ns;
  uint64_t elapsed_ns; /* so far; in lag_end, in all */
} lw_lag;

/* Why a check that found a lag going on made no report; others may be added. */
typedef enum lw_filtered {
  LW_FILTERED_UNCHANGED_STACK = 1, /* the lag was reported with this stack */
  LW_FILTERED_REPORT_LIMIT = 2,    /* the lag has as many reports as one may have */
  LW_FILTERED_REPORT_LOST = 3      /* the report did not reach the disk */
} lw_filtered;

/* Called on a thread of the library's that shares the program's descriptors, all of them, after the report is
 * on disk; nothing is watched until they return. The loop that hangs may hold any lock, the allocator's too:
 * a callback that needs one waits as long as the loop does. They must not throw, nor start or stop the
 * monitor, and every signal is blocked. Any may be NULL. */
typedef struct lw_listener {
  void* context; /* passed to each */
  /* A lag was found; and again, with LW_LEVEL_ANR, when it passes the second threshold. */
  void (*lag_begin)(void* context, const lw_lag* lag);
  /* It is over: once a lag, not of one that goes on while the monitor stops. */
  void (*lag_end)(void* context, const lw_lag* lag);
  void (*lag_filtered)(void* context, const lw_lag* lag, lw_filtered why);
  /* A dispatch longer than sensitive_ms has ended: its name and its whole duration, no more. Of every such
   * dispatch with a time stamp, be it a lag or not, in their order. Told when the watchdog looks next, which
   * it does not do any earlier for this: by default within a second, and after an idle time once the loop's
   * next dispatch begins; at the latest by lw_stop(). Of more than 200 between two looks the oldest are lost.
   * The loop notes them when they end, in about 1.5 us. */
  void (*sensitive)(void* context, const lw_lag* dispatch);
} lw_listener;

/* What a frame's time goes into. */
typedef enum lw_stage {
  LW_STAGE_OTHER = 0, /* what is not told; each frame begins with it */
  LW_STAGE_INPUT = 1,
  LW_STAGE_ANIMATION = 2,
  LW_STAGE_LAYOUT = 3,
  LW_STAGE_DRAW = 4,
  LW_STAGE_SUBMIT = 5 /* handing it over to the display */
} lw_stage;

/* How a run of the program ended. */
typedef enum lw_exit_reason {
  LW_EXIT_UNKNOWN = 0,       /* it vanished: killed, or ended by _exit() or a signal that nobody told of */
  LW_EXIT_CLEAN = 1,         /* by lw_stop(), exit() or the end of main() */
  LW_EXIT_KILLED_IN_LAG = 2, /* it vanished while a loop was frozen */
  LW_EXIT_OOM_KILL = 3,      /* killed by the kernel, which had run out of memory */
  LW_EXIT_UPDATE = 4,        /* it vanished, and now is another build or version */
  LW_EXIT_REBOOT = 5,        /* the machine was started anew */
  LW_EXIT_CRASH = 6,         /* lw_note_crash() told so, and no loop was frozen */
  LW_EXIT_STOPPED = 7,       /* lw_note_stop() told so, and no loop was frozen */
  LW_EXIT_CRASH_IN_LAG = 8,  /* lw_note_crash() told so while a loop was frozen */
  LW_EXIT_HANG_IN_CRASH = 9  /* a loop froze after lw_note_crash(): the crash handler did not come to an end */
} lw_exit_reason;

/* Texts are cut to their arrays and always terminated. */
typedef struct lw_last_exit {
  size_t struct_size_bytes;
  int32_t reason;     /* an lw_exit_reason */
  int32_t signal;     /* of a crash, else 0 */
  int32_t was_in_lag; /* whatever the reason: a loop was frozen */
  int32_t unused;
  uint64_t lag_ms; /* how long that had lasted when it was last seen: a lower bound */
  uint64_t last_seen_wall_ms;
  char loop[65];  /* that was frozen; empty when none was */
  char scene[65]; /* see lw_set_scene() */
  char app_version[65];
  char session_id[37];
  char report_id[37]; /* the first report of that lag; empty when there is none */
} lw_last_exit;

/* What is known of the program's start. */
typedef enum lw_start_kind {
  LW_START_UNWATCHED = 0, /* the program never calls lw_ready() */
  /* It does. The start is warm when the same build ran on this machine up to ten minutes ago, and the machine
   * was not started anew since: told by the record of the last run that has ended, so cold when in doubt. */
  LW_START_WATCHED = 1,
  LW_START_COLD = 2, /* it does, and knows better */
  LW_START_WARM = 3
} lw_start_kind;

/* Of the samples of a busy loop, the one that its report shows. */
typedef enum lw_expensive {
  LW_EXPENSIVE_PATH = 0, /* the newest on the heaviest path from the outermost call inwards */
  LW_EXPENSIVE_LEAF = 1  /* the newest of the innermost function seen most often */
} lw_expensive;

/* Which records the disk is made to take at once, by a thread of lagwatch's own. A record outlives the
 * program in any case; this is about power cuts and crashes of the machine, which may else cost the last half
 * minute. */
typedef enum lw_spool_sync {
  LW_SPOOL_SYNC_NEVER = 0, /* no thread, and no disk is made busy */
  LW_SPOOL_SYNC_LAGS = 1,  /* a lag's first report, and its end */
  LW_SPOOL_SYNC_ALL = 2
} lw_spool_sync;

/* How the program itself sends what lagwatch would: to where it sends everything else, say. */
typedef struct lw_transport {
  void* context; /* passed to `post`; both must stay until lw_stop() has returned */
  /* Posts `body` as it is (a gzipped lagwatch.Batch, for the collector's POST /v1/reports) and returns the
   * HTTP status of the answer, 0 when there was none. Copies the answer's body to `answer` and sets
   * `*answer_size_bytes`, which holds how much fits, to its size. 2xx with an empty one means that the
   * program has taken over the batch for good. Called on a thread of the library's that shares the program's
   * descriptors, every signal blocked; must not throw, nor start or stop the monitor. lw_stop() waits until
   * it returns. NULL: not used. */
  int (*post)(void* context, const void* body, size_t body_size_bytes, char* answer,
              size_t* answer_size_bytes);
} lw_transport;

/* See lw_set_network(). */
typedef enum lw_network { LW_NETWORK_UNMETERED = 0, LW_NETWORK_METERED = 1, LW_NETWORK_NONE = 2 } lw_network;

typedef void (*lw_on_last_exit)(const lw_last_exit* last_exit, void* context);

typedef struct lw_options {
  size_t struct_size_bytes;
  const char* app;         /* default: the program's file name */
  const char* app_version; /* default: empty */
  const char* user;        /* who is affected, as a pseudonym; default: empty */
  /* The collector, "https://host:port"; or "file:///directory" for a file a batch; or "sentry:" and the DSN
   * of a Sentry project, which gets an event for each hang. Default: empty, reports stay on disk. */
  const char* endpoint;
  const char* key; /* the collector's key for this project */
  /* Default: $XDG_STATE_HOME or ~/.local/state, then lagwatch/spool; without a home /tmp/lagwatch-UID. The
   * default is shared by all programs of the user: whoever has an endpoint sends what waits there. Made if
   * need be. The monitor stays off when it is a symbolic link, belongs to another user or can be written to
   * by others. */
  const char* spool_directory;
  uint32_t threshold_ms;       /* a dispatch longer than this is a lag: 16 to 3600000, default 2000 */
  uint32_t check_period_ms;    /* between two checks of one lag, before they become rarer: default 1000 */
  uint32_t sample_interval_ms; /* between two stack samples of a busy loop: default 50 */
  uint32_t ring_size;          /* samples that a check looks at: 1 to 100, default 20 */
  /* A signal number, or 0 to choose an unused real-time signal; if somebody else takes its handler later,
   * another is used. */
  int32_t capture_signal;
  /* Also 16 to 3600000; for the second threshold, 0 stands for none. */
  uint32_t anr_threshold_ms;          /* a longer lag is an ANR: default 5000 */
  uint32_t idle_handler_threshold_ms; /* a longer idle handler is reported: default 2000 */
  uint32_t input_threshold_ms;        /* so is a longer input event: default 2000 */
  uint32_t slow_dispatch_ms; /* a longer one has its CPU time in a history, see slow_reports: default 700 */
  lw_listener
      listener; /* context and callbacks must stay until lw_stop() has returned; default: nobody listens */
  /* Called once by lw_start, on its thread, if a last run left a record. */
  lw_on_last_exit on_last_exit;
  void* on_last_exit_context;
  /* A signal that makes a dump, as lw_dump_now() does; default: 0, none. A handler that the program has for
   * it is called, too; without one the signal does nothing else any more. What a program must not just go on
   * after (SIGSEGV and the like), SIGKILL and SIGSTOP are as good as 0. */
  int32_t dump_signal;
  uint32_t dump_interval_ms; /* one dump in so long at most: 0 to 3600000, default 10000 */
  /* Not 0: while no loop is in a lag, the service manager is told that the program is well, every half of
   * the unit's WatchdogSec= (sd_notify's "WATCHDOG=1"; NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID in the
   * environment). So systemd restarts a program that stays frozen for WatchdogSec=, which should be well
   * above the thresholds; it does so, too, when lw_stop() was called, or when the spool's disk hangs.
   * Default: 0; then, or where no manager waits, nothing is sent and an idle program is never woken for it.
   * Takes the place of the program's own WATCHDOG=1. */
  int32_t feed_systemd;
  /* Reports "cpu" and "cpu-average", described below. Percentages: 1 to 100, or 0: nothing is too much. */
  uint32_t watch_cpu;              /* not 0: on; default: off */
  uint32_t cpu_percent;            /* more than this in one second is reported: default 80 */
  uint32_t cpu_average_percent;    /* so is more than this on average over a window: default 80 */
  uint32_t cpu_background_percent; /* the same while the application is in the background: default 20 */
  uint32_t cpu_window_ms;          /* 1000 to 3600000, default 60000 */
  uint32_t slow_frame_ms;          /* a longer frame is reported: 16 to 3600000, default 120; 0: none is */
  uint32_t start;                  /* an lw_start_kind: default LW_START_UNWATCHED */
  uint32_t cold_start_ms;          /* a longer cold start is reported: 16 to 3600000, default 10000 */
  uint32_t warm_start_ms;          /* likewise, a warm one: default 4000 */
  uint32_t sensitive_ms;           /* see lw_listener: 16 to 3600000, default 250; 0: never */
  uint32_t usage_period_s;         /* see "usage" below: 60 to 86400, default 3600; 0: never */
  uint32_t consent;                /* an lw_consent: default LW_CONSENT_GIVEN; see lw_set_consent() */
  /* The key that the collector's config is known by (`lagwatch-collector --print-public-key`): 64 hexadecimal
   * digits. Default: empty, no remote config. With one that is none, nothing is sent. */
  const char* config_key;
  /* What is taken out of tags, thread names and other texts before they are written, besides what always is
   * (docs/privacy.md): up to 8 patterns of up to 63 bytes, one a line; '*' stands for any run without blanks,
   * '?' for any byte. Default: empty. */
  const char* scrub_tags;
  uint32_t spool_sync; /* an lw_spool_sync: default LW_SPOOL_SYNC_LAGS */
  /* The key that reports are sealed with (`lagwatch-collector --print-seal-key`): 64 hexadecimal digits. What
   * is written and sent can then be read by that collector alone; docs/design/sealing.md tells what that
   * costs. Default: empty, nothing is sealed. With one that is none the monitor stays off, and nothing is
   * written. */
  const char* seal_key;
  /* What is sent, with an endpoint or a transport. The rest is counted, and the counts are sent. */
  uint32_t user_rate_ppm;     /* of a million users, so many a day, each day others: default 50000, 5 % */
  uint32_t reports_per_day;   /* of a user: default 20, the last for what matters most; UINT32_MAX: all */
  uint32_t reports_per_cause; /* of these: default 3; UINT32_MAX: all */
  uint32_t unmetered_only;    /* not 0: nothing on a metered network, see lw_set_network(); default 0 */
  const char* ca_file; /* PEM: whom none of these certifies is not talked to; default: the system's store */
  const char* proxy;   /* "http://host:port"; default: as the environment says (https_proxy, no_proxy, …) */
  lw_transport transport; /* in the endpoint's place; default: none */
  /* Not 0: the stacks of all threads are recorded all the time, the oldest being forgotten, and a report
   * comes with a trace of what led to it. Default: 0, off. */
  uint32_t trace;
  uint32_t trace_interval_ms; /* between two looks at a thread that runs: 1 to 100, default 10 */
  /* Not 0: threads look at themselves, too, in calls that they make anyway (malloc, locks, input and output,
   * …), for which the import tables of all modules are rewritten. Default: 0. */
  uint32_t trace_hooks;
  uint32_t trace_before_s; /* how much of what came before a lag is in its trace: 0 to 600, default 10 */
  uint32_t
      trace_slow_ms; /* a dispatch longer than this gets one, too, if it is no lag: 16 on; default 0, none */
  uint32_t trace_buffer_kib; /* memory for what is recorded: 1024 to 262144, default 8192 */
  uint32_t trace_max_kib;    /* a larger trace is made shorter: 4 to 900, default 256 */
  uint32_t traces_per_day;   /* that are sent of a user, of reports that are: default 5; UINT32_MAX: all */
  /* Not 0: each seccomp filter that confines the program, now or later, allows the system calls that
   * docs/configuration.md lists. Default: 0. Then lw_start() leaves the monitor off in a confined program,
   * except where the first process of the pid namespace has as many filters, as in a container; and a program
   * that confines itself calls lw_stop() before. */
  uint32_t seccomp_allows_lagwatch;
  /* Which sample of a busy loop is shown as the expensive stack: default LW_EXPENSIVE_PATH. */
  uint32_t expensive; /* an lw_expensive */
  /* With `trace`: modules whose functions' calls are recorded, too, where they are built with
   * -fpatchable-function-entry; file names or patterns ('*', '?'), separated by commas. Their code is changed
   * while the program runs. Default: empty, none. Calls of functions built with -finstrument-functions, and
   * parts that lw_trace_begin() names, are recorded in any case. */
  const char* trace_patch;
  /* Not 0: a dispatch that took longer than slow_dispatch_ms and was no lag is reported, kind "slow", with a
   * tree of the calls that took its time: those that are recorded (lw_trace_begin(), instrumented functions),
   * else those that samples of its thread saw. One in dump_interval_ms at most. Records what `trace` does,
   * with its interval, buffer and hooks, also where `trace` is off. Default: 0. */
  uint32_t slow_reports;
  uint32_t slow_reports_per_day; /* of these so many are sent of a user a day: default 5; UINT32_MAX: all */
} lw_options;

typedef struct lw_thresholds {
  uint32_t threshold_ms;
  uint32_t anr_threshold_ms; /* 0: off */
} lw_thresholds;

typedef struct lw_stats {
  size_t struct_size_bytes;
  uint64_t lags;
  uint64_t reports_written;
  uint64_t reports_dropped; /* did not reach the disk */
  uint64_t reports_uploaded;
  uint64_t unchanged_checks; /* checks of a lag that found the stack unchanged */
  uint64_t stack_samples;
  uint64_t capture_signals_sent;
  uint64_t capture_timeouts;
  uint64_t stacks_incomplete;
  uint64_t loops_refused; /* more loops than can be watched at once (64) */
  /* Starts after which the end of the run cannot be told: no disk space, say. */
  uint64_t run_records_failed;
  uint64_t dumps;         /* reports that were asked for; among reports_written, too */
  uint64_t dumps_refused; /* asked for too soon after another */
  uint64_t watchdog_cpu_ns;
  uint64_t capture_pause_ns; /* that threads of the program spent in the capture signal's handler */
  uint64_t handler_lost;     /* how often somebody else was found to have taken that handler */
  uint64_t handler_moved;    /* … and captures went on with another signal */
  uint64_t service_feeds;    /* sent to the service manager; see feed_systemd */
  uint64_t service_feeds_failed;
  /* Why there is no report of what could have been one; see also unchanged_checks and reports_dropped. */
  uint64_t reports_over_limit;    /* the lag has as many as one may have */
  uint64_t reports_too_large;     /* of those that were dropped, not for the disk's sake */
  uint64_t checks_under_debugger; /* left out, because a debugger may have made the lag */
  uint64_t lags_stopped;     /* it took so long only because the process was stopped, or the machine slept */
  uint64_t lags_ended_first; /* over the threshold, and over before it could be looked at */
  uint64_t slow_dispatches_lost; /* not counted, nor told to a listener: too many at once */
  uint64_t usage_records;        /* written */
  uint64_t reports_removed;      /* written, and removed because nobody sent 64 MiB of this run's */
  uint64_t spool_no_space;       /* writes that the system refused: disk, quota or file size limit are full */
  uint64_t spool_forbidden;      /* … read-only, or not permitted */
  uint64_t spool_io_errors;      /* … the disk failed, or a write was cut short */
  uint64_t spool_other_errors;   /* … no directory, no descriptors */
  uint64_t spool_syncs;          /* of segments; see spool_sync */
  uint64_t spool_syncs_failed;
  /* Reports on disk that were not sent, and why; of all programs that share the spool directory. */
  uint64_t reports_not_sampled;      /* the user is not of the day's share: user_rate_ppm */
  uint64_t reports_past_day_quota;   /* reports_per_day */
  uint64_t reports_past_cause_quota; /* reports_per_cause */
  uint64_t reports_too_old;          /* after a week on disk */
  uint64_t reports_past_disk_limit;
  uint64_t reports_refused;    /* by the collector; kept in .rejected files for a while */
  uint64_t reports_damaged;    /* files with damage, rather: how many reports that was is not known */
  uint64_t reports_turned_off; /* the collector wants none */
  uint64_t traces_written;
  uint64_t traces_dropped; /* not written: too many at once, nothing was recorded, or no room on disk */
  uint64_t
      memory_failures; /* calls and threads of lagwatch's that ended early, because there was no memory */
} lw_stats;

/* Fills in sizes and defaults. */
LW_API void lw_options_init(lw_options* options) LW_NOEXCEPT;
LW_API void lw_stats_init(lw_stats* stats) LW_NOEXCEPT;
LW_API void lw_last_exit_init(lw_last_exit* last_exit) LW_NOEXCEPT;

/* Starts the monitor: a watchdog thread and, with an endpoint, an upload thread. Values out of their range
 * are brought into it. After fork() the child's monitor is off until the child starts one. May block (it
 * creates the spool directory); not for signal handlers. */
LW_API lw_status lw_start(const lw_options* options) LW_NOEXCEPT;
/* Stops it, giving the upload of what is on disk up to `flush_timeout_ms`. A loop in a dispatch goes on
 * undisturbed. Harmless when the monitor is off. To be called before seccomp(2) (see
 * seccomp_allows_lagwatch), and before unshare(2) and setns(2) with namespaces that the kernel refuses to a
 * process with several threads (user, mount, time); after the latter lw_start() may follow. */
LW_API void lw_stop(uint32_t flush_timeout_ms) LW_NOEXCEPT;
/* What the user says of it: an lw_consent, which takes the place of the option's from now on. Given: a
 * monitor that waits for it starts, with the options of the last lw_start(). Taken back: the monitor stops at
 * once, what waits is not sent, and what lagwatch keeps for this program (`app`, on this machine) in the
 * spool directory of the last lw_start() is erased. Returns as lw_start() does. May block; not for signal
 * handlers nor callbacks. */
LW_API lw_status lw_set_consent(lw_consent consent) LW_NOEXCEPT;
/* Which network the program is on now; at first, an unmetered one. On LW_NETWORK_NONE nothing is tried; what
 * is on disk waits. Any thread, with the monitor on or off; wait-free. */
LW_API void lw_set_network(lw_network network) LW_NOEXCEPT;
/* Why the monitor is off, for a log line; empty when it is on. Valid until this thread's next call. */
LW_API const char* lw_why_off(void) LW_NOEXCEPT;
/* Cumulative since the process began to use the library; readable at any time, from any thread. */
LW_API void lw_get_stats(lw_stats* stats) LW_NOEXCEPT;
/* "0.1.0". Static. */
LW_API const char* lw_version(void) LW_NOEXCEPT;

/* How the program's last run ended: 1, or 0 when the monitor was not started yet or no run of this app and
 * program left a record. */
LW_API int lw_get_last_exit(lw_last_exit* last_exit) LW_NOEXCEPT;
/* Makes a report of kind "dump": what every thread is doing now, though nothing may be wrong, and also while
 * a loop is in a lag. The watchdog's thread makes it soon after the call has returned, when it is done with
 * what it is at: 1 means that, 0 that there will be none, because the monitor is off or a dump was asked for
 * within dump_interval_ms before (stats: dumps_refused). `reason` (cut to 127 bytes) is the report's tag. The
 * report is of the loop that is in a lag, else of the first that is watched, else of the main
 * thread; no listener is told. From any thread; waits for nobody; not for signal handlers: see dump_signal.
 */
LW_API int lw_dump_now(const char* reason) LW_NOEXCEPT;
/* With the option `trace`: writes a trace of what all threads did in the last trace_before_s, without a
 * report. A thread of lagwatch's makes it soon after the call has returned: 1 means that, 0 that there will
 * be none, because nothing is recorded or one was asked for within dump_interval_ms before. (A dump comes
 * with a trace of its own.) From any thread; may wait while the monitor starts; not for signal handlers. */
LW_API int lw_trace_now(void) LW_NOEXCEPT;

/* What the program is at, for the record of this run: a screen, a document type. Copied, cut to 64 bytes. Any
 * thread, also in signal handlers; waits for nobody. The record has it at the watchdog's next look: soon
 * after the dispatch that sets it, or else once a loop's next dispatch has begun. */
LW_API void lw_set_scene(const char* scene) LW_NOEXCEPT;

/* A value of the program's own, that every report from now on has among its facts, as "app.KEY": a document's
 * size, the number of open tabs. Both are copied, the value cut to 64 bytes; null or "" takes it away. 1 when
 * it is kept; 0 when the key is empty or longer than 32 bytes, or when 16 others have been used. Any thread,
 * with the monitor on or off; the watchdog waits for nobody when it reads them. The first use of a key takes
 * a short lock, so it is not for signal handlers. Texts are sent: none that names a person. */
LW_API int lw_set_value(const char* key, const char* value) LW_NOEXCEPT;
/* Whether the application is in the foreground, which it is until told. Each report says so, and usage tells
 * hangs in the background apart. Any thread, whether or not the
 * monitor is on; wait-free, and a change wakes the watchdog once. */
LW_API void lw_set_foreground(int is_foreground) LW_NOEXCEPT;
/* The program is ready to be used. With the option `start`, a start that took longer than its threshold is
 * reported, kind "startup", as "cold start" or "warm start", without stacks but with its milestones as facts,
 * in ms since the process began (by the kernel's account, to 10 ms; an exec() is not a new process):
 * library_load_ms, monitor_start_ms, first_dispatch_ms, first_frame_ms, ready_ms; lags_before_ready, their
 * number; and start, "cold" or "warm". A dispatch that is a lag and began before is reported as a
 * "startup-lag"; other kinds have the fact before_ready. A program that never gets here is never reported as
 * a slow start. Only the first call in a process counts. Any thread; not for signal handlers. */
LW_API void lw_ready(void) LW_NOEXCEPT;
/* This start does not count, because nobody waits for it: the program was started in the background, say. It
 * is not reported, and what this run has reported so far is removed from the spool, unless it was sent
 * already. Does nothing after lw_ready(). May block; not for signal handlers. */
LW_API void lw_withdraw_start(void) LW_NOEXCEPT;

/* For a program's own handlers; both may be called in a signal handler, and lagwatch installs none itself.
 * Somebody asked the program to end (SIGTERM, the session's end): */
LW_API void lw_note_stop(void) LW_NOEXCEPT;
/* It is about to end by this signal: */
LW_API void lw_note_crash(int signal_number) LW_NOEXCEPT;

/* Watches a loop of the calling thread. NULL when 8192 loops are watched already; every other function accepts
 * that. The loop is no longer watched once the thread ends. Short lock; not for signal handlers. */
LW_API lw_loop* lw_watch_loop(const char* name) LW_NOEXCEPT;
/* Ends that earlier; `loop` must not be used afterwards. From the loop's thread. */
LW_API void lw_unwatch_loop(lw_loop* loop) LW_NOEXCEPT;

/* Gives the loop thresholds of its own, instead of the options'. A lag that passes the second one is reported
 * once more, at once, as an ANR. 0 for the second: no lag of this loop is an ANR. Returns what is in force
 * now: values outside 16 to 3600000 are brought into that range, and the second is at least the first (both
 * are 0 for a loop that is NULL). Holds for the dispatch under way too; a watchdog that sleeps sees it within
 * a check period. From any thread; wait-free. */
LW_API lw_thresholds lw_set_thresholds(lw_loop* loop, uint32_t threshold_ms,
                                       uint32_t anr_threshold_ms) LW_NOEXCEPT;
/* How much the loop matters, by the application's own scale: the fact "loop_weight" of its reports, none when
 * 0. From any thread; wait-free. */
LW_API void lw_set_weight(lw_loop* loop, uint32_t weight) LW_NOEXCEPT;

/* What is reported of a loop, besides a dispatch that takes longer than the threshold (kind "lag"):
 *
 * "busy-loop": for longer than the threshold, one short dispatch after the other, without a sleep. The thread
 * made no voluntary context switch in all that time (as the kernel counts them) and ran or was ready to run
 * for 95 % of it; or it did sleep, for pages or locks, but no more than 0.5 %, and never more than 0.5 % of a
 * threshold between two looks. It began ten dispatches or more in each threshold's length, never a quarter of
 * it without a new one. A server under full load that finds nothing to do once in that time, and sleeps in
 * its wait for longer, is not busy in this sense; nor is one long dispatch.
 * Found between 1 and 1.4 thresholds after it began; the report's stack is the one seen most often meanwhile.
 * Costs the loop nothing. */

/* What is reported of the process, with the option watch_cpu. Percentages are of all the processors that its
 * affinity allows, but for a thread's, which are of one.
 *
 * "cpu": in one second the process used more than cpu_percent, or one thread did. Tells the three busiest
 * threads over 5 %, with their stacks. Once, until that is over, and once a window at most.
 *
 * "cpu-average": the process used more than cpu_average_percent over a whole window in the foreground, or
 * more than cpu_background_percent over one in the background. Once a window at most. Its samples are the
 * stacks of all threads over 5 %, one a second each while they run, with the CPU time used there: a tree of
 * where the power went, innermost functions first. A window begins anew when lw_set_foreground() changes
 * where the application is.
 *
 * Off by default, because many programs mean to use all they get, and finding out costs: while the
 * process uses more than 5 % of a processor, the watchdog wakes once a second and reads every thread's CPU
 * clock; above half of a limit it also captures the busiest 16 stacks. A process that uses next to nothing is
 * looked at once a window, and without the option never. Neither kind is told to a listener. */

/* Every report also tells what the loop did before: the last 200 dispatches that took longer than 1 ms, with
 * tag (cut to 31 bytes), age, duration and the wait that lw_note_queue_wait() told; those longer than
 * slow_dispatch_ms with their CPU time, which is too long by 100 ms at most. Only dispatches with a time
 * stamp are told. */

/* "Usage" goes to the collector, too, even when nothing lagged, so that lags can be told per hour of use: of
 * each loop, how long it was watched, its dispatches with a histogram of their durations (in powers of two,
 * from 1 ms on), its lags and how long they took together; of each tag (64 at most), the dispatches longer
 * than slow_dispatch_ms that were no lags; and what could have been a report and is none, with the reason. It
 * is written every usage_period_s, along with a report if the last time was a minute ago, and by lw_stop().
 * The watchdog never wakes up for it. A program that is killed, or ends without lw_stop(), has the rest told
 * at its next start, short by a minute at most. */

/* Around each dispatch, on the loop's thread. `tag` names it in reports; not copied: it must stay readable
 * until the dispatch ends. May be nested; only the outermost pair counts. Hot: two reads of the tick counter
 * a pair. */
LW_API void lw_dispatch_begin(lw_loop* loop, const char* tag) LW_NOEXCEPT;
LW_API void lw_dispatch_end(lw_loop* loop) LW_NOEXCEPT;
/* The same without reading the clock, for loops of millions of dispatches a second: a lag's start and
 * duration are then known to about the check period. Inline, because the call would cost more than the work.
 * Hot. */
LW_API void lw_wake_watchdog(lw_loop* loop) LW_NOEXCEPT; /* for the next function only */
static inline void lw_dispatch_begin_counted(lw_loop* loop, const char* tag) LW_NOEXCEPT {
  uint64_t begun;
  if (loop == NULL) return;
  begun = loop->begun;
  if (begun != loop->ended) {
    ++loop->nested;
    return;
  }
  /* Release, each: a reader of a new value must also see that the last dispatch has ended. */
  __atomic_store_n(&loop->begin_ticks, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&loop->tag, tag, __ATOMIC_RELEASE);
  __atomic_store_n(&loop->begun, begun + 1, __ATOMIC_RELEASE);
  if (__atomic_load_n(&loop->is_watchdog_asleep, __ATOMIC_RELAXED) != 0) lw_wake_watchdog(loop);
}

static inline void lw_dispatch_end_counted(lw_loop* loop) LW_NOEXCEPT {
  if (loop == NULL) return;
  if (loop->nested != 0) {
    --loop->nested;
  } else if (loop->begun != loop->ended) {
    __atomic_store_n(&loop->ended, loop->ended + 1, __ATOMIC_RELEASE);
  }
}

/* A task was put into the loop's queue; one was taken out of it, to be run or to be dropped. Each task needs
 * one of each. The library counts, and takes tasks to run in the order in which they were queued. It looks at
 * the counts five times in two thresholds or more often: a wait is found when it has lasted between 1 and 1.4
 * thresholds, its reported length is short by no more than 0.4 thresholds, and nothing that waited less is
 * ever reported. A task that overtakes others makes the others' wait unseen for as long. Ends when no task
 * waits that long any more. From any thread, until the loop's own thread ends. Hot: one atomic addition, no
 * clock. */
LW_API void lw_note_queued(lw_loop* loop) LW_NOEXCEPT;
LW_API void lw_note_run(lw_loop* loop) LW_NOEXCEPT;
/* In a dispatch, on the loop's thread: the task that it runs had waited for so long in the queue. Of several
 * tasks of one dispatch the longest wait counts. Told with the loop's past dispatches, next to how long it
 * ran; for programs that keep the time at which a task was queued. Hot: a few loads and stores, no clock. */
LW_API void lw_note_queue_wait(lw_loop* loop, uint64_t wait_ns) LW_NOEXCEPT;

/* Around a stretch of work of the loop's thread that has a deadline of its own, 16 ms to 1 h, in a dispatch
 * or not. `name` is the report's tag; not copied: it must stay readable until the scope ends. Scopes may be
 * nested, and each keeps its own deadline: the outer one's counts on inside the inner one, and is what is
 * watched again when that ends. Of scopes under way the first to pass its deadline is reported, the others
 * once that has ended. What is nested deeper than 8 is not watched. The first scope of a shorter deadline
 * than any before may be found a check period late. Hot: one read of the tick counter a pair. */
LW_API void lw_scope_begin(lw_loop* loop, const char* name, uint32_t deadline_ms) LW_NOEXCEPT;
LW_API void lw_scope_end(lw_loop* loop) LW_NOEXCEPT;

/* Around what the loop does when it has nothing else to do, on the loop's thread. Hot: as a dispatch. */
LW_API void lw_idle_begin(lw_loop* loop) LW_NOEXCEPT;
LW_API void lw_idle_end(lw_loop* loop) LW_NOEXCEPT;

/* An input event has arrived for the loop, at whatever thread; the loop is done with one. Counted, like
 * tasks, and as exact: see lw_note_queued(). Hot: one atomic addition, no clock. */
LW_API void lw_input_received(lw_loop* loop) LW_NOEXCEPT;
LW_API void lw_input_finished(lw_loop* loop) LW_NOEXCEPT;

/* For programs with a display: around the making of each frame, on the loop's thread, in a dispatch or not.
 * `vsync_ns` is the refresh that the frame is made for, on CLOCK_MONOTONIC, as compositors and drivers tell
 * it; 0 when it is not known: then the frame's begin stands for it. A frame inside another does not count.
 *
 * A frame has dropped as many as whole refresh intervals have passed between its refresh and its end; none
 * when it is done within one. By dropped frames a frame is best (< 3), normal (< 9), middle (< 24), high (<
 * 42) or frozen. Frames, dropped frames and the time in each stage are summed for each loop and scene (as
 * lw_set_scene() had it when the frame began) over 10 s at most, and written to the spool once a minute while
 * the loop goes on drawing, else 10 s after it has stopped: what is not written yet when the program is
 * killed is lost.
 *
 * A frame that takes longer than slow_frame_ms, from its begin, is reported with stacks, kind "frames"; after
 * one such, the loop's next ones are only counted for 10 s. Hot: one read of the clock each, which is a
 * system call where the kernel shares no clock with programs. */
LW_API void lw_frame_begin(lw_loop* loop, uint64_t vsync_ns) LW_NOEXCEPT;
/* From now until the next call or the frame's end, its time is this stage's. */
LW_API void lw_frame_stage(lw_loop* loop, lw_stage stage) LW_NOEXCEPT;
LW_API void lw_frame_end(lw_loop* loop) LW_NOEXCEPT;
/* How long the display shows a frame, 1 ms to 1 s. 0, the default: measured from the frames' refreshes, and
 * 60 Hz where those are not told. A program that draws for every second refresh only should say so. From any
 * thread; wait-free. */
LW_API void lw_set_refresh_interval(lw_loop* loop, uint64_t interval_ns) LW_NOEXCEPT;

/* Around a part of the program's work that traces shall show by name, on any thread; may be nested. `name` is
 * not copied: it must stay readable for as long as the program runs, as a literal does. A pair belongs to one
 * thread and one name. Also for signal handlers. Hot: while nothing records calls, two loads and a compare;
 * else about two reads of the tick counter a pair. */
LW_API const uint64_t* lw_trace_switch(void) LW_NOEXCEPT; /* for the next functions only: 0 is off */
LW_API void lw_trace_begin_recorded(const char* name) LW_NOEXCEPT;
LW_API void lw_trace_end_recorded(const char* name) LW_NOEXCEPT;
static inline int lw_is_trace_recording(void) LW_NOEXCEPT {
  static const uint64_t* where;
  const uint64_t* found = __atomic_load_n(&where, __ATOMIC_RELAXED);
  if (found == NULL) {
    found = lw_trace_switch();
    __atomic_store_n(&where, found, __ATOMIC_RELAXED);
  }
  return __atomic_load_n(found, __ATOMIC_RELAXED) != 0;
}

static inline void lw_trace_begin(const char* name) LW_NOEXCEPT {
  if (lw_is_trace_recording()) lw_trace_begin_recorded(name);
}

static inline void lw_trace_end(const char* name) LW_NOEXCEPT {
  if (lw_is_trace_recording()) lw_trace_end_recorded(name);
}

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* LAGWATCH_C_H_ */
