// SPDX-License-Identifier: Apache-2.0
// The memory of a recording, in one piece that another process can map, too: the recording outlives the
// recorded program, even if that is killed. Holds indices, no pointers.
//
// Thread safety: see each part. A reader may be in another process and does not disturb the writers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/counter.h"
#include "base/status.h"
#include "base/unsynchronized_copy.h"
#include "trace/block_pool.h"

namespace lagwatch::trace {

// A loaded module and its address. Written once, before `module_count` includes it.
struct ArenaModule {
  static constexpr size_t kMaxPathBytes = 512;
  static constexpr size_t kMaxBuildIdBytes = 32;

  uint64_t begin;  // of its mapping
  uint64_t end;
  uint64_t load_bias;
  uint16_t path_size;
  uint16_t build_id_size;
  char path[kMaxPathBytes];
  unsigned char build_id[kMaxBuildIdBytes];
};

// A function of a script. Written once, before `function_count` includes it.
struct ArenaFunction {
  uint64_t number;  // stack::ScriptFunctions'
  uint16_t name_size;
  uint16_t file_size;
  char name[256];
  char file[256];
};

// A run that goes on; the same members as in a model's Run.
struct OpenRun {
  int64_t begin_ns;
  int64_t end_ns;
  uint32_t count;  // 0: there is none
  uint32_t stack;  // StackTable's id
  uint32_t dispatch;
  uint32_t is_complete;
};

// A recorded thread. Its sampler writes it; a reader that finds the same even `version` before and after its
// copy has a consistent copy.
struct ArenaThread {
  static constexpr size_t kMaxNameBytes = 16;

  std::atomic<uint32_t> version;  // odd: being written
  int32_t tid;                    // 0: the place was never used
  char name[kMaxNameBytes];
  OpenRun open;
};

// A node of the call-stack table: see stack_table.h.
struct StackNodeBytes {
  enum Flags : uint16_t { kInModule = 0, kAddress = 1, kScript = 2 };

  uint32_t parent;  // index of its node in the same generation; 0: none
  uint16_t module;
  uint16_t flags;
  uint32_t offset;           // kAddress: the lower half; kScript: the line
  uint32_t function_offset;  // kAddress: the upper half; kScript: FunctionTable's

  bool operator==(const StackNodeBytes&) const = default;
};
static_assert(sizeof(StackNodeBytes) == 16);

// Its id: eight bits of its generation's number, then the node's index.
inline constexpr uint32_t kStackIndexBits = 24;
inline constexpr uint32_t kNoStack = 0;

// Half of the call-stack table.
struct StackGeneration {
  std::atomic<uint64_t> number;  // 0: being emptied; else ascending, by one each time the other half is full
  std::atomic<uint32_t> node_count;  // of published nodes, the unused first one included
};

// The same moment on the processor's counter and on the clock.
struct ArenaTicks {
  std::atomic<uint32_t> version;  // as a thread's
  uint64_t first_ticks;
  int64_t first_mono_ns;
  uint64_t last_ticks;
  int64_t last_mono_ns;
};

struct ArenaLayout {
  uint64_t module_capacity;
  uint64_t thread_capacity;
  uint64_t function_capacity;
  uint64_t stack_capacity;  // nodes of a generation
  uint64_t main_blocks;     // of each pool
  uint64_t worker_blocks;
  uint64_t call_blocks;
};

// The recorder's counters, which other processes can read. Each drop has its own, and a reader names the
// option that would have avoided it.
struct RecordCounters {
  base::Counter looks;               // checks of threads, by samplers
  base::Counter samples;             // stacks captured or extended
  base::Counter extended;            // of these, of threads that had not run since
  base::Counter captures;            // of threads by themselves, in hooked calls
  base::Counter raw_bytes;           // size of the samples with all their program counters
  base::Counter run_bytes;           // their encoded size
  base::Counter no_answer;           // captures that yielded no stack
  base::Counter timers_refused;      // threads that are not sampled while they run
  base::Counter between_dispatches;  // samples during which a dispatch began or ended
  base::Counter late_ticks;          // of a sampler that came an interval or more too late
  base::Counter stacks_refused;      // that did not fit the call-stack table
  base::Counter stack_generations;   // times that older stacks were discarded
  base::Counter runs_refused;        // that found no block
  base::Counter threads_refused;     // that found no place
  base::Counter modules_refused;
  base::Counter captures_dropped;    // of threads by themselves, whose ring was full
  base::Counter script_samples;      // of threads by themselves, with their script frames
  base::Counter script_ns;           // processor's time that script frames took
  base::Counter copy_ns;             // that threads spent in copying their stacks, for script frames
  base::Counter copies_same;         // equal to the one before
  base::Counter copies_refused;      // samples without script frames, because there was no room for stacks
  base::Counter functions_refused;   // frames of scripts whose functions found no place
  base::Counter functions_too_hot;   // that were patched, and left because they were called too often
  base::Counter dispatches_refused;  // no block for their times, or not copied in time
};

enum class ArenaState : uint32_t { kEmpty, kRecording, kStopped };

struct ArenaHeader {
  static constexpr uint64_t kMagic = 0x6c77'7472'6163'6535;  // "lwtrace5"

  uint64_t magic;
  ArenaLayout layout;
  int32_t owner_pid;  // the recording ends with this process; 0: the recorded one
  int32_t pid;
  char process_name[ArenaThread::kMaxNameBytes];
  std::atomic<ArenaState> state;
  int64_t begin_mono_ns;
  std::atomic<int64_t> last_mono_ns;      // when the recorder was last seen alive
  std::atomic<int64_t> complete_mono_ns;  // everything seen before is here; 0: none of it yet
  int64_t wall_minus_mono_ns;
  int64_t boot_minus_mono_ns;
  // The samplers' settings, which another process may change; read at each tick.
  std::atomic<int64_t> main_interval_ns;
  std::atomic<int64_t> worker_interval_ns;
  std::atomic<uint32_t> is_stop_wanted;
  std::atomic<uint32_t> module_count;
  std::atomic<uint32_t> function_count;
  ArenaTicks ticks;
  StackGeneration generations[2];
  RecordCounters counters;
};

// A mapping of an arena. Context: background; accessors: any.
class Arena {
 public:
  struct Sizes {
    uint64_t main_bytes = 8 << 20;  // of the main thread's samples
    uint64_t worker_bytes = 8 << 20;
    uint64_t call_bytes = 8 << 20;   // of instrumented calls
    uint64_t stack_bytes = 8 << 20;  // of the call-stack table

    // Shares of `bytes`. Whole stacks take most. Calls take 8 bytes each time a function is entered or left;
    // where nothing is instrumented their part is never touched.
    static Sizes Of(uint64_t bytes) {
      return {.main_bytes = bytes / 4,
              .worker_bytes = bytes / 8,
              .call_bytes = bytes / 8,
              .stack_bytes = bytes / 2};
    }
  };

  // Fresh memory of this process alone. Null when there is none.
  static std::unique_ptr<Arena> CreatePrivate(const Sizes& sizes);
  // A new file of that size, for its owner only, that others can map. Errors: kIo.
  static base::Result<std::unique_ptr<Arena>> CreateFile(const std::string& path, const Sizes& sizes);
  // Maps what another process created. Errors: kIo; kInvalid when it is no arena of this version.
  static base::Result<std::unique_ptr<Arena>> Open(const std::string& path);
  // Frees `arena` except the pool of calls, which stays mapped and empty for ever: a thread may be on its way
  // out of a recorded call. Context: background.
  static void FreeButCalls(std::unique_ptr<Arena> arena);
  // Clears it for a new recording. Not while it is being written. Context: background.
  void Clear();
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  ArenaHeader& header() const { return *static_cast<ArenaHeader*>(memory_); }
  // The layout as it was when it was mapped: the other process may have written anything over it since.
  const ArenaLayout& layout() const { return layout_; }
  // The present number of modules.
  uint32_t module_count() const {
    const uint64_t count = header().module_count.load(std::memory_order_acquire);  // pairs with its store
    return static_cast<uint32_t>(std::min(count, layout_.module_capacity));
  }
  // … of functions of scripts.
  uint32_t function_count() const {
    const uint64_t count = header().function_count.load(std::memory_order_acquire);  // pairs with its store
    return static_cast<uint32_t>(std::min(count, layout_.function_capacity));
  }
  ArenaModule* modules() const;
  ArenaFunction* functions() const;
  ArenaThread* threads() const;
  StackNodeBytes* stack_nodes(uint64_t generation_number) const;
  BlockPool main_pool() const;
  BlockPool worker_pool() const;
  BlockPool call_pool() const;

 private:
  Arena(void* memory, size_t size_bytes, const ArenaLayout& layout)
      : memory_(memory), size_bytes_(size_bytes), layout_(layout) {}

  void* memory_;
  size_t size_bytes_;
  ArenaLayout layout_;
};

// Converts times of the processor's counter, from two moments that are known on both clocks. Context: any.
class ArenaClock {
 public:
  // As `ticks` stands now; not known where a recorder was killed while it wrote it. Context: any; waits while
  // the recorder writes it.
  explicit ArenaClock(const ArenaTicks& ticks) {
    constexpr int kTries = 1'000'000;
    for (int i = 0; i < kTries; ++i) {
      const uint32_t version = ticks.version.load(std::memory_order_acquire);  // pairs with its store
      base::CopyUnsynchronized(&ticks.last_ticks, &ticks_, sizeof ticks_);
      base::CopyUnsynchronized(&ticks.last_mono_ns, &mono_ns_, sizeof mono_ns_);
      const uint64_t passed_ticks = ticks_ - ticks.first_ticks;
      const int64_t passed_ns = mono_ns_ - ticks.first_mono_ns;
      std::atomic_thread_fence(std::memory_order_acquire);
      const bool is_whole = version % 2 == 0 &&
                            ticks.version.load(std::memory_order_relaxed) == version;  // ordered by the fence
      if (!is_whole) continue;
      if (passed_ticks != 0)
        ns_per_tick_ = static_cast<double>(passed_ns) / static_cast<double>(passed_ticks);
      return;
    }
  }

  bool is_known() const { return ns_per_tick_ > 0; }
  int64_t ToMonoNs(uint64_t ticks) const {
    return mono_ns_ +
           static_cast<int64_t>(static_cast<double>(static_cast<int64_t>(ticks - ticks_)) * ns_per_tick_);
  }
  // When `ticks` stood so.
  int64_t NowNs() const { return mono_ns_; }
  uint64_t TicksPerMs() const { return is_known() ? static_cast<uint64_t>(1e6 / ns_per_tick_) : 0; }

 private:
  uint64_t ticks_ = 0;
  int64_t mono_ns_ = 0;
  double ns_per_tick_ = 0;
};

}  // namespace lagwatch::trace
