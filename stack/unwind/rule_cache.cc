// SPDX-License-Identifier: Apache-2.0
#include "stack/unwind/rule_cache.h"

#include <span>

namespace lagwatch::stack {
namespace {

using Cfa = UnwindRule::Cfa;
using Saved = UnwindRule::Saved;

// Whether a rule is one of those that nearly all code has.
bool IsUsual(const UnwindRule& rule) {
  auto is_near = [](Saved where) { return where == Saved::kSame || where == Saved::kAtCfa; };
  return (rule.cfa == Cfa::kStackPointer || rule.cfa == Cfa::kFramePointer) && !rule.is_signal_frame &&
         rule.return_address == Saved::kAtCfa && is_near(rule.frame_pointer) && is_near(rule.base_pointer);
}

}  // namespace

void RuleCache::Clear() {
  pages_.Clear();
  // Zero is no key, except in the first slot; unused slots are not touched, so that they cost no memory.
  for (CachedRule& rule : std::span(rules_.get(), kSlots)) {
    if (rule.key != 0) rule.key = 0;
  }
  rules_[0].key = NoKey(0);
}

void RuleCache::Fill(uint64_t end_of_call, const ModuleMap& modules, CachedRule* cached) {
  const uint64_t address = end_of_call - 1;
  const ModuleMap::CodeRange* range = modules.FindRange(address);
  *cached = CachedRule{end_of_call, address, address, FoundRule{}, kNoModule, false};
  if (range == nullptr || range->module == kNoModule) return;
  cached->module = range->module;
  const Module& module = modules.module(cached->module);
  cached->offset = address - range->load_bias;
  const UnwindTable* table = tables_->Find(cached->module);
  bool is_found = table != nullptr ? table->Find(cached->offset, &cached->found)
                                   : search_.Find(module, cached->offset, &pages_, &cached->found);
  if (!is_found) cached->found = FoundRule{};
  cached->is_usual = IsUsual(cached->found.rule);
  // The table may know more than the search.
  if (table == nullptr && !is_found) cached->key = NoKey(end_of_call);
  if (table == nullptr) tables_->Request(cached->module, module);
}

}  // namespace lagwatch::stack
