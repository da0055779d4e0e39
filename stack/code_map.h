// SPDX-License-Identifier: Apache-2.0
// The code loaded in a process and its unwind tables: the module map, the tables and the unwinder, shared
// by all capturers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

#include "base/status.h"
#include "stack/code/code_snapshot.h"
#include "stack/code/module_map.h"
#include "stack/code/script_functions.h"
#include "stack/code/unwinder.h"
#include "stack/elf/frame_section_file.h"
#include "stack/frames/raw_stack.h"
#include "stack/frames/stack.h"
#include "stack/unwind/tables/table_library.h"

namespace lagwatch::stack {

// Thread safety: any thread; all but the snapshot takes the map's lock, for some microseconds, and Refresh
// for as long as it reads the process's map. A forked child, whose lock may be held for ever, must leak it.
class CodeMap final : private ModuleSource {
 public:
  // Creates a map with the system's usual unwinder: tables of its own, compiled by a thread in the
  // background, or frame pointers (Darwin, which needs no `files`). Errors: kUnavailable if no thread can be
  // started, or without memory. Context: background.
  static base::Result<std::shared_ptr<CodeMap>> Create(const FrameSectionLoader& files = {});
  // With any unwinder. Context: background.
  explicit CodeMap(std::unique_ptr<Unwinder> unwinder, const base::Process& process = base::Process::Own());
  ~CodeMap() override;

  // See ModuleMap. Context: watchdog.
  const base::Process& process() const { return modules_.process(); }
  void LookAt(const base::Process& process);

  // Updates the map of loaded code and of possible stacks. To be called before captures. Context: watchdog.
  void Refresh();
  // To be called now and then while captures go on: looks again when stacks since then had addresses that
  // belong to nothing known, or when that was long ago. Context: watchdog.
  void RefreshIfDue();
  // The number of refreshes; 0: none. Context: any.
  uint32_t refresh_count() const {
    return refresh_count_.load(std::memory_order_acquire);  // pairs with Refresh()
  }

  // Leaves out the frames of lagwatch itself (stack/code/own_code.h). Context: watchdog.
  void Unwind(const RawStack& raw, Stack* stack);
  // As Unwind(), with lagwatch's own frames, and lists those that no unwind table describes. Context:
  // watchdog.
  void UnwindTableless(const RawStack& raw, Stack* stack, TablelessFrames* tableless);
  // As Unwind(), with the values that the stack's functions still use. Context: watchdog.
  void UnwindLive(const RawStack& raw, Stack* stack, LiveValues* live);
  // See Unwinder. Context: watchdog.
  void TrustGeneratedRecords();
  // The module of the code at `address`, or kNoModule; `is_code` is false if there is no code. Context:
  // watchdog.
  uint32_t FindCode(uint64_t address, bool* is_code) const;
  // The frame of a caller by its return address, as Unwind() returns it. Right only while the code that
  // was there when the address was recorded still is: call it before the Refresh() that follows an
  // unloading. Context: watchdog.
  Frame Resolve(uint64_t return_address);
  // Copies the regions where stacks may lie to `regions`, which has room for kMaxRanges. Context: watchdog.
  StackRegions CopyStacks(MemoryRegion* regions, uint32_t* refresh_count) const;
  // Context: watchdog.
  Module CopyModule(uint32_t index) const override;
  uint32_t module_count() const;

  // Keeps others from refreshing and unwinding for as long as the answer lives. Context: watchdog.
  [[nodiscard]] std::unique_lock<std::mutex> Hold() const { return std::unique_lock(mutex_); }
  // Only while held; module(index) also later, for an index from a stack of this map.
  const ModuleMap& modules() const { return modules_; }

  // See ModuleMap::AddLanguage(). Context: watchdog.
  uint32_t AddLanguage(std::string_view path);
  // The functions that frames of languages are in. Context: watchdog.
  ScriptFunctions& script_functions() { return script_functions_; }

  // For readers that must not wait.
  const CodeSnapshot& snapshot() const { return snapshot_; }
  // Null when the unwinder has none.
  TableLibrary* tables() const { return unwinder_->tables(); }
  // Code or a stack was met that the map does not hold: see RefreshIfDue(). Context: any.
  void NoteUnknownMemory() {
    // Relaxed: a hint. Read first, so that many threads do not fight for it.
    if (!has_met_unknown_.load(std::memory_order_relaxed))
      has_met_unknown_.store(true, std::memory_order_relaxed);
  }

 private:
  void RefreshHeld();
  // Has the tables of modules that cannot be searched as they lie in memory compiled, before they are needed.
  void RequestTables();

  mutable std::mutex mutex_;
  ModuleMap modules_;
  std::unique_ptr<Unwinder> unwinder_;
  ScriptFunctions script_functions_;
  CodeSnapshot snapshot_;
  std::atomic<uint32_t> refresh_count_{0};
  std::atomic<int64_t> refreshed_ns_{0};
  std::atomic<bool> has_met_unknown_{false};    // since then
  std::atomic<bool> has_found_changes_{false};  // by then
};

}  // namespace lagwatch::stack
