// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fnmatch.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
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
  const Choices* choices;
  bool is_dry;                    // changes nothing
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
  for (auto* add : {AddAllocationHooks, AddLockHooks, AddFutexHooks, AddFileHooks, AddStreamHooks,
                    AddPathHooks, AddSocketHooks, AddWaitHooks, AddClockHooks, AddLoadHooks, AddSignalHooks})
    add(&hooks_);
  for (const Hook& hook : hooks_) stack::NoteOwnFunction(hook.replacement);
}

void ImportTables::Install(HookUser user, uint32_t families, const ModuleFilter& filter) {
  FindRealFunctions();
  {
    ScopedTurn turn(this);
    choices_[static_cast<size_t>(user)] = {families, filter};
  }
  Rewrite(nullptr);
}

void ImportTables::Prepare(HookUser user, uint32_t families, const ModuleFilter& filter) {
  FindRealFunctions();
  Choices candidates;
  candidates[static_cast<size_t>(user)] = {families, filter};
  Rewrite(&candidates);
}

void ImportTables::FindRealFunctions() {
  for (Hook& hook : hooks_) {
    void* none = nullptr;
    if (hook.real->load() == nullptr)
      hook.real->compare_exchange_strong(none, FindRealFunction(hook.name.data()));
  }
}

void ImportTables::Remove(HookUser user) {
  {
    ScopedTurn turn(this);
    Choice& choice = choices_[static_cast<size_t>(user)];
    if (choice.families == 0) return;
    choice = {};
  }
  Rewrite(nullptr);
}

bool ImportTables::IsInstalled() const {
  return std::ranges::any_of(choices_, [](const Choice& choice) { return choice.families != 0; });
}

void ImportTables::LookAtModules() {
  {
    ScopedTurn turn(this, std::try_to_lock);
    if (!turn.is_ours() || !IsInstalled()) return;
    if (!is_unfinished_ && base::LoaderCounts::Now() == counts_) return;
  }
  Rewrite(nullptr);
}

void ImportTables::Rewrite(const Choices* candidates) {
  // Versions that are met for the first time are looked up between two looks: not under the loader's lock.
  constexpr int kMostLooks = 3;
  for (int look = 0; look < kMostLooks; ++look) {
    std::vector<NewVersion> versions;
    {
      ScopedTurn turn(this);
      versions = LookOnce(candidates);
    }
    if (versions.empty()) return;
    std::vector<Hook::Version::VersionState> states;
    for (const NewVersion& version : versions)
      states.push_back(FindVersion(*version.hook, version.hook->versions[version.index].name));
    ScopedTurn turn(this);
    for (size_t i = 0; i < versions.size(); ++i)
      versions[i].hook->versions[versions[i].index].state = states[i];
  }
}

std::vector<ImportTables::NewVersion> ImportTables::LookOnce(const Choices* candidates) {
  Scan scan{this, candidates == nullptr ? &choices_ : candidates, candidates != nullptr, false, {}};
  if (!scan.is_dry) {
    is_unfinished_ = false;
    scans_.fetch_add(1, std::memory_order_relaxed);  // a statistic
  }
  base::WalkLoadedModules(
      [](dl_phdr_info* info, size_t, void* context) {
        auto* scan_ = static_cast<Scan*>(context);
        if (!scan_->is_dry) scan_->tables->counts_ = base::LoaderCounts::Of(*info);
        LoadedModule module;
        if (module.Read(*info)) scan_->tables->RewriteModule(scan_, module, info->dlpi_name);
        return 0;
      },
      &scan);
  std::vector<NewVersion> versions;
  if (!scan.has_new_versions) return versions;
  for (Hook& hook : hooks_) {
    for (size_t i = 0; i < hook.version_count; ++i) {
      if (hook.versions[i].state == Hook::Version::kNew) versions.push_back({&hook, i});
    }
  }
  return versions;
}

uint32_t ImportTables::FamiliesOf(const Choices& choices, const LoadedModule& module,
                                  std::string_view path) const {
  using OwnModule = ModuleFilter::OwnModule;
  const bool is_own = module.Holds(reinterpret_cast<uint64_t>(&g_capture));
  uint32_t families = 0;
  for (const Choice& choice : choices) {
    const OwnModule own = choice.filter.own_module;
    const bool may_be =
        !is_own || own == OwnModule::kAlways || (own == OwnModule::kIfProgram && path.empty());
    if (choice.families != 0 && may_be && IsChosen(choice.filter, path)) families |= choice.families;
  }
  return families;
}

bool ImportTables::IsChosen(const ModuleFilter& filter, std::string_view path) const {
  const std::string_view full = path.empty() ? std::string_view(program_name_) : path;
  const std::string name(full.substr(full.rfind('/') + 1));
  auto matches = [&](const auto& pattern) { return Matches(std::data(pattern), name); };
  for (const char* pattern : kNeverTouched) {
    if (Matches(pattern, name)) return false;
  }
  if (std::any_of(filter.deny.begin(), filter.deny.end(), matches)) return false;
  return filter.allow.empty() || std::any_of(filter.allow.begin(), filter.allow.end(), matches);
}

void ImportTables::RewriteModule(Scan* scan, const LoadedModule& module, std::string_view path) {
  const uint32_t families = FamiliesOf(*scan->choices, module, path);
  ScopedWritable relro(&scan->pages, module.relro().begin, module.relro().end);
  module.ForEachImport([&](const ImportSlot& slot) {
    Hook* hook = hooks_.Find(slot.name);
    if (hook == nullptr) return;
    const auto replacement = reinterpret_cast<uint64_t>(hook->replacement);
    const auto real = reinterpret_cast<uint64_t>(hook->real->load());
    const uint64_t value = Load(slot.address);
    const bool is_hooked = value == replacement;
    const bool is_wanted = (hook->families & families) != 0;
    if (real == 0 || is_hooked == is_wanted) return;
    if (is_wanted) {
      // The libraries that it loads would not be found along its own search path.
      if (hook->families == kLoadHooks && module.has_search_path()) return;
      // Calls for the first time go to the loader by way of the module's own code.
      const bool is_unresolved = slot.is_jump && slot.is_undefined && module.HoldsCode(value);
      if (value != real && !is_unresolved) return;
      if (is_unresolved && !IsRealVersion(hook, module.VersionOf(slot), &scan->has_new_versions)) return;
    }
    if (scan->is_dry) return;
    if (module.relro().Holds(reinterpret_cast<uint64_t>(slot.address))) {
      const auto access = relro.Open(/*is_finished=*/is_hooked);
      if (access == ScopedWritable::kStillLoading) is_unfinished_ = true;
      if (access == ScopedWritable::kRefused) modules_refused_.fetch_add(1, std::memory_order_relaxed);
      if (access != ScopedWritable::kOpen) return;
    }
    Store(slot.address, is_wanted ? replacement : real);
    (is_wanted ? slots_patched_ : slots_restored_).fetch_add(1, std::memory_order_relaxed);
  });
}

ImportCounts ImportTables::counts() const {
  return {slots_patched_.load(), slots_restored_.load(), modules_refused_.load(), scans_.load()};
}

}  // namespace lagwatch::trace
