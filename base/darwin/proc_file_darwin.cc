// SPDX-License-Identifier: Apache-2.0
#include <mach/mach.h>

#include "base/process/proc_file.h"
#include "base/system/proc_ids.h"

namespace lagwatch::base {

void internal::ForEachThread(const Process&, NumberVisitor visit, void* context) {
  thread_act_array_t threads = nullptr;
  mach_msg_type_number_t count = 0;
  if (task_threads(mach_task_self(), &threads, &count) != KERN_SUCCESS) return;
  bool go_on = true;
  for (mach_msg_type_number_t i = 0; i < count; ++i) {
    go_on = go_on && visit(static_cast<int>(threads[i]), context);
    mach_port_deallocate(mach_task_self(), threads[i]);
  }
  vm_deallocate(mach_task_self(), reinterpret_cast<vm_address_t>(threads), count * sizeof *threads);
}

int32_t ProcIdOfThread(int32_t tid) { return tid; }

}  // namespace lagwatch::base
