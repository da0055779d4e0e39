// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <link.h>

#include "trace/hooks/hook_table.h"

namespace lagwatch::trace {
namespace {

// A program that is loaded at a fixed address and takes a function's address has a stub of its own, which is
// then the function's address in all modules, and calls through the program's import table.
bool IsStub(void* address) {
  Dl_info info;
  const ElfW(Sym)* symbol = nullptr;
  return dladdr1(address, &info, reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol)),
                 RTLD_DL_SYMENT) != 0 &&
         symbol != nullptr && symbol->st_shndx == SHN_UNDEF;
}

bool IsIn(void* address, const link_map* module) {
  Dl_info info;
  link_map* owner = nullptr;
  return dladdr1(address, &info, reinterpret_cast<void**>(&owner), RTLD_DL_LINKMAP) != 0 && owner == module;
}

// Whether what its module defines has no versions. Then the loader takes it whatever version is wanted, which
// dlvsym() does not: as a preloaded library's functions, our own among them.
bool IsUnversioned(void* address) {
  Dl_info info;
  link_map* owner = nullptr;
  if (address == nullptr || dladdr1(address, &info, reinterpret_cast<void**>(&owner), RTLD_DL_LINKMAP) == 0)
    return false;
  for (const ElfW(Dyn)* entry = owner->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_VERDEF) return false;
  }
  return true;
}

// The first of the modules after the program itself that has it, as the loader goes through them.
void* FindBehindStub(const char* name) {
  void* any = nullptr;
  void* program = dlopen(nullptr, RTLD_LAZY);
  link_map* module = nullptr;
  if (program == nullptr || dlinfo(program, RTLD_DI_LINKMAP, &module) != 0) return nullptr;
  void* found = nullptr;
  for (module = module->l_next; module != nullptr && found == nullptr; module = module->l_next) {
    void* handle = dlopen(module->l_name, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    void* address = dlsym(handle, name);  // in what the module itself depends on, too
    if (address != nullptr && IsIn(address, module)) found = address;
    if (address != nullptr) any = address;  // for example of the kernel's module, which has no handle
    dlclose(handle);
  }
  dlclose(program);
  return found != nullptr ? found : any;
}

}  // namespace

void* FindRealFunction(const char* name) {
  void* address = dlsym(RTLD_DEFAULT, name);
  return address != nullptr && IsStub(address) ? FindBehindStub(name) : address;
}

bool IsRealVersion(Hook* hook, std::string_view version, bool* has_new) {
  if (version.empty()) return true;
  for (size_t i = 0; i < hook->version_count; ++i) {
    const Hook::Version& known = hook->versions[i];
    if (version != known.name) continue;
    if (known.state == Hook::Version::kNew) *has_new = true;  // another thread looks it up
    return known.state == Hook::Version::kReal;
  }
  if (hook->version_count == Hook::kMaxVersions || version.size() >= sizeof Hook::Version::name) return false;
  Hook::Version& added = hook->versions[hook->version_count++];
  version.copy(added.name, version.size());
  added.state = Hook::Version::kNew;
  *has_new = true;
  return false;
}

Hook::Version::VersionState FindVersion(const Hook& hook, const char* version) {
  void* address = dlvsym(RTLD_DEFAULT, hook.name.data(), version);
  const bool is_real = address == hook.real->load() || address == dlsym(RTLD_DEFAULT, hook.name.data()) ||
                       IsUnversioned(hook.real->load());
  return is_real ? Hook::Version::kReal : Hook::Version::kOther;
}

}  // namespace lagwatch::trace
