// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fnmatch.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <new>

#include "base/clock.h"
#include "base/process/loader_walk.h"
#include "stack/code/own_code.h"
#include "trace/hooks/hook_table.h"
#include "trace/hooks/import_tables.h"
#include "trace/hooks/loaded_module_linux.h"
#include "trace/hooks/page_access.h"

namespace lagwatch::trace {
namespace {

// Theirs are the real functions, or the calls that they make must not come back to them.
constexpr const char* kNeverTouched[] = {"libc.so*",     "libc-*.so",   "ld-*.so*",    "ld.so*",
                                         "linux-vdso*",  "linux-gate*", "libasan.so*", "libtsan.so*",
                                         "libubsan.so*", "liblsan.so*", "libmsan.so*", "libhwasan.so*",
                                         "libclang_rt*"};

bool Matches(const char* pattern, const std::string& name) { return fnmatch(pattern, name.c_str(), 0) == 0; }

uint64_t Load(const uint64_t* slot) { return __atomic_load_n(slot, __ATOMIC_RELAXED); }
void Store(uint64_t* slot, uint64_t value) { __atomic_store_n(slot, value, __ATOMIC_RELEASE); }

std::string ProgramName() {
  char path[4096];
  const ssize_t size = readlink("/proc/thread-self/exe", path, sizeof path);
  return size <= 0 ? std::string() : std::string(path, static_cast<size_t>(size));
}

}  // namespace

// One look at all modules.
struct ImportTables::Scan {
  ImportTables* tables;
  bool is_install;
  bool has_new_versions = false;  // not looked up yet
  PageAccess pages;
};

// Waits until no other thread rewrites the tables; if only tried, fails instead of waiting.
class ImportTables::ScopedTurn {
 public:
  explicit ScopedTurn(ImportTables* tables) : tables_(tables) {
    constexpr timespec kPause{0, base::kNsPerMs};
    while (!Try()) nanosleep(&kPause, nullptr);
  }
  ScopedTurn(ImportTables* tables, std::try_to_lock_t) : tables_(tables) { Try(); }
  ~ScopedTurn() {
    if (is_ours_) tables_->turn_.store(0);
  }
  ScopedTurn(const ScopedTurn&) = delete;
  ScopedTurn& operator=(const ScopedTurn&) = delete;

  bool is_ours() const { return is_ours_; }

 private:
  bool Try() {
    int holder = tables_->turn_.load();
    const int process = getpid();
    while (holder != process && !is_ours_) is_ours_ = tables_->turn_.compare_exchange_weak(holder, process);
    return is_ours_;
  }

  ImportTables* tables_;
  bool is_ours_ = false;
};

ImportTables& ImportTables::Shared() {
  // Never destroyed: hooks may be called until the very end.
  alignas(
      ImportTables) static std::byte memory[sizeof(ImportTables)];  // the first use may meet a full memory
  static ImportTables& tables = *new (memory) ImportTables;
  return tables;
}

ImportTables::ImportTables() : program_name_(ProgramName()) {
  for (auto* add : {AddAllocationHooks, AddLockHooks, AddFutexHooks, AddFileHooks, AddSocketHooks,
                    AddWaitHooks, AddClockHooks, AddLoadHooks, AddSignalHooks})
    add(&hooks_);
  for (const Hook& hook : hooks_) stack::NoteOwnFunction(hook.replacement);
}

void ImportTables::Install(uint32_t families, const ModuleFilter& filter) {
  ScopedTurn turn(this);
  if (is_installed_.load()) Rewrite(false);
  families_ = families;
  filter_ = filter;
  for (Hook& hook : hooks_) {
    if (hook.real->load() == nullptr) hook.real->store(FindRealFunction(hook.name.data()));
  }
  is_installed_.store(true);
  Rewrite(true);
}

void ImportTables::Remove() {
  ScopedTurn turn(this);
  if (!is_installed_.load()) return;
  is_installed_.store(false);
  Rewrite(false);
}

void ImportTables::LookAtModules() {
  ScopedTurn turn(this, std::try_to_lock);
  if (!turn.is_ours() || !is_installed_.load()) return;
  if (is_unfinished_ || base::LoaderCounts::Now() != counts_) Rewrite(true);
}

void ImportTables::Rewrite(bool is_install) {
  // Versions that are met for the first time are looked up between two looks: not under the loader's lock.
  constexpr int kMostLooks = 3;
  for (int look = 0; look < kMostLooks; ++look) {
    Scan scan{this, is_install, false, {}};
    is_unfinished_ = false;
    scans_.fetch_add(1, std::memory_order_relaxed);  // a statistic
    base::WalkLoadedModules(
        [](dl_phdr_info* info, size_t, void* context) {
          auto* scan_ = static_cast<Scan*>(context);
          scan_->tables->counts_ = base::LoaderCounts::Of(*info);
          LoadedModule module;
          if (module.Read(*info)) scan_->tables->RewriteModule(scan_, module, info->dlpi_name);
          return 0;
        },
        &scan);
    if (!scan.has_new_versions) return;
    for (Hook& hook : hooks_) FindVersions(&hook);
  }
}

bool ImportTables::IsChosen(std::string_view path) const {
  const std::string_view full = path.empty() ? std::string_view(program_name_) : path;
  const std::string name(full.substr(full.rfind('/') + 1));
  auto matches = [&](const auto& pattern) { return Matches(std::data(pattern), name); };
  for (const char* pattern : kNeverTouched) {
    if (Matches(pattern, name)) return false;
  }
  if (std::any_of(filter_.deny.begin(), filter_.deny.end(), matches)) return false;
  return filter_.allow.empty() || std::any_of(filter_.allow.begin(), filter_.allow.end(), matches);
}

bool ImportTables::RewriteModule(Scan* scan, const LoadedModule& module, std::string_view path) {
  if (scan->is_install) {
    if (!filter_.is_own_module_included && module.Holds(reinterpret_cast<uint64_t>(&g_capture))) return false;
    if (!IsChosen(path)) return false;
  }
  ScopedWritable relro(&scan->pages, module.relro().begin, module.relro().end);
  module.ForEachImport([&](const ImportSlot& slot) {
    Hook* hook = hooks_.Find(slot.name);
    if (hook == nullptr) return;
    const auto replacement = reinterpret_cast<uint64_t>(hook->replacement);
    const auto real = reinterpret_cast<uint64_t>(hook->real->load());
    const uint64_t value = Load(slot.address);
    const uint64_t wanted = scan->is_install ? replacement : real;
    if (real == 0 || value == wanted) return;
    if (scan->is_install) {
      if ((hook->family & families_) == 0) return;
      // The libraries that it loads would not be found along its own search path.
      if (hook->family == kLoadHooks && module.has_search_path()) return;
      // Calls for the first time go to the loader by way of the module's own code.
      const bool is_unresolved = slot.is_jump && slot.is_undefined && module.HoldsCode(value);
      if (value != real && !is_unresolved) return;
      if (is_unresolved && !IsRealVersion(hook, module.VersionOf(slot), &scan->has_new_versions)) return;
    } else if (value != replacement) {
      return;
    }
    if (module.relro().Holds(reinterpret_cast<uint64_t>(slot.address))) {
      const auto access = relro.Open(/*is_finished=*/!scan->is_install);
      if (access == ScopedWritable::kStillLoading) is_unfinished_ = true;
      if (access == ScopedWritable::kRefused) modules_refused_.fetch_add(1, std::memory_order_relaxed);
      if (access != ScopedWritable::kOpen) return;
    }
    Store(slot.address, wanted);
    (scan->is_install ? slots_patched_ : slots_restored_).fetch_add(1, std::memory_order_relaxed);
  });
  return true;
}

ImportCounts ImportTables::counts() const {
  return {slots_patched_.load(), slots_restored_.load(), modules_refused_.load(), scans_.load()};
}

}  // namespace lagwatch::trace
