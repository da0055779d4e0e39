/* SPDX-License-Identifier: Apache-2.0 */
/* The types of lagwatch's C interface, without lw_options; see lagwatch/c.h. */
#ifndef LAGWATCH_C_TYPES_H_
#define LAGWATCH_C_TYPES_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A watched loop. Belongs to the library and stays valid until the thread that watches it ends, whether or
 * not the monitor is on. Only the inline functions below use the members; their offsets are part of the ABI.
 */
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

/* For lw_start_recording(). Fill with lw_recording_options_init(). Values outside of their range are clamped
 * to it. */
typedef struct lw_recording_options {
  size_t struct_size_bytes;
  uint32_t interval_ms;   /* between two samples of a running thread. Default: 10; 1 to 100. */
  uint32_t buffer_kib;    /* older records are overwritten. Default: 32768; 1024 to 1048576. */
  uint32_t has_hooks;     /* not 0: the program's calls that wait are recorded, too: docs/tracing.md */
  const int32_t* threads; /* the kernel's thread ids; NULL: all threads. Copied. */
  size_t thread_count;
} lw_recording_options;

/* The user's consent to being watched. */
typedef enum lw_consent {
  LW_CONSENT_GIVEN = 0,
  LW_CONSENT_NOT_GIVEN = 1 /* nothing is watched, kept or sent; no file, no thread */
} lw_consent;

/* The kind of a hang, as in reports; others may be added. */
typedef enum lw_kind {
  LW_KIND_HANG = 1, /* also before lw_ready(), where reports say "startup-lag" */
  LW_KIND_BUSY_LOOP = 2,
  LW_KIND_WAITED = 3,
  LW_KIND_IDLE_HANDLER = 4,
  LW_KIND_INPUT = 5,
  LW_KIND_SCOPE = 6,
  LW_KIND_FRAME = 9 /* "frames" in reports */
} lw_kind;
typedef enum lw_level { LW_LEVEL_HANG = 0, LW_LEVEL_ANR = 1 } lw_level;

/* The hang or dispatch that a listener is called for. Valid during the call only. */
typedef struct lw_hang {
  size_t struct_size_bytes;
  const char* loop;
  const char* tag; /* may be empty */
  int32_t tid;
  lw_kind kind;
  lw_level level;
  uint64_t threshold_ns;
  uint64_t elapsed_ns; /* so far; in hang_end, in all */
  /* In hang_begin, if the report is on disk, the hang in words, to be logged as it is: lines with the
   * program, the time so far, the verdict, the owner of a lock, the innermost functions, and the command that
   * shows the report. Functions of the program itself have names if it exports them (-rdynamic); C++ names
   * are without their parameters. Else empty. Since 0.3: look at struct_size_bytes. */
  const char* text;
} lw_hang;

/* The reason why a check of a hang made no report; others may be added. */
typedef enum lw_filtered {
  LW_FILTERED_UNCHANGED_STACK = 1, /* the hang was reported with this stack */
  LW_FILTERED_REPORT_LIMIT = 2,    /* the hang has as many reports as one may have */
  LW_FILTERED_REPORT_LOST = 3      /* the report did not reach the disk */
} lw_filtered;

/* Callbacks, any of which may be NULL. The library calls them on a thread of its own, which shares all of the
 * program's file descriptors, after the report is on disk; nothing is watched until they return. The loop
 * that hangs may hold any lock, also the allocator's: a callback that needs such a lock waits as long as the
 * loop does. Callbacks must not throw, nor start or stop the monitor; every signal is blocked. */
typedef struct lw_listener {
  void* context; /* passed to each */
  /* A hang was found. Called again with LW_LEVEL_ANR when it passes the second threshold. */
  void (*hang_begin)(void* context, const lw_hang* hang);
  /* The hang is over. Called once per hang, but not for one that goes on while the monitor stops. */
  void (*hang_end)(void* context, const lw_hang* hang);
  void (*hang_filtered)(void* context, const lw_hang* hang, lw_filtered why);
  /* A dispatch longer than sensitive_ms has ended; reports its name and its duration. Called for every such
   * dispatch with a time stamp, whether it is a hang or not, in order. The loop records the dispatch when it
   * ends, in about 1.5 us; the watchdog calls at its next check, and is not woken for it: within a second by
   * default, after an idle time when the loop's next dispatch begins, at the latest in lw_stop(). If more
   * than 200 dispatches end between two checks, the oldest are lost. */
  void (*sensitive)(void* context, const lw_hang* dispatch);
} lw_listener;

/* The stages of a frame. */
typedef enum lw_stage {
  LW_STAGE_OTHER = 0, /* time outside of the other stages; each frame begins with it */
  LW_STAGE_INPUT = 1,
  LW_STAGE_ANIMATION = 2,
  LW_STAGE_LAYOUT = 3,
  LW_STAGE_DRAW = 4,
  LW_STAGE_SUBMIT = 5 /* handing it over to the display */
} lw_stage;

/* The reason why a run of the program ended. */
typedef enum lw_exit_reason {
  LW_EXIT_UNKNOWN = 0,        /* disappeared: killed, or ended by _exit() or by a signal that was not noted */
  LW_EXIT_CLEAN = 1,          /* by lw_stop(), exit() or the end of main() */
  LW_EXIT_KILLED_IN_HANG = 2, /* disappeared while a loop was frozen */
  LW_EXIT_OOM_KILL = 3,       /* killed by the kernel, out of memory */
  LW_EXIT_UPDATE = 4,         /* disappeared, and the build or version changed since */
  LW_EXIT_REBOOT = 5,         /* the machine was restarted */
  LW_EXIT_CRASH = 6,          /* lw_note_crash() was called; no loop was frozen */
  LW_EXIT_STOPPED = 7,        /* lw_note_stop() was called; no loop was frozen */
  LW_EXIT_CRASH_IN_HANG = 8,  /* lw_note_crash() was called while a loop was frozen */
  LW_EXIT_HANG_IN_CRASH = 9   /* a loop froze after lw_note_crash(): the crash handler did not end */
} lw_exit_reason;

/* The end of the last run. Texts are cut to their arrays and always terminated. */
typedef struct lw_last_exit {
  size_t struct_size_bytes;
  int32_t reason;      /* an lw_exit_reason */
  int32_t signal;      /* of a crash, else 0 */
  int32_t was_in_hang; /* a loop was frozen, whatever the reason */
  int32_t unused;
  uint64_t hang_ms; /* last known duration of that hang: a lower bound */
  uint64_t last_seen_wall_ms;
  char loop[65];  /* the frozen loop; empty without one */
  char scene[65]; /* see lw_set_scene() */
  char app_version[65];
  char session_id[37];
  char report_id[37]; /* the first report of that hang; empty without one */
} lw_last_exit;

/* The program's knowledge of its own start. */
typedef enum lw_start_kind {
  LW_START_UNWATCHED = 0, /* the program never calls lw_ready() */
  /* The program calls lw_ready(). The start is warm if the same build ran on this machine in the ten minutes
   * before, and the machine was not restarted since; without a record of that run it is cold. */
  LW_START_WATCHED = 1,
  LW_START_COLD = 2, /* as WATCHED, and the program knows that the start is cold */
  LW_START_WARM = 3  /* … or warm */
} lw_start_kind;

/* Selects the sample of a busy loop that its report shows. */
typedef enum lw_expensive {
  LW_EXPENSIVE_PATH = 0, /* the newest on the heaviest path from the outermost call inwards */
  LW_EXPENSIVE_LEAF = 1  /* the newest of the innermost function seen most often */
} lw_expensive;

/* Selects the records that are synced to disk at once, by a thread of lagwatch's own. A record outlives the
 * program in any case; without a sync, a power cut or a crash of the machine may lose those of the last half
 * minute. */
typedef enum lw_spool_sync {
  LW_SPOOL_SYNC_NEVER = 0, /* no thread, no syncs */
  LW_SPOOL_SYNC_HANGS = 1, /* a hang's first report, and its end */
  LW_SPOOL_SYNC_ALL = 2
} lw_spool_sync;

/* The program's own transport, which lagwatch sends its batches with. */
typedef struct lw_transport {
  void* context; /* passed to `post`; both must stay until lw_stop() has returned */
  /* Posts `body` unchanged (a gzipped lagwatch.Batch, for the collector's POST /v1/reports) and returns the
   * HTTP status of the answer, 0 without an answer. Copies the answer's body to `answer`;
   * `*answer_size_bytes` is the capacity before the call and the size after it. 2xx with an empty answer
   * means that the program has taken over the batch permanently. Called on a thread of the library that
   * shares the program's file descriptors, with every signal blocked; must not throw, nor start or stop the
   * monitor. lw_stop() waits until it returns. NULL: not used. */
  int (*post)(void* context, const void* body, size_t body_size_bytes, char* answer,
              size_t* answer_size_bytes);
} lw_transport;

/* A frame of managed code or of a script. */
typedef struct lw_script_frame {
  const char* function; /* its full name, such as "com.example.Importer.run" */
  const char* file;     /* NULL or empty: not known */
  uint32_t line;        /* 0: not known */
} lw_script_frame;

/* The program's own reader of the stacks of managed code, which native unwinding cannot see. All of it must
 * stay until lw_stop() has returned. */
typedef struct lw_scripts {
  void* context; /* passed to `read_stack` */
  /* "java", "javascript", "lua", "perl", "php", "python" or "ruby": the frames' module in reports is
   * "[java]". */
  const char* language;
  /* The beginnings of the file names of the run time's own modules, separated by commas: "libart.so". From
   * the innermost frame of these on, or of code made at run time, a thread's frames are replaced. */
  const char* runtime_modules;
  /* Writes the frames of thread `tid`, innermost first, and returns their number, at most `capacity`; 0
   * leaves the native stack as it is. The texts must stay until the next call. Called on a thread of the
   * library, with every signal blocked, only while a hang, high CPU use or a dump is examined. A call that
   * takes longer than 100 ms loses its frames, and there is no other until it returns; it must not throw, nor
   * start or stop the monitor. NULL: not used. */
  size_t (*read_stack)(void* context, int32_t tid, lw_script_frame* frames, size_t capacity);
} lw_scripts;

/* See lw_set_network(). */
typedef enum lw_network { LW_NETWORK_UNMETERED = 0, LW_NETWORK_METERED = 1, LW_NETWORK_NONE = 2 } lw_network;

typedef void (*lw_on_last_exit)(const lw_last_exit* last_exit, void* context);

typedef struct lw_thresholds {
  uint32_t threshold_ms;
  uint32_t anr_threshold_ms; /* 0: off */
} lw_thresholds;

typedef struct lw_stats {
  size_t struct_size_bytes;
  uint64_t hangs;
  uint64_t reports_written;
  uint64_t reports_dropped; /* did not reach the disk */
  uint64_t reports_uploaded;
  uint64_t unchanged_checks; /* checks of a hang that found the stack unchanged */
  uint64_t stack_samples;
  uint64_t capture_signals_sent;
  uint64_t capture_timeouts;
  uint64_t stacks_incomplete;
  uint64_t loops_refused; /* above the limit of watched loops (8192) */
  /* Starts whose run record could not be written, for example because the disk is full. */
  uint64_t run_records_failed;
  uint64_t dumps;         /* also counted in reports_written */
  uint64_t dumps_refused; /* requested too soon after another one */
  uint64_t watchdog_cpu_ns;
  uint64_t capture_pause_ns; /* time that threads of the program spent in the capture signal's handler */
  uint64_t handler_lost;     /* number of times that another handler replaced it */
  uint64_t handler_moved;    /* … and captures continued with another signal */
  uint64_t service_feeds;    /* notifications of the service manager; see feed_systemd */
  uint64_t service_feeds_failed;
  /* Hangs without a report, by reason; see also unchanged_checks and reports_dropped. */
  uint64_t reports_over_limit;    /* above the limit of one hang */
  uint64_t reports_too_large;     /* of reports_dropped, those that were too large to write */
  uint64_t checks_under_debugger; /* skipped, because a debugger may have caused the hang */
  uint64_t hangs_stopped;         /* long only because the process was stopped, or the machine slept */
  uint64_t hangs_ended_first;     /* over the threshold, but ended before the check */
  uint64_t slow_dispatches_lost;  /* too many at once: neither counted nor passed to a listener */
  uint64_t usage_records;         /* usage records written */
  uint64_t reports_removed;       /* written, but removed because 64 MiB of this run's were unsent */
  uint64_t spool_no_space;        /* failed writes: disk, quota or file size limit reached */
  uint64_t spool_forbidden;       /* … read-only, or not permitted */
  uint64_t spool_io_errors;       /* … the disk failed, or a write was cut short */
  uint64_t spool_other_errors;    /* … no directory, no descriptors */
  uint64_t spool_syncs;           /* of segments; see spool_sync */
  uint64_t spool_syncs_failed;
  /* Reports on disk that were not sent, by reason; of all programs that share the spool directory. */
  uint64_t reports_not_sampled;      /* the user is not in the day's sample: user_rate_ppm */
  uint64_t reports_past_day_quota;   /* reports_per_day */
  uint64_t reports_past_cause_quota; /* reports_per_cause */
  uint64_t reports_too_old;          /* after a week on disk */
  uint64_t reports_past_disk_limit;
  uint64_t reports_refused;    /* by the collector; kept in .rejected files for a while */
  uint64_t reports_damaged;    /* number of damaged files; their number of reports is unknown */
  uint64_t reports_turned_off; /* the collector turned reports off */
  uint64_t traces_written;
  uint64_t traces_dropped;  /* not written: too many at once, nothing was recorded, or no room on disk */
  uint64_t memory_failures; /* calls and threads of lagwatch that ended early, out of memory */
  /* Of threads of `lagwatch run`, that may have been hangs, or idle. */
  uint64_t waits_unproven;
} lw_stats;

/* A function of an interpreter, see lw_register_functions(). */
typedef struct lw_function {
  const char* name; /* as the interpreter's own headers have it, without mangling */
  void (*address)(void);
} lw_function;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* LAGWATCH_C_TYPES_H_ */
