// SPDX-License-Identifier: Apache-2.0
#include <sys/sysctl.h>

#include <cstddef>

#include "base/crc32c_ways.h"

namespace lagwatch::base::crc32c_ways {
namespace {

bool IsSet(const char* name) {
  int value = 0;
  size_t size_bytes = sizeof value;
  return sysctlbyname(name, &value, &size_bytes, nullptr, 0) == 0 && value != 0;
}

}  // namespace

bool HasInstruction() {
  // A processor has but one of these names.
  static const bool has_instruction = IsSet("hw.optional.armv8_crc32") || IsSet("hw.optional.sse4_2");
  return has_instruction;
}

}  // namespace lagwatch::base::crc32c_ways
