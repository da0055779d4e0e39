// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>

#include "watchdog/samples/thread_loads.h"

namespace lagwatch::watchdog {

int32_t CountUsableCores(const base::Process& process) {
  unsigned long
      mask[128];  // the C library's function refuses machines with more processors than its own mask
  const long size = syscall(SYS_sched_getaffinity, process.pid(), sizeof mask, mask);
  int32_t cores = 0;
  for (long i = 0; i < size / static_cast<long>(sizeof mask[0]); ++i) cores += std::popcount(mask[i]);
  return cores > 0 ? cores : 1;
}

}  // namespace lagwatch::watchdog
