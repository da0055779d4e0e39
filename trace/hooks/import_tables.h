// SPDX-License-Identifier: Apache-2.0
// Puts the hooks into the import tables of the loaded modules, and takes them out again.
// docs/design/trace_hooks.md lists the rewritten modules and the exceptions.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/loader_walk.h"
#include "trace/hooks/hook_table.h"

namespace lagwatch::trace {

// Selects the modules whose calls are hooked, by shell patterns of the names of their files, without folders.
// The C library, the loader and sanitizers' runtimes are never changed.
struct ModuleFilter {
  std::vector<std::string> allow = {};  // none: all
  std::vector<std::string> deny = {};
  // The module that the hooks are in, too: where they are linked into the program itself.
  enum class OwnModule : uint8_t { kNever, kIfProgram, kAlways };
  OwnModule own_module = OwnModule::kNever;
};

// Each has hooks of its own choice; a call is hooked while one of them wants it.
enum class HookUser : uint8_t { kRecorder, kIoWatch };
inline constexpr size_t kHookUsers = 2;

struct ImportCounts {
  uint64_t slots_patched = 0;    // at any time
  uint64_t slots_restored = 0;   // at any time
  uint64_t modules_refused = 0;  // whose tables could not be made writable
  uint64_t scans = 0;
};

// The import tables of all modules.
//
// Thread safety: any thread; one at a time rewrites. Context: background. Invariants:
// - A slot is only ever changed from the real function (or the loader's stub for it) to the hook, and back.
// - A module is only changed under the loader's lock, so that it stays loaded, and only after the loader has
//   finished with the slot.
// - The turn is never held across dlsym(3): that waits for the thread that runs a library's constructor, and
//   this may be waiting for the turn.
class ImportTables {
 public:
  // The process has one set of import tables.
  static ImportTables& Shared();

  // Looks up what Install() needs of the loader, on the calling thread, as Install() does itself otherwise:
  // for a thread that holds the loader's lock, as a library's constructor does, and waits for the one that
  // installs.
  void Prepare(HookUser user, uint32_t families, const ModuleFilter& filter);
  // Makes the chosen modules call the hooks, also modules that are loaded later once LookAtModules() is
  // called. Takes the place of the user's earlier choice.
  void Install(HookUser user, uint32_t families, const ModuleFilter& filter);
  // The slots that no other user wants are as they were. Does nothing when nothing is installed.
  void Remove(HookUser user);
  // Looks for modules that were loaded or unloaded since; cheap without any. If another thread is doing so,
  // leaves it to that thread.
  void LookAtModules();

  ImportCounts counts() const;

 private:
  struct Scan;
  class ScopedTurn;

  ImportTables();
  // No families: nothing is installed.
  struct Choice {
    uint32_t families = 0;
    ModuleFilter filter;
  };

  using Choices = std::array<Choice, kHookUsers>;
  // A version of a function that is to be looked up.
  struct NewVersion {
    Hook* hook;
    size_t index;
  };

  void FindRealFunctions();
  // Looks at all modules until no version is unknown. `candidates`: only looks up the versions for these;
  // null: rewrites for `choices_`.
  void Rewrite(const Choices* candidates);
  // With the turn.
  std::vector<NewVersion> LookOnce(const Choices* candidates);
  bool IsInstalled() const;
  // The families of hooks that users want in that module.
  uint32_t FamiliesOf(const Choices& choices, const class LoadedModule& module, std::string_view path) const;
  bool IsChosen(const ModuleFilter& filter, std::string_view path) const;
  void RewriteModule(Scan* scan, const class LoadedModule& module, std::string_view path);

  std::atomic<int> turn_{0};  // the process whose thread rewrites; 0: none does. A fork()ed child's is free.
  Choices choices_;           // by HookUser
  std::string program_name_;
  HookTable hooks_{};
  // Of the loader's counts, at the last look.
  base::LoaderCounts counts_;
  bool is_unfinished_ = false;  // the loader was still busy with a module
  std::atomic<uint64_t> slots_patched_{0};
  std::atomic<uint64_t> slots_restored_{0};
  std::atomic<uint64_t> modules_refused_{0};
  std::atomic<uint64_t> scans_{0};
};

}  // namespace lagwatch::trace
