// SPDX-License-Identifier: Apache-2.0
// The hang rate by values that programs gave to some keys, such as an experiment. Context: background. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "collector/query/hang_rate.h"
#include "collector/query/json/json_text.h"
#include "report/format/report.h"

namespace lagwatch::collector {

class UsageValues {
 public:
  // `key`: that key alone; empty: all keys.
  void Add(const report::Usage& usage, std::string_view key);

  // An entry for each program, key and value, of a key those with the most watched time first; `limit` at
  // most.
  Json ToJson(size_t limit) const;

 private:
  struct UseOfValue {
    HangRates rates;
    double watched_ns = 0;
    double hang_ns = 0;
    uint64_t hangs = 0;  // stops at the most that there is: numbers come from clients
  };

  std::map<std::tuple<std::string, std::string, std::string>, UseOfValue> sums_;  // by app, key and value
};

}  // namespace lagwatch::collector
