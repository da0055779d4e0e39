// SPDX-License-Identifier: Apache-2.0
#include "trace/record/function_table.h"

#include <algorithm>
#include <string_view>

namespace lagwatch::trace {

uint32_t FunctionTable::Find(uint64_t number, const stack::ScriptFunctions& functions) {
  const size_t capacity = arena_->layout().function_capacity;
  std::atomic<uint32_t>& counter = arena_->header().function_count;
  if (places_.empty() && !places_.Resize(2 * capacity + 1)) return kNone;
  size_t place = number % places_.size();
  for (; places_[place] != kNone; place = (place + 1) % places_.size())
    if (arena_->functions()[places_[place] - 1].number == number) return places_[place];
  const uint32_t count = counter.load(std::memory_order_relaxed);  // only we change it
  const stack::ScriptFunction found = functions.Find(number);
  if (count >= capacity || found.name.empty()) {
    arena_->header().counters.functions_refused.Add();
    return kNone;
  }
  ArenaFunction& function = arena_->functions()[count];
  function.number = number;
  function.name_size = static_cast<uint16_t>(found.name.copy(function.name, sizeof function.name));
  function.file_size = static_cast<uint16_t>(found.file.copy(function.file, sizeof function.file));
  counter.store(count + 1, std::memory_order_release);  // publishes it
  return places_[place] = count + 1;
}

}  // namespace lagwatch::trace
