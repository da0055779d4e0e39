// SPDX-License-Identifier: Apache-2.0
#include "stack/code/script_functions.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"

namespace lagwatch::stack {
namespace {

// Twice as many places as functions, so that a search ends soon.
constexpr size_t kPlaces = 2 * ScriptFunctions::kMaxFunctions;

// Numbers of 48 bits are short on the wire; two of 4,096 functions are equal once in 30 million programs.
uint64_t NumberOf(const ScriptFunction& function) {
  const uint64_t hash = base::HashBytes(
      function.file,
      base::HashWord(function.name.size(), base::HashBytes(function.name, base::kFnvOffsetBasis)));
  return std::max<uint64_t>(hash >> 16, 1);
}

}  // namespace

uint64_t ScriptFunctions::Add(const ScriptFunction& function) {
  const ScriptFunction cut{function.name.substr(0, kMaxNameBytes), function.file.substr(0, kMaxNameBytes)};
  const uint64_t number = NumberOf(cut);
  if (entries_ == nullptr) {
    entries_ = base::MapBlock<KnownText>(kPlaces);
    texts_ = base::MapBlock<char>(kMaxTextBytes);
  }
  if (entries_ == nullptr || texts_ == nullptr) return number;
  if (entries_[PlaceOf(number)].number == number) return number;
  const size_t text_bytes = cut.name.size() + cut.file.size();
  if (count_ == kMaxFunctions || texts_size_ + text_bytes > kMaxTextBytes) Forget();
  entries_[PlaceOf(number)] = {number, static_cast<uint32_t>(texts_size_),
                               static_cast<uint16_t>(cut.name.size()),
                               static_cast<uint16_t>(cut.file.size())};
  ++count_;
  for (std::string_view text : {cut.name, cut.file}) {
    text.copy(&texts_[texts_size_], text.size());
    texts_size_ += text.size();
  }
  return number;
}

ScriptFunction ScriptFunctions::Find(uint64_t number) const {
  if (count_ == 0) return {};
  const KnownText& entry = entries_[PlaceOf(number)];
  if (entry.number != number) return {};
  const char* text = &texts_[entry.text];
  return {{text, entry.name_size}, {text + entry.name_size, entry.file_size}};
}

size_t ScriptFunctions::PlaceOf(uint64_t number) const {
  size_t place = number % kPlaces;
  while (entries_[place].number != 0 && entries_[place].number != number) place = (place + 1) % kPlaces;
  return place;
}

void ScriptFunctions::Forget() {
  std::memset(&entries_[0], 0, kPlaces * sizeof(KnownText));
  count_ = 0;
  texts_size_ = 0;
}

}  // namespace lagwatch::stack
