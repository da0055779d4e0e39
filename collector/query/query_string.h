// SPDX-License-Identifier: Apache-2.0
// The part of a URL after '?'. Context: background; pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace lagwatch::collector {

// The number of entries that a list returns by default.
inline constexpr int64_t kDefaultLimit = 100;
inline constexpr int64_t kMaxLimit = 1000;

class QueryString {
 public:
  QueryString() = default;
  // Errors: kInvalid for a broken %-escape.
  static base::Result<QueryString> Parse(std::string_view text);

  // Empty when there is no such parameter. Of repeated ones, the last counts.
  std::string Get(std::string_view name) const;
  // `fallback` when there is no such parameter. Errors: kInvalid unless it is a number from
  // `first` to `last`.
  base::Result<int64_t> GetInt(std::string_view name, int64_t fallback, int64_t first, int64_t last) const;

  std::vector<std::string> Names() const;
  void Set(std::string_view name, std::string_view value) { values_[std::string(name)] = value; }
  // The reverse of Parse; leaves out empty values.
  std::string ToText() const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace lagwatch::collector
