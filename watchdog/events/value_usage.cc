// SPDX-License-Identifier: Apache-2.0
#include "watchdog/events/value_usage.h"

#include <algorithm>
#include <cstring>

namespace lagwatch::watchdog {

template <typename Change>
void ValueUsage::ChangeEach(const ValueIds& values, Change change) {
  if (source_ == nullptr) return;
  for (size_t i = 0; i < source_->key_count(); ++i) {
    if (values[i] < counts_[i]) change(&values_[i][values[i]].usage);
  }
}

ValueIds ValueUsage::Present() {
  ValueIds ids{};
  for (size_t i = 0; source_ != nullptr && i < source_->key_count(); ++i) {
    char text[ValueSource::kMaxValueBytes];
    source_->Read(i, text);
    char terminated[sizeof text + 1] = {};
    std::memcpy(terminated, text, sizeof text);
    ids[i] = IdOf(i, terminated);
  }
  return ids;
}

uint8_t ValueUsage::IdOf(size_t key, const char* text) {
  std::array<Value, kMaxValues>& known = values_[key];
  for (uint8_t id = 0; id < counts_[key]; ++id) {
    if (std::strcmp(known[id].text, text) == 0) return id;
  }
  if (counts_[key] == kMaxValues) return kMaxValues - 1;
  const uint8_t id = counts_[key]++;
  const char* name = counts_[key] == kMaxValues ? kOthers : text;
  std::memcpy(known[id].text, name, std::strlen(name) + 1);
  return id;
}

void ValueUsage::AddWatched(const ValueIds& values, int64_t watched_ns) {
  ChangeEach(values, [&](policies::UsagePart* usage) { usage->watched_ns += watched_ns; });
}

void ValueUsage::AddHang(const ValueIds& values) {
  ChangeEach(values, [](policies::UsagePart* usage) { ++usage->hangs; });
}

void ValueUsage::AddHangTime(const ValueIds& values, int64_t added_ns) {
  ChangeEach(values, [&](policies::UsagePart* usage) {
    usage->hang_ns = std::max<int64_t>(0, usage->hang_ns + added_ns);
  });
}

void ValueUsage::Clear() {
  for (auto& of_key : values_)
    for (Value& value : of_key) value.usage = {};
}

}  // namespace lagwatch::watchdog
