// SPDX-License-Identifier: Apache-2.0
#include "trace/record/stack_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/unsynchronized_copy.h"

namespace lagwatch::trace {
namespace {

constexpr uint32_t kIndexMask = (1U << kStackIndexBits) - 1;

uint64_t HashOf(const StackNodeBytes& node) {
  uint64_t words[2];
  std::memcpy(words, &node, sizeof words);
  // Multiplied and folded, as in wyhash (https://github.com/wangyi-fudan/wyhash): keys are not hostile.
  const auto product =
      static_cast<unsigned __int128>(words[0] ^ 0xa076'1d64'78bd'642f) * (words[1] ^ 0xe703'7ed1'a0b4'28db);
  return static_cast<uint64_t>(product >> 64) ^ static_cast<uint64_t>(product);
}

StackNodeBytes NodeOf(const stack::Frame& frame, bool is_innermost, bool is_script) {
  const bool fits = frame.module < UINT16_MAX && frame.offset <= UINT32_MAX;
  if (!fits) {
    return {0, 0, StackNodeBytes::kAddress, static_cast<uint32_t>(frame.offset),
            static_cast<uint32_t>(frame.offset >> 32)};
  }
  const auto function = static_cast<uint32_t>(frame.function_offset);
  const auto offset = static_cast<uint32_t>(frame.offset);
  if (is_script) return {0, static_cast<uint16_t>(frame.module), StackNodeBytes::kScript, offset, function};
  return {0, static_cast<uint16_t>(frame.module), StackNodeBytes::kInModule,
          is_innermost && function != 0 ? function : offset, function};
}

}  // namespace

StackTable::StackTable(Arena* arena, const stack::ModuleMap* modules)
    : arena_(arena),
      modules_(modules),
      capacity_(static_cast<uint32_t>(
          std::min<uint64_t>(arena->layout().stack_capacity, uint64_t{kIndexMask} + 1))) {
  const size_t slot_count = std::bit_ceil(size_t{2} * capacity_);
  if (!slots_.Resize(slot_count)) return;
  slot_mask_ = slot_count - 1;
  BeginGeneration(1);
}

void StackTable::BeginGeneration(uint64_t number) {
  StackGeneration& generation = arena_->header().generations[number % 2];
  generation.number.store(0, std::memory_order_relaxed);  // ordered by the fence
  std::atomic_thread_fence(std::memory_order_release);
  generation.node_count.store(1, std::memory_order_relaxed);  // published by the number
  generation.number.store(number, std::memory_order_release);
  // The first generation's are zero already, and not yet there.
  if (number != 1) std::memset(slots_.data(), 0, slots_.size_bytes());
  newest_ = number;
}

uint32_t StackTable::Intern(const stack::Stack& stack) {
  if (stack.frame_count == 0) return kNoStack;
  uint32_t index = InternIn(newest_, stack);
  if (index == 0) {
    BeginGeneration(newest_ + 1);
    arena_->header().counters.stack_generations.Add();
    index = InternIn(newest_, stack);
  }
  if (index == 0) {
    arena_->header().counters.stacks_refused.Add();
    return kNoStack;
  }
  return static_cast<uint32_t>(newest_ << kStackIndexBits) | index;
}

uint32_t StackTable::InternIn(uint64_t generation, const stack::Stack& stack) {
  uint32_t parent = 0;
  for (uint32_t i = stack.frame_count; i-- != 0;) {
    StackNodeBytes node = NodeOf(stack.frames[i], i == 0, IsScript(stack.frames[i]));
    node.parent = parent;
    parent = FindOrAdd(generation, node);
    if (parent == 0) return 0;
  }
  return parent;
}

bool StackTable::IsScript(const stack::Frame& frame) const {
  return modules_ != nullptr && frame.module < modules_->kMaxModules &&
         modules_->module(frame.module).is_language;
}

uint32_t StackTable::FindOrAdd(uint64_t generation_number, const StackNodeBytes& node) {
  StackNodeBytes* nodes = arena_->stack_nodes(generation_number);
  size_t slot = HashOf(node) & slot_mask_;
  for (; slots_[slot] != 0; slot = (slot + 1) & slot_mask_) {
    if (nodes[slots_[slot]] == node) return slots_[slot];
  }
  StackGeneration& generation = arena_->header().generations[generation_number % 2];
  const uint32_t index = generation.node_count.load(std::memory_order_relaxed);  // only we change it
  if (index >= capacity_) return 0;
  nodes[index] = node;
  slots_[slot] = index;
  generation.node_count.store(index + 1, std::memory_order_release);  // publishes the node
  return index;
}

bool CopyStackGeneration(const Arena& arena, int half, StackGenerationCopy* copy) {
  const StackGeneration& generation = arena.header().generations[half];
  const uint64_t number = generation.number.load(std::memory_order_acquire);  // pairs with its store
  if (number == 0 || static_cast<int>(number % 2) != half) return false;
  const uint64_t count = std::min<uint64_t>(generation.node_count.load(std::memory_order_acquire),
                                            arena.layout().stack_capacity);
  copy->number = number;
  copy->nodes.resize(count);
  base::CopyUnsynchronized(arena.stack_nodes(number), copy->nodes.data(), count * sizeof(StackNodeBytes));
  std::atomic_thread_fence(std::memory_order_acquire);
  return generation.number.load(std::memory_order_relaxed) == number;  // ordered by the fence
}

}  // namespace lagwatch::trace
