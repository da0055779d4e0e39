// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <string_view>

#include "base/owned_fd.h"
#include "base/process/proc_file.h"
#include "base/process/quiet_thread.h"
#include "sdk/probe/forbidden_mark.h"

namespace lagwatch::sdk {

// A page without access costs no memory.
bool MakeForbiddenMark() {
  constexpr size_t kPageBytes = 4096;
  const base::OwnedFd file(memfd_create(kForbiddenMark, MFD_CLOEXEC));
  return file && ftruncate(file.get(), kPageBytes) == 0 &&
         mmap(nullptr, kPageBytes, PROT_NONE, MAP_SHARED, file.get(), 0) != MAP_FAILED;
}

bool HasForbiddenMark() {
  bool is_found = false;
  const bool has_run = base::RunWithOwnFiles([&] {
    char lines[8 * 1024];
    base::ForEachLine("/proc/self/maps", lines, [&](std::string_view line) {
      is_found = is_found || line.find(kForbiddenMark) != std::string_view::npos;
      return !is_found;
    });
  });
  return is_found || !has_run;
}

}  // namespace lagwatch::sdk
