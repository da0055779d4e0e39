// SPDX-License-Identifier: Apache-2.0
// Android's programs have no stubs of functions, and bionic's functions have one version each.
#include <dlfcn.h>

#include "trace/hooks/hook_table.h"

namespace lagwatch::trace {

void* FindRealFunction(const char* name) { return dlsym(RTLD_DEFAULT, name); }
bool IsRealVersion(Hook*, std::string_view, bool*) { return true; }
Hook::Version::VersionState FindVersion(const Hook&, const char*) { return Hook::Version::kReal; }

}  // namespace lagwatch::trace
