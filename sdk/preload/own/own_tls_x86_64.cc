// SPDX-License-Identifier: Apache-2.0
// The address of a thread-local variable of this library: those of the static C++ runtime are asked for by a
// call. The loader's function allocates in the program's heap when the program has loaded another library
// meanwhile; this library's variables are always in the block that a thread begins with. On arm64,
// descriptors do the same.
#include <cstdint>

extern "C" {

__thread char LagwatchTlsAnchor __attribute__((tls_model("initial-exec"), visibility("hidden")));

struct TlsIndex {
  uint64_t module;
  uint64_t offset;
};
void* LagwatchTlsAddress(TlsIndex* index) __asm__("__tls_get_addr") __attribute__((visibility("hidden")));

// From the anchor, whose offset in the block the linker knows.
void* LagwatchTlsAddress(TlsIndex* index) {
  int64_t anchor_offset;
  __asm__("leaq LagwatchTlsAnchor@dtpoff(%1), %0" : "=r"(anchor_offset) : "r"(int64_t{0}));
  return &LagwatchTlsAnchor - anchor_offset + index->offset;
}

}  // extern "C"
