/* SPDX-License-Identifier: Apache-2.0 */
/* lagwatch's C interface: the library's whole ABI.
 *
 * Rules for every function:
 * - No function fails the program: a feature that cannot work is off, and lw_why_off() says why.
 * - Strings are UTF-8 and are copied, unless a function says otherwise. NULL stands for an empty string.
 * - Structs begin with their size, so that they can grow: fill them with their _init function.
 * - "hot" functions are wait-free, allocate nothing and make no system call, with two exceptions: the end of
 *   a dispatch longer than 1 ms, and one read of the thread's CPU clock in 100 ms at most. */
#ifndef LAGWATCH_C_H_
#define LAGWATCH_C_H_

#include <lagwatch/c_options.h>
#include <lagwatch/c_types.h>
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

/* Fills in sizes and defaults. */
LW_API void lw_options_init(lw_options* options) LW_NOEXCEPT;
LW_API void lw_stats_init(lw_stats* stats) LW_NOEXCEPT;
LW_API void lw_last_exit_init(lw_last_exit* last_exit) LW_NOEXCEPT;
LW_API void lw_recording_options_init(lw_recording_options* options) LW_NOEXCEPT;
/* Sets an option by its name, that of the member of lw_options: for configuration files and for bindings of
 * other languages. Numbers, signals and choices are whole numbers in decimal; a switch is 1, on, true or yes,
 * or 0, off, false or no; a text is borrowed as the member's is. Returns 1, or 0 if there is no such option,
 * if it is a callback or a pointer, or if the value cannot be read: then nothing is changed. */
LW_API int lw_options_set(lw_options* options, const char* name, const char* value) LW_NOEXCEPT;

/* Starts the monitor: a watchdog thread and, with an endpoint, an upload thread. Values outside of their
 * range are clamped to it. After fork() the child's monitor is off until the child starts one. May block (it
 * creates the spool directory); not for signal handlers. */
LW_API lw_status lw_start(const lw_options* options) LW_NOEXCEPT;
/* Stops the monitor; waits up to `flush_timeout_ms` for the upload of what is on disk. A loop in a dispatch
 * continues undisturbed. Has no effect if the monitor is off. Call it before seccomp(2) (see
 * seccomp_allows_lagwatch), and before unshare(2) and setns(2) with namespaces that the kernel refuses to a
 * process with several threads (user, mount, time); lw_start() may follow after unshare and setns. */
LW_API void lw_stop(uint32_t flush_timeout_ms) LW_NOEXCEPT;
/* Sets the user's consent, which replaces the option's from now on. Given: a monitor that waits for it
 * starts, with the options of the last lw_start(). Withdrawn: the monitor stops at once, waiting reports are
 * not sent, and everything that lagwatch keeps for this program (`app`, on this machine) in the spool
 * directory of the last lw_start() is erased. Returns as lw_start() does. May block; not for signal handlers
 * nor callbacks. */
LW_API lw_status lw_set_consent(lw_consent consent) LW_NOEXCEPT;
/* Sets the network that the program is on; initially an unmetered one. With LW_NETWORK_NONE nothing is sent,
 * and reports wait on disk. Any thread, with the monitor on or off; wait-free. */
LW_API void lw_set_network(lw_network network) LW_NOEXCEPT;
/* Forbids probes (`lagwatch probe`) in this process and in children that it forks, for good: those that are
 * armed are taken away within a second, and others are refused. A probe can read all of the program's memory,
 * as a debugger of the same user can. Returns 1; 0 if there was no descriptor or memory for it: then only
 * probes of a library that is loaded already are refused. Any thread, with the monitor on or off; not for
 * signal handlers. */
LW_API int lw_forbid_probes(void) LW_NOEXCEPT;
/* Returns why the monitor is off, for a log line; empty when it is on. Valid until this thread's next call.
 */
LW_API const char* lw_why_off(void) LW_NOEXCEPT;
/* Counts since the process began to use the library; at any time, from any thread. */
LW_API void lw_get_stats(lw_stats* stats) LW_NOEXCEPT;
/* Returns the version of the library, as "0.2.0". Static. */
LW_API const char* lw_version(void) LW_NOEXCEPT;

/* Fills in the end of the program's last run and returns 1. Returns 0 if the monitor was not started yet, or
 * if no run of this app and program left a record. */
LW_API int lw_get_last_exit(lw_last_exit* last_exit) LW_NOEXCEPT;
/* Requests a report of kind "dump" with the stacks of all threads, at any time, also while a loop hangs.
 * Returns 1 if the watchdog's thread will make it, soon after the call, when its current check is done; 0 if
 * the monitor is off, or if a dump was requested within dump_interval_ms before (stats: dumps_refused).
 * `reason` (cut to 127 bytes) is the report's tag. The report belongs to the loop that hangs, else to the
 * first watched loop, else to the main thread; no listener is called. From any thread; does not wait; not for
 * signal handlers: see dump_signal. */
LW_API int lw_dump_now(const char* reason) LW_NOEXCEPT;
/* With the option `trace`: requests a trace of all threads in the last trace_before_s, without a report.
 * Returns 1 if a thread of lagwatch will write it, soon after the call; 0 if nothing is recorded, or if a
 * trace was requested within dump_interval_ms before. (A dump has a trace of its own.) From any thread; may
 * wait while the monitor starts; not for signal handlers. */
LW_API int lw_trace_now(void) LW_NOEXCEPT;

/* Sets the scene, the program's current activity, for the record of this run: a screen, a document type.
 * Copied, cut to 64 bytes. Any thread, also in signal handlers; does not wait. It reaches the record at the
 * watchdog's next check: soon after the dispatch that sets it, or when a loop's next dispatch begins. */
LW_API void lw_set_scene(const char* scene) LW_NOEXCEPT;

/* Sets a value of the program's own, which every later report has among its facts as "app.KEY": a document's
 * size, the number of open tabs. Both texts are copied, the value is cut to 64 bytes; NULL or "" removes it.
 * Returns 1 if it is kept; 0 if the key is empty or longer than 32 bytes, or if 16 others have been used. Any
 * thread, with the monitor on or off; the watchdog reads values without waiting. The first use of a key takes
 * a short lock, so it is not for signal handlers. The texts are sent, so they must not name a person. The
 * hang rate is counted by the values of keys that the option usage_keys names. */
LW_API int lw_set_value(const char* key, const char* value) LW_NOEXCEPT;
/* Names functions of an interpreter that the program is linked with and does not export: stacks then have the
 * functions and lines of its scripts. For Lua, lw_register_lua() of lagwatch/lua.h does it; a program that
 * exports them needs nothing. Names are copied. Returns how many of them are kept: 64 of up to 31 bytes in
 * all. Any thread, with the monitor on or off; takes a short lock, so it is not for signal handlers. */
LW_API size_t lw_register_functions(const lw_function* functions, size_t count) LW_NOEXCEPT;
/* Sets whether the application is in the foreground; initially it is. Each report has this state, and usage
 * counts hangs in the background separately. Any thread, with the monitor on or off; wait-free, and a change
 * wakes the watchdog once. */
LW_API void lw_set_foreground(int is_foreground) LW_NOEXCEPT;
/* The program is ready to be used. With the option `start`, a start that took longer than its threshold is
 * reported, kind "startup", as "cold start" or "warm start", without stacks but with its milestones as facts,
 * in ms since the process began (as the kernel reports it, to 10 ms; an exec() is not a new process):
 * library_load_ms, monitor_start_ms, first_dispatch_ms, first_frame_ms, ready_ms; hangs_before_ready, their
 * number; and start, "cold" or "warm". A dispatch that is a hang and began before this call is reported as a
 * "startup-lag"; other kinds have the fact before_ready. A program that never calls this is never reported as
 * a slow start. Only the first call in a process counts. Any thread; not for signal handlers. */
LW_API void lw_ready(void) LW_NOEXCEPT;
/* Excludes this start, for example because the program was started in the background and no user waits for
 * it. It is not reported, and the reports of this run so far are removed from the spool, unless they were
 * sent already. Does nothing after lw_ready(). May block; not for signal handlers. */
LW_API void lw_withdraw_start(void) LW_NOEXCEPT;

/* For the program's own signal handlers; lagwatch installs none for these. lw_note_stop(): the program was
 * asked to end (SIGTERM, the session's end). */
LW_API void lw_note_stop(void) LW_NOEXCEPT;
/* The program is about to end by this signal. */
LW_API void lw_note_crash(int signal_number) LW_NOEXCEPT;

/* Watches a loop of the calling thread. Returns NULL if 8192 loops are watched already; every other function
 * accepts NULL. The loop is no longer watched once the thread ends. Short lock; not for signal handlers. */
LW_API lw_loop* lw_watch_loop(const char* name) LW_NOEXCEPT;
/* Stops watching the loop; `loop` must not be used afterwards. From the loop's thread. */
LW_API void lw_unwatch_loop(lw_loop* loop) LW_NOEXCEPT;

/* Gives the loop thresholds of its own, instead of the options'. A hang that passes the second one is
 * reported once more, at once, as an ANR. 0 for the second: no hang of this loop is an ANR. Returns the
 * thresholds in force: values outside 16 to 3600000 are clamped to that range, and the second is at least the
 * first (both are 0 if the loop is NULL). Also applies to the dispatch under way; a watchdog that sleeps sees
 * it within a check period. From any thread; wait-free. */
LW_API lw_thresholds lw_set_thresholds(lw_loop* loop, uint32_t threshold_ms,
                                       uint32_t anr_threshold_ms) LW_NOEXCEPT;
/* Sets the loop's importance, on the application's own scale: the fact "loop_weight" of its reports, absent
 * if 0. From any thread; wait-free. */
LW_API void lw_set_weight(lw_loop* loop, uint32_t weight) LW_NOEXCEPT;

/* Reports of a loop, besides a dispatch that takes longer than the threshold (kind "lag"):
 *
 * "busy-loop": for longer than the threshold, one short dispatch after the other, without a sleep. The thread
 * made no voluntary context switch in all that time (as the kernel counts them) and ran or was ready to run
 * for 95 % of it; or it did sleep, for pages or locks, but no more than 0.5 %, and never more than 0.5 % of a
 * threshold between two checks. It began ten dispatches or more in each threshold's length, and at least one
 * in each quarter of it. A server under full load that finds nothing to do once in that time, and sleeps
 * longer in its wait, is not busy in this sense; nor is one long dispatch. Found between 1 and 1.4 thresholds
 * after it began; the report's stack is the one seen most often meanwhile. Costs the loop nothing. */

/* Reports of the process, with the option watch_cpu. Percentages are of all the processors that its
 * affinity allows; a thread's are of one processor.
 *
 * "cpu": in one second the process used more than cpu_percent, or one thread did. Lists the three busiest
 * threads over 5 %, with their stacks. Reported once until it is over, and at most once per window.
 *
 * "cpu-average": the process used more than cpu_average_percent over a whole window in the foreground, or
 * more than cpu_background_percent over one in the background. At most once per window. Its samples are
 * the stacks of all threads over 5 %, one per second each while they run, with the CPU time used there: a
 * tree of where the power went, innermost functions first. A new window begins when lw_set_foreground()
 * changes the state.
 *
 * Off by default, because many programs use all available CPU on purpose, and because it costs: while the
 * process uses more than 5 % of a processor, the watchdog wakes once per second and reads every thread's
 * CPU clock; above half of a limit it also captures the busiest 16 stacks. A process that uses almost
 * nothing is checked once per window, and never without the option. No listener is called for either kind. */

/* Every report has the loop's history: the last 200 dispatches that took longer than 1 ms, with tag (cut to
 * 31 bytes), age, duration and the wait reported by lw_note_queue_wait(); those longer than slow_dispatch_ms
 * with their CPU time, which is too long by 100 ms at most. Only dispatches with a time stamp are included.
 */

/* "Usage" is sent to the collector even without hangs, so that hangs can be counted per hour of use: for each
 * loop the time that it was watched, its dispatches with a histogram of their durations (in powers of two,
 * from 1 ms on), the number and the total duration of its hangs; for each tag (64 at most) the dispatches
 * longer than slow_dispatch_ms that were no hangs; and the hangs without a report, by reason. It is written
 * every usage_period_s, along with a report if the last time was a minute ago, and by lw_stop(). The watchdog
 * never wakes up for it. If a program is killed, or ends without lw_stop(), its next start sends the rest,
 * short by a minute at most. */

/* Mark the begin and the end of each dispatch, on the loop's thread. `tag` names it in reports; not copied:
 * it must stay readable until the dispatch ends. May be nested: a pair inside another is a part of it, unless
 * the loop has waited in between, as a dialog does that runs the loop itself: see lw_loop_wait_begin(). Hot:
 * two reads of the tick counter per pair. */
LW_API void lw_dispatch_begin(lw_loop* loop, const char* tag) LW_NOEXCEPT;
LW_API void lw_dispatch_end(lw_loop* loop) LW_NOEXCEPT;
/* A tag for what has no name but its function: reports have the function's, where its symbols are at hand,
 * else its module and the place in it. NULL, no tag, where addresses have 32 bits. Hot: makes no text. */
static inline const char* lw_function_tag(uintptr_t function) LW_NOEXCEPT {
  const uint64_t bits = 0x8080000000000000u; /* no address of a program has both */
  return function == 0 || sizeof function < sizeof bits ? NULL : (const char*)(uintptr_t)(function | bits);
}
/* lw_dispatch_begin() and lw_dispatch_end() without reading the clock, for loops of millions of dispatches
 * per second: a hang's start and duration are then known to about the check period. Inline, because the call
 * would cost more than the work. Hot. */
LW_API void lw_wake_watchdog(lw_loop* loop) LW_NOEXCEPT; /* for the next function only */
static inline void lw_dispatch_begin_counted(lw_loop* loop, const char* tag) LW_NOEXCEPT {
  uint64_t begun;
  if (loop == NULL) return;
  begun = loop->begun;
  if (begun != loop->ended) {
    lw_dispatch_begin(loop, tag);
    return;
  }
  /* Each store is a release: a reader of a new value must also see that the last dispatch has ended. */
  __atomic_store_n(&loop->begin_ticks, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&loop->tag, tag, __ATOMIC_RELEASE);
  __atomic_store_n(&loop->begun, begun + 1, __ATOMIC_RELEASE);
  if (__atomic_load_n(&loop->is_watchdog_asleep, __ATOMIC_RELAXED) != 0) lw_wake_watchdog(loop);
}

static inline void lw_dispatch_end_counted(lw_loop* loop) LW_NOEXCEPT {
  if (loop == NULL) return;
  if (loop->nested != 0) {
    lw_dispatch_end(loop);
  } else if (loop->begun != loop->ended) {
    __atomic_store_n(&loop->ended, loop->ended + 1, __ATOMIC_RELEASE);
  }
}

/* Mark the loop's own wait for events, on its thread: around poll() and the like. They are all that a loop
 * needs to be watched: the time from the end of a wait to the begin of the next one is a dispatch. A pair of
 * lw_dispatch_begin() and lw_dispatch_end() in that time is one of its own, with its tag; what follows it is
 * one with the first one's tag.
 * Programs that call only lw_dispatch_begin() and lw_dispatch_end() need them for nested loops: the time of a
 * wait in a dispatch belongs to none; what runs between two waits of a nested loop is a dispatch of its own;
 * and when the innermost pair has ended, the one around it goes on as a dispatch that begins then.
 *
 * A wait that begins while the loop waits, or ends while it runs, changes nothing, so that two places may
 * mark the same wait. lw_dispatch_begin() ends a wait, too. `tag` names what runs until the next wait
 * in no pair; it is not copied, and must stay readable until then; NULL: the tag of the pair around the wait,
 * if there is one. lw_loop_turn(): the loop has come round without a wait, as one does that is never idle; as
 * a wait that has taken no time. Hot: each as one half of a dispatch. */
LW_API void lw_loop_wait_begin(lw_loop* loop) LW_NOEXCEPT;
LW_API void lw_loop_wait_end(lw_loop* loop, const char* tag) LW_NOEXCEPT;
LW_API void lw_loop_turn(lw_loop* loop, const char* tag) LW_NOEXCEPT;
/* Whether the loop waits, or is in no dispatch, with no pair around it. On its thread. Hot. */
static inline int lw_loop_is_idle(const lw_loop* loop) LW_NOEXCEPT {
  return loop == NULL || (loop->begun == loop->ended && loop->nested == 0);
}

/* Gives the dispatch under way another tag, as lw_dispatch_begin() does; its time goes on. For programs that
 * know only later which request it serves. On the loop's thread. Hot: two loads and a store. */
static inline void lw_dispatch_set_tag(lw_loop* loop, const char* tag) LW_NOEXCEPT {
  if (loop != NULL && loop->begun != loop->ended) __atomic_store_n(&loop->tag, tag, __ATOMIC_RELEASE);
}

/* lw_note_queued(): a task was put into the loop's queue. lw_note_run(): one was taken out of it, to be run
 * or to be dropped. Each task needs one of each. The library counts, and assumes that tasks run in the order
 * in which they were queued. It checks the counts at least five times in two thresholds: a wait is found when
 * it has lasted between 1 and 1.4 thresholds, its reported length is short by 0.4 thresholds at most, and no
 * shorter wait is ever reported. A task that overtakes others hides their wait for as long. The hang ends
 * when no task waits that long any more. From any thread, until the loop's own thread ends. Hot: one atomic
 * addition, no clock. */
LW_API void lw_note_queued(lw_loop* loop) LW_NOEXCEPT;
LW_API void lw_note_run(lw_loop* loop) LW_NOEXCEPT;
/* Reports how long the task of the current dispatch had waited in the queue; on the loop's thread. If a
 * dispatch runs several tasks, the longest wait counts. Reports list it with the loop's past dispatches,
 * beside their durations. For programs that keep the time at which a task was queued. Hot: a few loads and
 * stores, no clock. */
LW_API void lw_note_queue_wait(lw_loop* loop, uint64_t wait_ns) LW_NOEXCEPT;

/* Mark a part of the work of the loop's thread that has a deadline of its own, 16 ms to 1 h, in a dispatch or
 * not. `name` is the report's tag; not copied: it must stay readable until the scope ends. Scopes may be
 * nested, and each keeps its own deadline: the outer one's continues inside the inner one, and is watched
 * again when the inner one ends. Of the scopes under way, the first to pass its deadline is reported, the
 * others once that one has ended. Scopes nested deeper than 8 are not watched. The first scope with a shorter
 * deadline than any before may be found a check period late. Hot: one read of the tick counter per pair. */
LW_API void lw_scope_begin(lw_loop* loop, const char* name, uint32_t deadline_ms) LW_NOEXCEPT;
LW_API void lw_scope_end(lw_loop* loop) LW_NOEXCEPT;

/* Mark work that the loop does when it has nothing else to do, on the loop's thread. Hot: as a dispatch. */
LW_API void lw_idle_begin(lw_loop* loop) LW_NOEXCEPT;
LW_API void lw_idle_end(lw_loop* loop) LW_NOEXCEPT;

/* An input event has arrived for the loop, at any thread; the loop has finished one. Counted as tasks are,
 * with the same precision: see lw_note_queued(). Hot: one atomic addition, no clock. */
LW_API void lw_input_received(lw_loop* loop) LW_NOEXCEPT;
LW_API void lw_input_finished(lw_loop* loop) LW_NOEXCEPT;

/* For programs with a display: mark the making of each frame, on the loop's thread, in a dispatch or not.
 * `vsync_ns` is the refresh that the frame is made for, on CLOCK_MONOTONIC, as compositors and drivers report
 * it; 0 if it is unknown: then the frame's begin is used. A frame inside another does not count.
 *
 * The number of dropped frames is the number of whole refresh intervals between a frame's refresh and its
 * end; 0 if it is done within one. By dropped frames a frame is best (< 3), normal (< 9), middle (< 24), high
 * (< 42) or frozen. Frames, dropped frames and the time in each stage are summed for each loop and scene (as
 * lw_set_scene() had it when the frame began) over 10 s at most, and written to the spool once a minute while
 * the loop draws, else 10 s after it has stopped: sums that are not written when the program is killed are
 * lost.
 *
 * A frame that takes longer than slow_frame_ms, from its begin, is reported with stacks, kind "frames"; the
 * loop's next slow frames are only counted for 10 s. Hot: one read of the clock each, which is a system call
 * where the kernel shares no clock with programs. */
LW_API void lw_frame_begin(lw_loop* loop, uint64_t vsync_ns) LW_NOEXCEPT;
/* Assigns the frame's time to this stage, until the next call or the frame's end. */
LW_API void lw_frame_stage(lw_loop* loop, lw_stage stage) LW_NOEXCEPT;
LW_API void lw_frame_end(lw_loop* loop) LW_NOEXCEPT;
/* Sets how long the display shows a frame, 1 ms to 1 s. 0, the default: measured from the frames' refreshes,
 * or 60 Hz if those are unknown. A program that draws only for every second refresh should set it. From any
 * thread; wait-free. */
LW_API void lw_set_refresh_interval(lw_loop* loop, uint64_t interval_ns) LW_NOEXCEPT;

/* Mark a part of the program's work that traces show by name, on any thread; may be nested. `name` is not
 * copied: it must stay readable for as long as the program runs, as a literal does. Both calls of a pair
 * belong to one thread and have one name. Also for signal handlers. Hot: two loads and a compare if no calls
 * are recorded, else about two reads of the tick counter per pair. */
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

/* Records the program's threads from now on, in memory, with or without a monitor. A process has one
 * recording at a time; a monitor with the option `trace` counts as one. NULL: the defaults. Returns LW_OK, or
 * LW_OFF: see lw_why_no_recording(). After fork() the child has none. Any thread; takes some 15 ms; not for
 * signal handlers. */
LW_API lw_status lw_start_recording(const lw_recording_options* options) LW_NOEXCEPT;
/* Ends the recording and writes it to the file `path`, for `lagwatch trace show` and `lagwatch trace
 * convert`; NULL or "": drops it. The previous file stays if it cannot be written. Returns 1, or 0: see
 * lw_why_no_recording(); then, too, nothing is recorded any longer. Any thread; takes some 15 ms, and more
 * for a large one; not for signal handlers. */
LW_API int lw_stop_recording(const char* path) LW_NOEXCEPT;
/* Returns why this thread's last call of the two above failed. Empty if it did not. Valid until its next
 * one. */
LW_API const char* lw_why_no_recording(void) LW_NOEXCEPT;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* LAGWATCH_C_H_ */
