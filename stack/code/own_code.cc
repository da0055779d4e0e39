// SPDX-License-Identifier: Apache-2.0
#include "stack/code/own_code.h"

#include <algorithm>
#include <atomic>
#include <iterator>

namespace lagwatch::stack {
namespace {

// Functions that were noted, by their hash; 0: free. Never removed, since a program may keep
// a hook's address.
constinit std::atomic<uint64_t> g_functions[512] = {};
constinit std::atomic<bool> g_has_functions{false};

size_t PlaceOf(uint64_t start) {
  return base::HashWord(start, base::kFnvOffsetBasis) % std::size(g_functions);
}

// Relaxed, here and below: each place is whole in itself, and changes once.
bool IsOwnFunction(uint64_t start) {
  for (size_t i = 0; i < std::size(g_functions); ++i) {
    const uint64_t known =
        g_functions[(PlaceOf(start) + i) % std::size(g_functions)].load(std::memory_order_relaxed);
    if (known == start) return true;
    if (known == 0) return false;
  }
  return false;
}

// Marks a hook and, inwards from it, its callees in its own module, as long as that is not left.
void MarkHook(const Stack& stack, uint32_t hook, bool (&is_own)[kMaxFrames]) {
  for (uint32_t i = hook + 1; i-- != 0 && stack.frames[i].module == stack.frames[hook].module;) {
    is_own[i] = true;
    const bool is_after_gap = stack.gap_frame_count != 0 && i == stack.gap_at;
    if (is_after_gap) return;
  }
}

bool MarkOwn(const ModuleMap& modules, const Stack& stack, bool (&is_own)[kMaxFrames]) {
  const bool has_functions = g_has_functions.load(std::memory_order_relaxed);
  bool is_any_own = false;
  for (uint32_t i = 0; i < stack.frame_count; ++i) {
    const Frame& frame = stack.frames[i];
    is_own[i] = frame.module != kNoModule && modules.module(frame.module).is_own;
    is_any_own = is_any_own || is_own[i];
    if (!has_functions || is_own[i] || frame.module == kNoModule || frame.function_offset == 0) continue;
    if (!IsOwnFunction(modules.module(frame.module).load_bias + frame.function_offset)) continue;
    MarkHook(stack, i, is_own);
    is_any_own = true;
  }
  return is_any_own;
}

}  // namespace

void NoteOwnFunction(const void* start) {
  const auto address = reinterpret_cast<uint64_t>(start);
  for (size_t i = 0; i < std::size(g_functions); ++i) {
    std::atomic<uint64_t>& place = g_functions[(PlaceOf(address) + i) % std::size(g_functions)];
    uint64_t known = 0;
    if (place.compare_exchange_strong(known, address, std::memory_order_relaxed) || known == address) break;
  }
  g_has_functions.store(true, std::memory_order_relaxed);
}

void CutOwnFrames(const ModuleMap& modules, Stack* stack) {
  bool is_own[kMaxFrames];
  if (!MarkOwn(modules, *stack, is_own)) return;
  uint32_t kept = 0;
  uint32_t gap_at = stack->gap_at;
  for (uint32_t i = 0; i < stack->frame_count; ++i) {
    if (i < stack->gap_at && is_own[i]) --gap_at;
    if (!is_own[i]) stack->frames[kept++] = stack->frames[i];
  }
  stack->frame_count = kept;
  stack->gap_at = gap_at;
}

}  // namespace lagwatch::stack
