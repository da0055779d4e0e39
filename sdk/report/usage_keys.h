// SPDX-License-Identifier: Apache-2.0
// The program's own values that its use is counted by: the option usage_keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sdk/report/program_facts.h"
#include "watchdog/events/value_usage.h"

namespace lagwatch::sdk {

class UsageKeys final : public watchdog::ValueSource {
 public:
  // Keys with commas between them; ones that are too long, and more than kMaxKeys, are left out. The key
  // "scene", without a value of its own, has the program's scene. `program` is borrowed.
  // Context: background.
  UsageKeys(std::string_view keys, const ProgramContext* program);

  size_t key_count() const override { return keys_.size(); }
  const char* key(size_t index) const override { return keys_[index].c_str(); }
  void Read(size_t index, char (&value)[kMaxValueBytes]) const override;

 private:
  std::vector<std::string> keys_;
  const ProgramContext* program_;
};

}  // namespace lagwatch::sdk
