// SPDX-License-Identifier: Apache-2.0
// The hang rate by values that programs gave to some keys, such as an experiment. Context: background. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "collector/query/hang_rate.h"
#include "collector/query/json/json_text.h"
#include "report/format/report.h"

namespace lagwatch::collector {

class UsageValues {
 public:
  static constexpr size_t kMaxKeys = 100;     // of a program
  static constexpr size_t kMaxValues = 1000;  // of a key
  static constexpr size_t kMaxEntries = 10'000;

  // `key`: that key alone; empty: all keys. Keys and values beyond the limits count as "(others)".
  void Add(const report::Usage& usage, std::string_view key);

  // An entry for each program, key and value, by program and key, of each key those with the most watched
  // time first: `limit` at most, and kMaxEntries of all keys.
  Json ToJson(size_t limit) const;

 private:
  struct UseOfValue {
    HangRates rates;
    double watched_ns = 0;
    double hang_ns = 0;
    uint64_t hangs = 0;  // stops at the most that there is: numbers come from clients
  };

  static Json EntryJson(const std::string& app, const std::string& key, const std::string& value,
                        const UseOfValue& sum);

  using UseOfKey = std::map<std::string, UseOfValue, std::less<>>;

  std::map<std::string, std::map<std::string, UseOfKey, std::less<>>> sums_;  // by app, key and value
};

}  // namespace lagwatch::collector
