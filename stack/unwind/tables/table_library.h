// SPDX-License-Identifier: Apache-2.0
// The compiled unwind tables of the modules that showed up in stacks. A thread of its own compiles them, so
// that neither the application nor the watchdog waits for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/process/mapped_memory.h"
#include "base/process/quiet_thread.h"
#include "base/process/sleeper.h"
#include "base/status.h"
#include "stack/code/module_map.h"
#include "stack/elf/frame_section_file.h"
#include "stack/unwind/tables/unwind_table.h"

namespace lagwatch::stack {

// Looks up modules by their indices. Thread safety: any thread.
class ModuleSource {
 public:
  virtual ~ModuleSource() = default;
  // Context: watchdog.
  virtual Module CopyModule(uint32_t index) const = 0;
};

// The compiled tables, by module.
//
// Thread safety: Find and functions marked so for any context from any thread; the rest from one at a time.
// Invariant: a table is complete before its pointer is published, and lives as long as the library.
class TableLibrary {
 public:
  // Context: background.
  explicit TableLibrary(const FrameSectionLoader& files = {});
  // Context: background. TryStop() must have succeeded, or never have been needed.
  ~TableLibrary();

  base::Status Start();
  // Ends the thread. False when it hangs: then the library must be leaked.
  [[nodiscard]] bool TryStop();

  // The table of the module with that index in the module map; null when it is not compiled
  // (yet). Context: any.
  const UnwindTable* Find(uint32_t module_index) const {
    return tables_[module_index].load(std::memory_order_acquire);  // pairs with the publishing store
  }
  // Whether it was requested already. Context: any.
  bool IsRequested(uint32_t module_index) const {
    return states_[module_index].load(std::memory_order_relaxed) != TableState::kUnknown;  // a hint
  }
  // Has it compiled, once. Context: watchdog.
  void Request(uint32_t module_index, const Module& module);
  // The same without waiting: the library's own thread looks up the module in its source. Context: any,
  // except for a system call the first time.
  void RequestByIndex(uint32_t module_index) {
    auto expected = TableState::kUnknown;
    if (states_[module_index].compare_exchange_strong(expected, TableState::kWanted)) sleeper_.Wake();
  }
  // Null: none (any more), and once this has returned, it is not asked. Context: background.
  void UseSource(const ModuleSource* source);

  // Waits until all that was requested is compiled. Context: background.
  void AwaitForTest() const;

 private:
  enum class TableState : uint8_t { kUnknown, kWanted, kBeingRequested, kRequested, kDone };

  static void Run(void* self);
  void CompileRequested();
  // Whether the module of a request is known now.
  bool CopyRequested(uint32_t module_index);
  // False when there are no rules.
  bool Compile(const Module& module, UnwindTable* table) const;
  // The table of the same build, loaded somewhere else before; null when there is none.
  const UnwindTable* FindSameBuild(uint32_t module_index) const;

  FrameSectionLoader files_;
  std::unique_ptr<std::atomic<const UnwindTable*>[]> tables_;  // by index of the module
  std::unique_ptr<std::atomic<TableState>[]> states_;
  base::MappedBlock<Module> modules_;    // copies of those requested
  std::unique_ptr<uint8_t[]> give_ups_;  // number of times that a module was not the one that was read;
                                         // the own thread's
  std::mutex source_mutex_;              // of the next one
  const ModuleSource* source_ = nullptr;
  std::atomic<bool> stopping_{false};
  base::Sleeper sleeper_;
  base::QuietThread thread_;
};

}  // namespace lagwatch::stack
