// SPDX-License-Identifier: Apache-2.0
// Built where there is no libbpf, or no compiler for BPF.
#include "sdk/outside/kernel_waits.h"

namespace lagwatch::sdk {

struct KernelWaits::Programs {};

KernelWaits::~KernelWaits() = default;

base::Result<std::unique_ptr<KernelWaits>> KernelWaits::Load() {
  return base::Status(base::StatusCode::kUnavailable, "this lagwatch was built without BPF");
}

ThreadWaits::~ThreadWaits() = default;
void ThreadWaits::SetHome(const WaitKey&) {}
ThreadWaits::Turn ThreadWaits::Read() const { return {}; }
bool ThreadWaits::TakeLong(int64_t*, int64_t*) { return false; }
void ThreadWaits::SkipLong() {}

}  // namespace lagwatch::sdk
