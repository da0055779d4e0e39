// SPDX-License-Identifier: Apache-2.0
#include <link.h>

#include <algorithm>
#include <string_view>

#include "base/modules/module_symbols_linux.h"
#include "trace/hooks/import_patches.h"
#include "trace/hooks/loaded_module_linux.h"
#include "trace/hooks/page_access.h"

namespace lagwatch::trace {
namespace {

// The calls that these make must not come back to this library.
constexpr std::string_view kUntouchedModules[] = {"libc.so",    "libc-",    "ld-",      "ld.so",
                                                  "linux-vdso", "libasan.", "libtsan.", "libubsan.",
                                                  "liblsan.",   "libmsan."};
constexpr uint64_t kNothing = 1;  // no function of that name and version

bool IsTouched(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::ranges::none_of(kUntouchedModules,
                              [&](std::string_view start) { return name.starts_with(start); });
}

// As the loader looks it up, but without it: a thread that is stuck in dlopen(3) has its lock.
uint64_t Resolve(const std::string& name, const std::string& version) {
  struct Search {
    const char* name;
    const char* version;
    uint64_t found;
  } search{name.c_str(), version.empty() ? nullptr : version.c_str(), kNothing};
  base::WalkLoadedModules(
      [](dl_phdr_info* info, size_t, void* context) {
        auto* walk = static_cast<Search*>(context);
        base::ModuleTables tables;
        if (!tables.Read(*info)) return 0;
        const uint64_t found = base::FunctionAt(tables, base::FindSymbol(tables, walk->name, walk->version));
        if (found != 0) walk->found = found;
        return found != 0 ? 1 : 0;
      },
      &search);
  return search.found;
}

}  // namespace

void ImportPatches::Add(std::string name, uint64_t ours, uint64_t real) {
  functions_.emplace(std::move(name), PatchedFunction{.ours = ours, .real = real});
  is_unfinished_ = true;
}

void ImportPatches::Install() {
  const base::LoaderCounts now = base::LoaderCounts::Now();
  if (!is_unfinished_ && now == counts_) return;
  if (!(now == counts_)) resolved_.clear();
  Rewrite(true, 0);
  // The loader is not asked while its list of modules is walked: its other lock comes before that one.
  if (ResolveNew()) Rewrite(true, 0);
}

void ImportPatches::Remove() { Rewrite(false, 0); }

void ImportPatches::Remove(uint64_t ours) {
  Rewrite(false, ours);
  std::erase_if(functions_, [ours](const auto& each) { return each.second.ours == ours; });
}

uint64_t ImportPatches::slots() const { return SlotsOf(0); }

uint64_t ImportPatches::SlotsOf(uint64_t ours) const {
  uint64_t slots = 0;
  for (const auto& [name, function] : functions_)
    if (ours == 0 || function.ours == ours) slots += function.slots;
  return slots;
}

bool ImportPatches::ResolveNew() {
  bool is_any = false;
  for (auto& [import, function] : resolved_) {
    if (function != 0) continue;
    function = Resolve(import.first, import.second);
    is_any = true;
  }
  return is_any;
}

void ImportPatches::Rewrite(bool is_install, uint64_t ours) {
  struct Scan {
    ImportPatches* patches;
    bool is_install;
    uint64_t ours;
    PageAccess pages;
  } scan{this, is_install, ours, {}};
  if (is_install || ours == 0) is_unfinished_ = !is_install;  // the next installation looks at all
  for (auto& [name, function] : functions_)
    if (ours == 0 || function.ours == ours) function.slots = 0;
  base::WalkLoadedModules(
      [](dl_phdr_info* info, size_t, void* context) {
        auto* walk = static_cast<Scan*>(context);
        ImportPatches& self = *walk->patches;
        if (walk->is_install) self.counts_ = base::LoaderCounts::Of(*info);
        LoadedModule module;
        if (!IsTouched(info->dlpi_name) || !module.Read(*info) ||
            module.Holds(reinterpret_cast<uint64_t>(&kUntouchedModules)))
          return 0;
        ScopedWritable relro(&walk->pages, module.relro().begin, module.relro().end);
        const auto store = [&](const ImportSlot& slot, uint64_t value) {
          if (module.relro().Holds(reinterpret_cast<uint64_t>(slot.address))) {
            const auto access = relro.Open(/*is_finished=*/!walk->is_install);
            if (access == ScopedWritable::kStillLoading) self.is_unfinished_ = true;
            if (access != ScopedWritable::kOpen) return false;
          }
          __atomic_store_n(slot.address, value, __ATOMIC_RELEASE);
          return true;
        };
        module.ForEachImport([&](const ImportSlot& slot) {
          auto [function, end] = self.functions_.equal_range(slot.name);
          if (function == end) return;
          const uint64_t value = __atomic_load_n(slot.address, __ATOMIC_RELAXED);
          // A call that is made for the first time goes to the loader by way of the module's own code.
          uint64_t leads_to = value;
          if (slot.is_jump && slot.is_undefined && module.HoldsCode(value))
            leads_to = self.resolved_[{std::string(slot.name), std::string(module.VersionOf(slot))}];
          for (; function != end; ++function) {
            PatchedFunction& patched = function->second;
            if (walk->ours != 0 && patched.ours != walk->ours) continue;
            if (!walk->is_install) {
              if (value == patched.ours) store(slot, patched.real);
            } else if (value == patched.ours || (leads_to == patched.real && store(slot, patched.ours))) {
              ++patched.slots;
              return;
            }
          }
        });
        return 0;
      },
      &scan);
}

}  // namespace lagwatch::trace
