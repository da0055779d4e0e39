// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/process/proc_file.h"
#include "base/process/watched_process.h"

namespace lagwatch::base {
namespace internal {

void ForEachNumberIn(const char* folder, NumberVisitor visit, void* context) {
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  // getdents64 itself, because opendir allocates.
  alignas(dirent64) char entries[4096];
  bool go_on = true;
  while (go_on) {
    long size = syscall(SYS_getdents64, fd, entries, sizeof entries);
    if (size <= 0) break;
    for (long at = 0; at < size && go_on;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      uint64_t number = 0;
      std::string_view name = entry->d_name;
      if (ConsumeDecimal(&name, &number) && name.empty()) go_on = visit(static_cast<int>(number), context);
    }
  }
  close(fd);
}

void ForEachThread(NumberVisitor visit, void* context) {
  ForEachNumberIn(ProcessPath("task").c_str(), visit, context);
}

}  // namespace internal
}  // namespace lagwatch::base
