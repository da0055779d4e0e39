// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include "base/process/proc_file.h"
#include "base/system/file_calls.h"
#include "base/system/proc_ids.h"

namespace lagwatch::base {
namespace internal {

void ForEachNumberIn(const char* folder, NumberVisitor visit, void* context) {
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  base::ForEachNameIn(fd, [=](const char* text) {
    uint64_t number = 0;
    std::string_view name = text;
    return !ConsumeDecimal(&name, &number) || !name.empty() || visit(static_cast<int>(number), context);
  });
  close(fd);
}

void ForEachThread(const Process& process, NumberVisitor visit, void* context) {
  base::ForEachNumberIn(ProcessPath(process, "task").c_str(), [=](int proc_id) {
    const int tid = process.is_own() ? ThreadOfProcId(proc_id) : proc_id;
    return tid == 0 || visit(tid, context);
  });
}

}  // namespace internal
}  // namespace lagwatch::base
