// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/attach/import_patches.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <string_view>

#include "base/process/loader_walk.h"
#include "trace/hooks/loaded_module_linux.h"
#include "trace/hooks/page_access.h"

namespace lagwatch::sdk {
namespace {

// Those of preload.map, up to the ones that are not redirected.
constexpr const char* kFunctions[] = {
#include "sdk/preload/attach/redirected_functions.inc"
};
// The calls that these make must not come back to this library.
constexpr std::string_view kNeverTouched[] = {"libc.so",  "libc-",    "ld-",       "ld.so",    "linux-vdso",
                                              "libasan.", "libtsan.", "libubsan.", "liblsan.", "libmsan."};

bool IsTouched(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::ranges::none_of(kNeverTouched, [&](std::string_view start) { return name.starts_with(start); });
}

uint64_t Address(void* function) { return reinterpret_cast<uint64_t>(function); }

}  // namespace

ImportPatches::ImportPatches() {
  Dl_info info;
  link_map* own = nullptr;
  if (dladdr1(kFunctions, &info, reinterpret_cast<void**>(&own), RTLD_DL_LINKMAP) == 0 || own == nullptr)
    return;
  for (const char* name : kFunctions) {
    // The C library's handle of a module is its link map. A name in this library itself could mean the C
    // library's function, because this library is not in the global scope.
    const uint64_t ours = Address(dlsym(own, name));
    const uint64_t real = Address(dlsym(RTLD_NEXT, name));
    if (ours == 0 || real == 0 || ours == real) continue;
    functions_.push_back({name, ours, real, Address(dlsym(RTLD_DEFAULT, name)) == real});
  }
}

void ImportPatches::Install() {
  if (is_unfinished_ || base::LoaderCounts::Now() != counts_) Rewrite(true);
}

void ImportPatches::Remove() { Rewrite(false); }

void ImportPatches::Rewrite(bool is_install) {
  struct Scan {
    ImportPatches* patches;
    bool is_install;
    trace::PageAccess pages;
  } scan{this, is_install, {}};
  is_unfinished_ = !is_install;  // the next installation looks at all
  slots_ = 0;
  base::WalkLoadedModules(
      [](dl_phdr_info* info, size_t, void* context) {
        auto* walk = static_cast<Scan*>(context);
        ImportPatches& self = *walk->patches;
        self.counts_ = base::LoaderCounts::Of(*info);
        trace::LoadedModule module;
        if (!IsTouched(info->dlpi_name) || !module.Read(*info) ||
            module.Holds(reinterpret_cast<uint64_t>(kFunctions)))
          return 0;
        trace::ScopedWritable relro(&walk->pages, module.relro().begin, module.relro().end);
        module.ForEachImport([&](const trace::ImportSlot& slot) {
          const auto function = std::ranges::find_if(
              self.functions_, [&](const PatchedFunction& known) { return slot.name == known.name; });
          if (function == self.functions_.end()) return;
          const uint64_t value = __atomic_load_n(slot.address, __ATOMIC_RELAXED);
          if (walk->is_install) {
            if (value == function->ours) ++self.slots_;
            // A call that is made for the first time goes to the loader by way of the module's own code.
            const bool is_unresolved = slot.is_jump && slot.is_undefined && module.HoldsCode(value);
            if (value != function->real && !(is_unresolved && function->is_resolved_alike)) return;
          } else if (value != function->ours) {
            return;
          }
          if (module.relro().Holds(reinterpret_cast<uint64_t>(slot.address))) {
            const auto access = relro.Open(/*is_finished=*/!walk->is_install);
            if (access == trace::ScopedWritable::kStillLoading) self.is_unfinished_ = true;
            if (access != trace::ScopedWritable::kOpen) return;
          }
          __atomic_store_n(slot.address, walk->is_install ? function->ours : function->real,
                           __ATOMIC_RELEASE);
          if (walk->is_install) ++self.slots_;
        });
        return 0;
      },
      &scan);
}

}  // namespace lagwatch::sdk
