// SPDX-License-Identifier: Apache-2.0
// lagwatch for C++: header-only wrappers of c.h, which describes every function in full. Options are in
// options.h.
//
//   lagwatch::Options options{.app = "editor", .app_version = "2.3.1", .endpoint = "https://lag.example.com",
//                             .key = "k_…", .user = "u-71"};
//   auto monitor = lagwatch::Monitor::Start(options);
//   auto loop = monitor.WatchLoop("ui");
//   while (Event event = NextEvent()) {
//     lagwatch::ScopedDispatch dispatch(loop, event.name);
//     Handle(event);
//   }
#pragma once

#include <lagwatch/c.h>
#include <lagwatch/options.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lagwatch {

// A watched loop of the thread that called WatchLoop. A plain handle: copying it copies the handle.
class Loop {
 public:
  explicit Loop(lw_loop* handle = nullptr) noexcept : handle_(handle) {}
  lw_loop* handle() const noexcept { return handle_; }
  // False if there were too many loops; dispatches of such a loop are not timed.
  bool is_watched() const noexcept { return handle_ != nullptr; }

  // Sets thresholds of the loop's own; returns those in force. From any thread.
  lw_thresholds SetThresholds(uint32_t threshold_ms, uint32_t anr_threshold_ms) const noexcept {
    return lw_set_thresholds(handle_, threshold_ms, anr_threshold_ms);
  }
  // Sets the loop's importance, for its reports. From any thread.
  void SetWeight(uint32_t weight) const noexcept { lw_set_weight(handle_, weight); }

  // A task was queued; one was taken out of the queue. From any thread. Hot. For an executor that cannot be
  // changed, see queue_ping.h.
  void NoteQueued() const noexcept { lw_note_queued(handle_); }
  void NoteRun() const noexcept { lw_note_run(handle_); }
  // Reports how long the current dispatch's task had waited in the queue. On the loop's thread. Hot.
  void NoteQueueWait(std::chrono::nanoseconds wait) const noexcept {
    lw_note_queue_wait(handle_, wait.count() > 0 ? static_cast<uint64_t>(wait.count()) : 0);
  }
  // An input event arrived; the loop has finished one. From any thread. Hot.
  void InputReceived() const noexcept { lw_input_received(handle_); }
  void InputFinished() const noexcept { lw_input_finished(handle_); }
  // The loop's own wait for events begins; it ends; the loop has come round without one. On the loop's
  // thread. Hot. See lw_loop_wait_begin().
  void WaitBegin() const noexcept { lw_loop_wait_begin(handle_); }
  void WaitEnd(const char* tag = nullptr) const noexcept { lw_loop_wait_end(handle_, tag); }
  void Turn(const char* tag = nullptr) const noexcept { lw_loop_turn(handle_, tag); }
  // Sets how long the display shows a frame; 0: measured. From any thread.
  void SetRefreshInterval(uint64_t interval_ns) const noexcept {
    lw_set_refresh_interval(handle_, interval_ns);
  }

 private:
  lw_loop* handle_;
};

// One dispatch of a loop, from construction to destruction. On the loop's thread. Hot.
class ScopedDispatch {
 public:
  // `tag` must stay readable until the dispatch ends.
  explicit ScopedDispatch(Loop loop, const char* tag = nullptr) noexcept : loop_(loop.handle()) {
    lw_dispatch_begin(loop_, tag);
  }
  ~ScopedDispatch() { lw_dispatch_end(loop_); }
  ScopedDispatch(const ScopedDispatch&) = delete;
  ScopedDispatch& operator=(const ScopedDispatch&) = delete;

 private:
  lw_loop* loop_;
};

// A scope with a deadline of its own, from construction to destruction. On the loop's thread. Hot.
class ScopedDeadline {
 public:
  // `name` must stay readable until the scope ends.
  ScopedDeadline(Loop loop, const char* name, uint32_t deadline_ms) noexcept : loop_(loop.handle()) {
    lw_scope_begin(loop_, name, deadline_ms);
  }
  ~ScopedDeadline() { lw_scope_end(loop_); }
  ScopedDeadline(const ScopedDeadline&) = delete;
  ScopedDeadline& operator=(const ScopedDeadline&) = delete;

 private:
  lw_loop* loop_;
};

// An idle handler of the loop, from construction to destruction. On the loop's thread. Hot.
class ScopedIdleHandler {
 public:
  explicit ScopedIdleHandler(Loop loop) noexcept : loop_(loop.handle()) { lw_idle_begin(loop_); }
  ~ScopedIdleHandler() { lw_idle_end(loop_); }
  ScopedIdleHandler(const ScopedIdleHandler&) = delete;
  ScopedIdleHandler& operator=(const ScopedIdleHandler&) = delete;

 private:
  lw_loop* loop_;
};

// A frame of the display, from construction to destruction. On the loop's thread. Hot.
class ScopedFrame {
 public:
  // `vsync_ns` is the refresh that the frame is for, on CLOCK_MONOTONIC; 0 if unknown.
  explicit ScopedFrame(Loop loop, uint64_t vsync_ns = 0) noexcept : loop_(loop.handle()) {
    lw_frame_begin(loop_, vsync_ns);
  }
  ~ScopedFrame() { lw_frame_end(loop_); }
  ScopedFrame(const ScopedFrame&) = delete;
  ScopedFrame& operator=(const ScopedFrame&) = delete;

  // Assigns the time from now on to this stage.
  void Stage(lw_stage stage) const noexcept { lw_frame_stage(loop_, stage); }

 private:
  lw_loop* loop_;
};

// A part of the program's work that traces show by name, from construction to destruction. On any thread.
// Hot: costs almost nothing while no calls are recorded.
class ScopedTrace {
 public:
  // `name` must stay readable for as long as the program runs: a literal.
  explicit ScopedTrace(const char* name) noexcept : name_(name) { lw_trace_begin(name_); }
  ~ScopedTrace() { lw_trace_end(name_); }
  ScopedTrace(const ScopedTrace&) = delete;
  ScopedTrace& operator=(const ScopedTrace&) = delete;

 private:
  const char* name_;
};

// See lw_recording_options.
struct RecordingOptions {
  uint32_t interval_ms = 10;    // 1 to 100
  uint32_t buffer_kib = 32768;  // 1024 to 1048576
  bool has_hooks = false;
  std::vector<int32_t> threads = {};  // empty: all
};

// Records the program's threads as long as it lives, with or without a monitor. A process has one recording
// at a time.
class Recording {
 public:
  // Never fails the program: see is_on() and why_not().
  static Recording Start(const RecordingOptions& options = {}) {
    lw_recording_options raw;
    lw_recording_options_init(&raw);
    raw.interval_ms = options.interval_ms;
    raw.buffer_kib = options.buffer_kib;
    raw.has_hooks = options.has_hooks ? 1 : 0;
    raw.threads = options.threads.data();
    raw.thread_count = options.threads.size();
    return Recording(lw_start_recording(&raw) == LW_OK);
  }
  Recording(Recording&& other) noexcept
      : is_on_(std::exchange(other.is_on_, false)), why_not_(std::move(other.why_not_)) {}
  Recording& operator=(Recording&&) = delete;
  ~Recording() {
    if (is_on_) lw_stop_recording(nullptr);
  }

  // Ends it and writes it to the file `path`, for `lagwatch trace show`. Returns whether that has worked.
  bool Stop(const std::string& path) {
    if (!std::exchange(is_on_, false)) return false;
    const bool is_written = lw_stop_recording(path.c_str()) != 0;
    why_not_ = lw_why_no_recording();
    return is_written;
  }
  bool is_on() const noexcept { return is_on_; }
  // Returns why it did not start, or why it is not written; empty if neither failed.
  const std::string& why_not() const noexcept { return why_not_; }

 private:
  explicit Recording(bool is_on) : is_on_(is_on), why_not_(lw_why_no_recording()) {}

  bool is_on_;
  std::string why_not_;
};

// Keeps the process's monitor running as long as it lives. A process has one monitor.
class Monitor {
 public:
  // Never fails the program: see is_on() and why_off().
  static Monitor Start(const Options& options) noexcept {
    const lw_options raw = ToRaw(options);
    return Monitor(lw_start(&raw));
  }
  Monitor(Monitor&& other) noexcept : status_(std::exchange(other.status_, LW_OFF)) {}
  Monitor& operator=(Monitor&& other) noexcept {
    if (this != &other) {
      Stop();
      status_ = std::exchange(other.status_, LW_OFF);
    }
    return *this;
  }
  ~Monitor() { Stop(); }

  // Watches a loop of the calling thread.
  Loop WatchLoop(const char* name) const noexcept { return Loop(lw_watch_loop(name)); }
  // Stops the monitor if this object started it; waits up to `flush_timeout_ms` for uploads.
  void Stop(uint32_t flush_timeout_ms = 2000) noexcept {
    if (std::exchange(status_, LW_OFF) == LW_OK) lw_stop(flush_timeout_ms);
  }
  // Sets the user's consent. A monitor that waits for consent starts, and then belongs to this object.
  void SetConsent(lw_consent consent) noexcept {
    const lw_status status = lw_set_consent(consent);
    if (status != LW_ALREADY_STARTED) status_ = status;
  }
  bool is_on() const noexcept { return status_ != LW_OFF; }
  // Returns why the monitor is off; empty when it is on.
  std::string why_off() const { return lw_why_off(); }
  // Returns the end of the program's last run, if it left a record.
  std::optional<lw_last_exit> last_exit() const noexcept {
    lw_last_exit last_exit;
    lw_last_exit_init(&last_exit);
    return lw_get_last_exit(&last_exit) != 0 ? std::optional(last_exit) : std::nullopt;
  }
  // Requests a report with the stacks of all threads. Returns false if none will be made. From any thread.
  bool DumpNow(const char* reason) const noexcept { return lw_dump_now(reason) != 0; }
  // With Options::trace.is_on: requests a trace of the last seconds. Returns false if none will be made.
  // From any thread.
  bool TraceNow() const noexcept { return lw_trace_now() != 0; }
  lw_stats stats() const noexcept {
    lw_stats stats;
    lw_stats_init(&stats);
    lw_get_stats(&stats);
    return stats;
  }

 private:
  explicit Monitor(lw_status status) noexcept : status_(status) {}

  lw_status status_;
};

}  // namespace lagwatch
