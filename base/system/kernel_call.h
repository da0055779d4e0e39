// SPDX-License-Identifier: Apache-2.0
// System calls that go by no function of the C library, on which there may be a probe, and leave errno and
// the vector registers alone. Linux.
#pragma once

#include <cstdint>

namespace lagwatch::base {

// Returns the kernel's answer: an error is a negative number. Context: hot.
int64_t CallKernel(int64_t number, uint64_t first = 0, uint64_t second = 0, uint64_t third = 0,
                   uint64_t fourth = 0, uint64_t fifth = 0);

}  // namespace lagwatch::base
