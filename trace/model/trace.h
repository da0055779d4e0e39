// SPDX-License-Identifier: Apache-2.0
// A recording of one process, as plain data, shared by recorders, the trace file, the analyses and the
// exporters. All times are CLOCK_MONOTONIC in nanoseconds. Context: background.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stack/frames/frame.h"

namespace lagwatch::trace {

inline constexpr uint32_t kNoIndex = stack::kNoModule;  // one "none" for modules and all else

struct Module {
  std::string path;
  std::string build_id;    // raw bytes; may be empty
  uint64_t load_bias = 0;  // address = load_bias + offset
};

// A place in code with its name, or a part of a function that the program named itself.
struct NamedFrame : stack::Frame {  // its module is an index into Trace::modules
  NamedFrame(const stack::Frame& place = {kNoIndex, 0, 0}, std::string text = {}, std::string source = {},
             uint32_t source_line = 0)
      : stack::Frame(place), name(std::move(text)), file(std::move(source)), line(source_line) {}

  std::string name;  // demangled; empty until it was looked up
  std::string file;  // of the source; may be empty
  uint32_t line;
  uint64_t id = 0;  // StableFunctionId(); 0: unknown
};

// A stack is the path from a node to its root. Parents come before their children.
struct StackNode {
  uint32_t parent = kNoIndex;  // index into Trace::nodes; kNoIndex: the thread began here
  uint32_t frame = 0;          // index into Trace::frames
};

// A thread's use of resources since it began.
struct Totals {
  int64_t cpu_ns = 0;
  uint64_t allocations = 0;
  uint64_t allocated_bytes = 0;
  uint64_t minor_faults = 0;
  uint64_t major_faults = 0;
  uint64_t voluntary_switches = 0;
  uint64_t involuntary_switches = 0;

  bool operator==(const Totals&) const = default;
};

enum class RunKind : uint8_t {
  kSampled,   // a sampler looked at the thread
  kCaptured,  // captured in a hooked call that returned at once
  kWaited,    // captured at the end of a hooked call that lasted from begin_ns to end_ns exactly
  kWoke,      // captured as the thread woke another one that waited for `object`, at begin_ns
};

// The hooked call in which a thread captured its stack. The innermost frame is that call's own, except for
// kNone and kUser.
enum class CallKind : uint8_t {
  kNone,
  kAllocation,
  kMutex,
  kRwLock,
  kCondition,
  kSemaphore,
  kBarrier,
  kJoin,
  kFutex,
  kFile,
  kSocket,
  kPoll,
  kSleep,
  kLoadLibrary,
  kClock,
  kUser,  // the program asked for it
};

// One stack, seen `count` times in a row in one dispatch, from the first to the last time.
struct Run {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;  // equal to begin_ns when it was seen once
  uint32_t count = 1;
  uint32_t stack = kNoIndex;  // index into Trace::nodes, the innermost one
  uint32_t dispatch = 0;      // 0: in none, or not known
  RunKind kind = RunKind::kSampled;
  CallKind call = CallKind::kNone;
  uint64_t object = 0;           // kWaited, kWoke: address of the lock, the thread …; 0 when there is none
  bool is_for_all = false;       // kWoke: all that waited, as a broadcast does
  bool is_running = false;       // kSampled: the thread had a processor; false also where that is not known
  bool is_complete = true;       // false: outermost frames are missing
  std::optional<Totals> totals;  // at end_ns; of captures in hooked calls
};

// An instrumented function, or a part that the program named, was entered or left.
struct CallEvent {
  int64_t time_ns = 0;
  uint32_t frame = 0;  // index into Trace::frames
  bool is_enter = false;
};

// One turn of the thread's loop.
struct Dispatch {
  uint32_t id = 0;  // Run::dispatch
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  std::string tag;
};

struct Thread {
  int32_t tid = 0;
  std::string name;
  // Ascending by begin_ns. A kWaited run may hold kSampled ones, which were seen while it lasted;
  // else none overlap.
  std::vector<Run> runs;
  // Ascending. Records that were overwritten leave ends without begins and begins without ends.
  std::vector<CallEvent> calls;
  std::vector<Dispatch> dispatches;  // ascending
};

// Missing records, and the option that would have kept them.
struct Loss {
  std::string what;  // for example "samples overwritten"
  uint64_t count = 0;
  std::string remedy;  // for example "--buffer-mib 32"
};

struct Trace {
  int32_t pid = 0;
  std::string process_name;
  int64_t begin_ns = 0;  // of the window that was recorded
  int64_t end_ns = 0;
  int64_t wall_minus_mono_ns = 0;  // CLOCK_REALTIME less CLOCK_MONOTONIC
  int64_t boot_minus_mono_ns = 0;  // CLOCK_BOOTTIME less CLOCK_MONOTONIC
  int64_t sample_interval_ns = 0;  // of the samplers, the longest; 0 when there were none
  std::vector<Module> modules;
  std::vector<NamedFrame> frames;
  std::vector<StackNode> nodes;
  std::vector<Thread> threads;
  std::vector<Loss> losses;
};

}  // namespace lagwatch::trace
