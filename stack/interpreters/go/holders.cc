// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/go/holders.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace lagwatch::stack::go {
namespace {

constexpr size_t kMostCodeBytes = 4096;

bool IsLocking(std::string_view name) {
  return name.ends_with("sync.(*Mutex).Lock") || name == "sync.(*RWMutex).Lock" ||
         name == "sync.(*RWMutex).RLock";
}

bool IsUnlocking(std::string_view name) {
  return name.ends_with("sync.(*Mutex).Unlock") || name == "sync.(*RWMutex).Unlock" ||
         name == "sync.(*RWMutex).RUnlock";
}

}  // namespace

template <typename Use>
void HolderSearch::ForEachCall(const Frame& frame, Use use) {
  constexpr uint8_t kCall = 0xe8;  // with the distance from the next instruction in 4 bytes
  uint8_t code[kMostCodeBytes];
  const size_t size = std::min<uint64_t>(frame.pc - frame.function.entry, sizeof code);
  if (!functions_->ReadCode(frame.function.entry, code, size)) return;
  for (size_t i = 0; i + 5 <= size; ++i) {
    int32_t distance = 0;
    std::memcpy(&distance, code + i + 1, sizeof distance);
    const uint64_t target = frame.function.entry + i + 5 + static_cast<uint64_t>(int64_t{distance});
    if (code[i] == kCall && functions_->code().Holds(target) && !use(target)) return;
  }
}

bool HolderSearch::RefersTo(const Frame& frame, uint64_t address) {
  uint8_t code[kMostCodeBytes];
  const size_t size = std::min<uint64_t>(frame.pc - frame.function.entry, sizeof code);
  if (!functions_->data().Holds(address) || !functions_->ReadCode(frame.function.entry, code, size))
    return false;
  for (size_t i = 0; i + 4 <= size; ++i) {
    int32_t distance = 0;
    std::memcpy(&distance, code + i, sizeof distance);
    if (frame.function.entry + i + 4 + static_cast<uint64_t>(int64_t{distance}) == address) return true;
  }
  return false;
}

bool HolderSearch::HasLocked(const Frame& frame) {
  bool has_locked = functions_->HasInlinedBefore(frame.function, frame.pc, &IsLocking);
  bool has_unlocked = functions_->HasInlinedBefore(frame.function, frame.pc, &IsUnlocking);
  ForEachCall(frame, [&](uint64_t target) {
    Function called;
    Place room;
    if (!functions_->Find(target, &called) || called.entry != target) return true;
    const std::string_view name = functions_->NameOf(called, &room);
    has_locked |= IsLocking(name);
    has_unlocked |= IsUnlocking(name);
    return !has_unlocked;
  });
  return has_locked && !has_unlocked;
}

HolderSearch::Evidence HolderSearch::EvidenceIn(const Frame& frame, uint64_t address) {
  // Arguments that came in registers are kept behind the return address.
  constexpr uint64_t kArgumentBytes = 80;
  constexpr uint64_t kMostOffset = 512;  // of the lock in the structure that it is a part of
  if (RefersTo(frame, address)) return Evidence::kExact;
  Evidence evidence = Evidence::kNone;
  for (uint64_t at = frame.begin; at < frame.end + 8 + kArgumentBytes; at += 8) {
    uint64_t word = 0;
    if (at == frame.end || !stack_->Word(at, &word)) continue;
    if (word == address) return Evidence::kExact;
    if (word < address && address - word < kMostOffset) evidence = Evidence::kNear;
  }
  return evidence;
}

void HolderSearch::Add(const Goroutine& goroutine, uint64_t address) {
  Evidence best = Evidence::kNone;
  stack_->Use(memory_, goroutine.stack_pointer, goroutine.stack_end);
  Walk(functions_, stack_, goroutine.program_counter, goroutine.stack_pointer, /*is_caller=*/true,
       [&](const Frame& frame) {
         const Evidence evidence = EvidenceIn(frame, address);
         if (evidence > best && HasLocked(frame)) best = evidence;
         return best != Evidence::kExact;
       });
  if (best == Evidence::kExact && exact_count_++ == 0) exact_id_ = goroutine.id;
  if (best == Evidence::kNear && near_count_++ == 0) near_id_ = goroutine.id;
}

Holders HolderSearch::found() const {
  if (exact_count_ == 0) return {near_id_, near_count_, false};
  return {exact_id_, exact_count_, exact_count_ == 1 && near_count_ == 0 && !has_unknown_};
}

}  // namespace lagwatch::stack::go
