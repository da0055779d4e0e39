// SPDX-License-Identifier: Apache-2.0
// Functions of newer C libraries that the static C++ runtime uses, defined here so that the library can be
// preloaded into programs with older ones: it needs glibc 2.34 (meta.preload_glibc).
#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "sdk/preload/next_function.h"

#define LAGWATCH_HIDDEN __attribute__((visibility("hidden")))

extern "C" {

// glibc 2.36; used by std::random_device.
LAGWATCH_HIDDEN uint32_t arc4random() noexcept {
  uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) < 0 && errno == EINTR) {
  }
  return number;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE

namespace {

struct Search {
  uintptr_t address;
  dl_find_object* found;
  bool is_found;
};

int LookAtModule(dl_phdr_info* module, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  const ElfW(Phdr)* eh_frame = nullptr;
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module->dlpi_phdr[i];
    const uintptr_t begin = module->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) eh_frame = &segment;
    if (segment.p_type != PT_LOAD || search->address - begin >= segment.p_memsz) continue;
    search->is_found = true;
    search->found->dlfo_map_start = reinterpret_cast<void*>(begin);
    search->found->dlfo_map_end = reinterpret_cast<void*>(begin + segment.p_memsz);
  }
  if (!search->is_found) return 0;
  search->found->dlfo_eh_frame =
      eh_frame == nullptr ? nullptr : reinterpret_cast<void*>(module->dlpi_addr + eh_frame->p_vaddr);
  return 1;
}

int (*g_next_find)(void*, dl_find_object*) = nullptr;

// Before main(): dlsym(3) waits for a thread that loads a library.
[[gnu::constructor]] void FindNext() {
  constexpr const char* kName = "_dl_find_object";
  if (!lagwatch::sdk::HasOtherDefinition(kName)) return;
  g_next_find = reinterpret_cast<int (*)(void*, dl_find_object*)>(dlsym(RTLD_DEFAULT, kName));
}

}  // namespace

// glibc 2.35; used by the unwinder of exceptions.
LAGWATCH_HIDDEN int _dl_find_object(void* address, dl_find_object* found) noexcept {
  if (g_next_find != nullptr) return g_next_find(address, found);
  *found = {};
  Search search{reinterpret_cast<uintptr_t>(address), found, false};
  dl_iterate_phdr(&LookAtModule, &search);
  return search.is_found && found->dlfo_eh_frame != nullptr ? 0 : -1;
}

#endif

}  // extern "C"
