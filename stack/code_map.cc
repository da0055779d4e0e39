// SPDX-License-Identifier: Apache-2.0
#include "stack/code_map.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "stack/code/own_code.h"

namespace lagwatch::stack {

CodeMap::CodeMap(std::unique_ptr<Unwinder> unwinder, const base::Process& process)
    : modules_(process), unwinder_(std::move(unwinder)) {
  if (tables() != nullptr) tables()->UseSource(this);
}

CodeMap::~CodeMap() {
  if (tables() != nullptr) tables()->UseSource(nullptr);
}

void CodeMap::LookAt(const base::Process& process) {
  std::lock_guard lock(mutex_);
  modules_.LookAt(process);
}

void CodeMap::Refresh() {
  std::lock_guard lock(mutex_);
  RefreshHeld();
}

void CodeMap::RefreshHeld() {
  refreshed_ns_.store(base::SystemClock().MonoNs());
  has_met_unknown_.store(false);
  const bool has_changed = modules_.Refresh();
  has_found_changes_.store(has_changed);
  if (has_changed) {
    unwinder_->OnModulesChanged();
    RequestTables();
  }
  if (has_changed || snapshot_.generation() == 0) snapshot_.Publish(modules_);
  snapshot_.PublishMainStack(modules_.stacks().main_stack);
  refresh_count_.fetch_add(1, std::memory_order_release);  // pairs with refresh_count()
}

void CodeMap::RequestTables() {
  for (uint32_t i = 0; tables() != nullptr && i < modules_.module_count(); ++i) {
    if (modules_.module(i).eh_frame_hdr == 0 && !tables()->IsRequested(i)) tables()->RequestByIndex(i);
  }
}

void CodeMap::RefreshIfDue() {
  constexpr int64_t kLoadingAgeNs = 100 * base::kNsPerMs;     // one library seldom comes alone
  constexpr int64_t kShortestAgeNs = 1 * base::kNsPerSecond;  // code that a program generates is never known
  constexpr int64_t kLongestAgeNs = 10 * base::kNsPerSecond;
  auto is_due = [this] {
    const int64_t age_ns = base::SystemClock().MonoNs() - refreshed_ns_.load();
    const int64_t shortest_ns = has_found_changes_.load() ? kLoadingAgeNs : kShortestAgeNs;
    return age_ns >= kLongestAgeNs || (has_met_unknown_.load() && age_ns >= shortest_ns);
  };
  if (!is_due()) return;
  std::lock_guard lock(mutex_);
  if (is_due()) RefreshHeld();
}

void CodeMap::Unwind(const RawStack& raw, Stack* stack) {
  {
    std::lock_guard lock(mutex_);
    unwinder_->Unwind(raw, modules_, stack);
    CutOwnFrames(modules_, stack);
  }
  if (std::ranges::any_of(stack->view(), [](const Frame& frame) { return frame.module == kNoModule; }))
    NoteUnknownMemory();
}

void CodeMap::UnwindTableless(const RawStack& raw, Stack* stack, TablelessFrames* tableless) {
  std::lock_guard lock(mutex_);
  unwinder_->UnwindTableless(raw, modules_, stack, tableless);
}

void CodeMap::UnwindLive(const RawStack& raw, Stack* stack, LiveValues* live) {
  std::lock_guard lock(mutex_);
  unwinder_->UnwindLive(raw, modules_, stack, live);
  CutOwnFrames(modules_, stack);
}

void CodeMap::TrustGeneratedRecords() {
  std::lock_guard lock(mutex_);
  unwinder_->TrustGeneratedRecords();
}

uint32_t CodeMap::FindCode(uint64_t address, bool* is_code) const {
  std::lock_guard lock(mutex_);
  const ModuleMap::CodeRange* range = modules_.FindRange(address);
  *is_code = range != nullptr;
  return range == nullptr ? kNoModule : range->module;
}

Frame CodeMap::Resolve(uint64_t return_address) {
  std::lock_guard lock(mutex_);
  const Frame frame = unwinder_->Resolve(return_address, modules_);
  if (frame.module == kNoModule) NoteUnknownMemory();
  return frame;
}

StackRegions CodeMap::CopyStacks(MemoryRegion* regions, uint32_t* refresh_count) const {
  std::lock_guard lock(mutex_);
  StackRegions stacks = modules_.stacks();
  std::copy_n(stacks.regions, stacks.count, regions);
  stacks.regions = regions;
  *refresh_count = refresh_count_.load(std::memory_order_relaxed);  // written under the lock
  return stacks;
}

Module CodeMap::CopyModule(uint32_t index) const {
  std::lock_guard lock(mutex_);
  return modules_.module(index);
}

uint32_t CodeMap::AddLanguage(std::string_view path) {
  std::lock_guard lock(mutex_);
  return modules_.AddLanguage(path);
}

uint32_t CodeMap::module_count() const {
  std::lock_guard lock(mutex_);
  return modules_.module_count();
}

}  // namespace lagwatch::stack
