// SPDX-License-Identifier: Apache-2.0
// Context: hot; compiled without exceptions. Keep errno.
#pragma once

#include <cstdint>

namespace lagwatch::sdk {

// The source of the events of a descriptor.
enum class DescriptorSource : uint8_t {
  kAny,
  kEvent,  // is waited for only in order to be woken up
  kUser,   // standard input, or a terminal
};

// Reads a link in /proc, and opens nothing.
DescriptorSource SourceOf(int descriptor);

bool IsOpenDescriptor(int descriptor);

}  // namespace lagwatch::sdk
