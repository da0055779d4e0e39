// SPDX-License-Identifier: Apache-2.0
// The watchdog's output. It knows nothing of reports, files or networks.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/uuid.h"
#include "policies/frame_levels.h"
#include "policies/hang_parts.h"
#include "policies/time_discount.h"
#include "policies/verdict.h"
#include "stack/code/module_map.h"
#include "stack/code/script_functions.h"
#include "stack/frames/stack.h"
#include "stack/threads/lock_owner.h"
#include "watchdog/events/usage_period.h"

namespace lagwatch::watchdog {

struct LoopSample {
  int64_t mono_ns;          // when the thread was asked for its stack
  int64_t found_ns;         // … and the time until which it was there for certain
  policies::ThreadUse use;  // since the sample before
  stack::NoStackReason no_stack_reason;
  stack::Stack stack;
};
static_assert(
    std::is_trivially_default_constructible_v<LoopSample>);  // memory that is not used is not touched

// In memory that no constructor touches; ThreadOf describes the fields.
struct ThreadSnapshot {
  static constexpr size_t kMaxNameBytes = 16;
  static constexpr size_t kMaxWaitChannelBytes = 48;

  int32_t tid;
  char name[kMaxNameBytes];
  char state;
  int64_t cpu_ns;
  int64_t syscall_number;
  char wait_channel[kMaxWaitChannelBytes];
  stack::Stack stack;

  // The thread's facts in a report, without its stack. Borrows this one's texts.
  policies::ThreadOf<std::string_view> View() const {
    return {.tid = static_cast<uint32_t>(tid),
            .name = name,
            .state = state,
            .cpu_ns = cpu_ns,
            .wait_channel = wait_channel,
            .syscall_number = syscall_number};
  }
};

// A wait without its stacks' indices in the report: these are the stacks.
struct Wait : policies::WaitOf<std::string_view> {
  const stack::Stack* frames = nullptr;
  const stack::Stack* owner_frames = nullptr;  // null when there is no owner
  // Of the stacks' modules, where the thread is one of another process; else null.
  const stack::ModuleMap* modules = nullptr;
  const stack::ModuleMap* owner_modules = nullptr;
};

using policies::HangKind;
using policies::HangLevel;
using policies::WaitOutcome;

// A further fact of a report, by name.
struct Fact {
  const char* name;  // static
  int64_t number;
  const char* text = nullptr;  // instead of the number
};

// A hang at the moment of a check that found it with a new stack, or over its second threshold. Everything is
// borrowed for the call. The header says what the watchdog knows: nothing of the program.
struct HangEvent : policies::HangHeader<std::string_view> {
  int64_t detected_mono_ns;
  std::span<const LoopSample* const> samples;  // oldest first, at least one
  const stack::Stack* expensive_stack;         // the stack of one of `samples`
  std::span<const ThreadSnapshot* const> threads;
  uint32_t threads_dropped;
  std::span<const Wait>
      waits;  // from the watched thread on, each for the owner that is the next one's thread
  WaitOutcome wait_outcome;
  std::span<const Fact> facts;
  std::span<const policies::PastDispatchOf<std::string_view>>
      history;                // what the loop did before, oldest first
  policies::Verdict verdict;  // of the time from the opening of the hang's first window on
  const stack::ModuleMap* modules;
  const stack::ScriptFunctions* script_functions;
  const stack::ScriptFunctions* peer_functions;  // of the waits' other processes; null: none
  policies::DiscountedTime discounted;           // since the dispatch began
};

// A loop's frames since the event before. Borrowed for the call.
struct FrameEvent {
  // The watchdog goes on with its rounds for so long after the last event, so that a sink that collects them
  // can write them by then.
  static constexpr int64_t kMaxCollectedNs = 10'000'000'000;

  const char* loop_name;
  int64_t seen_mono_ns;
  int64_t refresh_interval_ns;  // the last frame's
  uint64_t scene;               // as passed to LoopFrames::Begin; the same for all of these frames
  policies::FrameTotals frames;
};

// A dispatch that took longer than WatchOptions::slow_dispatch_ns, was no hang, and is over. Borrowed
// for the call.
struct SlowDispatch {
  const char* loop_name;
  const char* tag;  // may be empty
  int32_t tid;
  int64_t begin_mono_ns;
  int64_t duration_ns;
  int64_t threshold_ns;
  int64_t cpu_ns;  // of its thread, too long by 100 ms at most; 0 when not known
  std::span<const Fact> facts;
};

// Context: watchdog, all of it.
class HangSink {
 public:
  virtual ~HangSink() = default;
  // First of all calls, on the watchdog's thread: the time to open what the program may forbid later.
  virtual void OnStart() {}
  // Returns false if the event was lost; its end is then not reported.
  virtual bool OnHang(const HangEvent& event) = 0;
  // The last event in words, for the application; empty where no listener wants it. Valid until the next
  // event.
  virtual const char* LastText() const { return ""; }
  // The same event once more, if OnHang() returned true, with waits that go on in other processes.
  virtual void OnPeers(const HangEvent&) {}
  // A hang is over, of whose reports this one's stack took most of the time. To be called before OnHangEnd(),
  // if it is not the only one.
  virtual void OnBlame(const base::Uuid& /*event_id*/) {}
  // The hang of `event_id` is over.
  virtual void OnHangEnd(const base::Uuid& event_id, int64_t duration_ns) = 0;
  // A dispatch of the loop has lasted for `elapsed_ns` and may be a hang; if it turns out to be one, it is
  // reported under another id.
  virtual void OnUnproven(const base::Uuid& /*id*/, const char* /*loop_name*/, int64_t /*elapsed_ns*/) {}
  virtual void OnUnprovenEnd(const base::Uuid& /*id*/) {}
  // Whether it wants to know of slow dispatches, and one that is over.
  virtual bool WantsSlow() const { return false; }
  virtual void OnSlow(const SlowDispatch&) {}
  // Frames were made, however good or bad they were.
  virtual void OnFrames(const FrameEvent&) {}
  // The loops' usage since the last call that returned true, or since the watch began. Returns false if it
  // was not kept: it is then passed again, with later usage.
  virtual bool OnUsage(const UsageEvent&) { return false; }
  // The same so far, at each round: for a cheap note, in case that nothing more is reported.
  virtual void OnUsageSoFar(const UsageEvent&) {}
  // After each of the watchdog's rounds: the place for small deferred work.
  virtual void OnRoundDone() = 0;
  // The watchdog's last round is done.
  virtual void OnStop() { OnRoundDone(); }
};

}  // namespace lagwatch::watchdog
