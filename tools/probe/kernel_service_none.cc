// SPDX-License-Identifier: Apache-2.0
#include "tools/probe/kernel_service.h"

namespace lagwatch::tools {

base::Result<ServiceClient> StartKernelService(pid_t) {
  return base::Status(base::StatusCode::kUnavailable, "the kernel's probes are served on x86-64 only");
}

}  // namespace lagwatch::tools
