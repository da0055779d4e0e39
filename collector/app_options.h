// SPDX-License-Identifier: Apache-2.0
// Options that give programs a number each: APP=NUMBER, several times. Context: background; pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace lagwatch::collector {

struct AppOption {
  const char* name;  // of the option
  const char* unit;  // of the number, as the help calls it
  int64_t most;      // 1 is the least
};

// Numbers by program. Errors: kInvalid, for a person.
base::Result<std::map<std::string, int64_t, std::less<>>> ParseAppOption(
    const AppOption& option, const std::vector<std::string>& texts);

}  // namespace lagwatch::collector
