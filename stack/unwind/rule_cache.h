// SPDX-License-Identifier: Apache-2.0
// The unwind rules of addresses of code, through a cache: from compiled tables, or from .eh_frame in memory
// until these are ready.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/process/own_memory.h"
#include "stack/code/module_map.h"
#include "stack/code/page_cache.h"
#include "stack/unwind/tables/eh_frame_search.h"
#include "stack/unwind/tables/rule.h"
#include "stack/unwind/tables/table_library.h"
#include "stack/unwind/tables/unwind_table.h"

namespace lagwatch::stack {

// Everything about one address of code that a walk asks for.
struct alignas(64) CachedRule {
  uint64_t key;      // the byte after the address, or another value where the answer holds for once only
  uint64_t address;  // a byte of the instruction whose rule this is: of a caller, the last one of its call
  uint64_t offset;
  FoundRule found;
  uint32_t module;
  bool is_usual;  // nearly all code has such a rule: see IsUsual() in rule_cache.cc
};

// Direct-mapped by address. Context: watchdog; not thread-safe.
class RuleCache {
 public:
  // `tables` is borrowed. Context: background (allocates the cache).
  explicit RuleCache(TableLibrary* tables) : tables_(tables), rules_(base::MapOwnBlock<CachedRule>(kSlots)) {
    if (ok()) Clear();
  }
  // False when there was no memory.
  bool ok() const { return rules_ != nullptr && search_.ok(); }
  TableLibrary* tables() const { return tables_; }
  // The code in memory from which rules are read.
  PageCache* pages() { return &pages_; }
  EhFrameSearch* search() { return &search_; }

  // To be called when modules came or went.
  void Clear();
  // The rule of the address before `end_of_call`; valid until the next call. A walk waits for this at each
  // frame: nothing but a mask is between a return address and its rule.
  const CachedRule& Lookup(uint64_t end_of_call, const ModuleMap& modules) {
    CachedRule& cached = rules_[end_of_call % kSlots];
    if (cached.key != end_of_call) [[unlikely]]
      Fill(end_of_call, modules, &cached);
    return cached;
  }

 private:
  static constexpr size_t kSlots = 4096;

  // A key that belongs into another slot.
  static uint64_t NoKey(uint64_t end_of_call) { return end_of_call ^ 1; }
  void Fill(uint64_t end_of_call, const ModuleMap& modules, CachedRule* cached);

  TableLibrary* tables_;
  PageCache pages_;
  EhFrameSearch search_;
  base::MappedBlock<CachedRule> rules_;
};

}  // namespace lagwatch::stack
