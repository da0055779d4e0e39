// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <new>

#include "trace/hooks/capture_ring.h"

namespace lagwatch::trace {

CaptureRing* CaptureRing::Create() {
  void* memory =
      mmap(nullptr, sizeof(CaptureRing), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) CaptureRing;
}

void CaptureRing::Destroy(CaptureRing* ring) { munmap(ring, sizeof *ring); }

}  // namespace lagwatch::trace
