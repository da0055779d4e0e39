// SPDX-License-Identifier: Apache-2.0
// The column of options.def that says whether `lagwatch run` has a flag for an option.
#pragma once

#include <cstdint>

namespace lagwatch::policies {

struct OptionFlag {
  bool is_flag = false;
  bool has_default = false;  // of its own
  uint32_t standard = 0;
};

inline constexpr OptionFlag kNoFlag{};
inline constexpr OptionFlag kFlag{.is_flag = true};
constexpr OptionFlag FlagWith(uint32_t standard) {
  return {.is_flag = true, .has_default = true, .standard = standard};
}

}  // namespace lagwatch::policies
