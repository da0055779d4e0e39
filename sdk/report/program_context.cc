// SPDX-License-Identifier: Apache-2.0
#include "sdk/report/program_context.h"

#include <algorithm>
#include <cstring>

namespace lagwatch::sdk {
namespace {

constinit ProgramContext g_words;

}  // namespace

ProgramContext& ProcessWords() { return g_words; }

bool ProgramValues::Set(const char* key, const char* value) {
  const std::string_view name = key == nullptr ? "" : std::string_view(key, strnlen(key, kMaxKeyBytes + 1));
  if (name.empty() || name.size() > kMaxKeyBytes) return false;
  TextCell* text = Find(name);
  if (text == nullptr) {
    std::lock_guard lock(mutex_);
    text = Find(name);
    const size_t count = count_.load(std::memory_order_relaxed);  // written under the lock
    if (text == nullptr && count == kMaxValues) return false;
    if (text == nullptr) {
      std::ranges::copy(name, values_[count].key.begin());
      text = &values_[count].text;
      count_.store(count + 1, std::memory_order_release);  // publishes the key
    }
  }
  text->Set(value);
  return true;
}

TextCell* ProgramValues::Find(std::string_view key) {
  const size_t count = count_.load(std::memory_order_acquire);  // pairs with the store of a ready key
  const auto known = std::ranges::find_if(values_.begin(), values_.begin() + count,
                                          [&](const Value& value) { return UpToNul(value.key) == key; });
  return known == values_.begin() + count ? nullptr : &known->text;
}

}  // namespace lagwatch::sdk
