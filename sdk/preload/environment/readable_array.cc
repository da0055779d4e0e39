// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/process/safe_memory.h"
#include "sdk/preload/environment/exec_environment.h"
#include "sdk/preload/environment/preload_config.h"

namespace lagwatch::sdk {
namespace {

// Pages that can be read, asked for once in a row.
class ReadablePages {
 public:
  bool Has(const void* address) {
    const uint64_t page = reinterpret_cast<uint64_t>(address) / kBytes;
    if (page == last_) return true;
    last_ = page;
    return base::IsReadable(page * kBytes);
  }
  // The begin of a text, as far as names are compared.
  bool HasName(const char* text) {
    constexpr size_t kNameSize = sizeof kPreloadConfigVariable;
    if (!Has(text)) return false;
    const size_t left = kBytes - reinterpret_cast<uint64_t>(text) % kBytes;
    return left >= kNameSize || std::memchr(text, '\0', left) != nullptr || Has(text + left);
  }

 private:
  static constexpr size_t kBytes = 4096;  // larger pages are asked for more often
  uint64_t last_ = ~uint64_t{0};
};

}  // namespace

bool IsReadableArray(char* const* environment) {
  ReadablePages arrays;
  ReadablePages texts;
  for (char* const* variable = environment; variable != nullptr; ++variable) {
    const auto* next = reinterpret_cast<const char*>(variable + 1);
    if (!arrays.Has(variable) || !arrays.Has(next - 1)) return false;
    if (*variable == nullptr) break;
    if (!texts.HasName(*variable)) return false;
  }
  return true;
}

}  // namespace lagwatch::sdk
