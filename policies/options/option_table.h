// SPDX-License-Identifier: Apache-2.0
// The numbers of the table of options as constants.
#pragma once

#include <cstdint>

namespace lagwatch::policies {

struct NumberOption {
  int64_t standard;  // the default
  int64_t least;
  int64_t most;
};

// By their names in lw_options, which end in the unit.
struct OptionTable {
#define OPTION_NUMBER(name, path, flag, standard, least, most, ...) \
  static constexpr NumberOption name = {standard, least, most};
#include "policies/options/options.def"
};

}  // namespace lagwatch::policies
