// SPDX-License-Identifier: Apache-2.0
#include "trace/instrument/probes/code_space.h"

#include <algorithm>

namespace lagwatch::trace {
namespace {

// Each page is one that the process did not have, and may be a mapping of its own.
constexpr size_t kMaxPages = 8192;
constexpr uint64_t kChunkBytes = 64 << 10;
constexpr uint64_t kChunkStepBytes = uint64_t{1} << 20;
// Of 2 GiB, what is left for modules themselves.
constexpr uint64_t kReachBytes = uint64_t{1} << 30;

// Whether five bytes meet one of the others.
bool Meets(const std::set<uint64_t>& begins, uint64_t address) {
  constexpr uint64_t kJumpBytes = 5;
  const auto found = begins.lower_bound(address - (kJumpBytes - 1));
  return found != begins.end() && *found < address + kJumpBytes;
}

}  // namespace

bool CodeSpace::IsJumpFree(uint64_t address) const { return !Meets(pads_, address); }
bool CodeSpace::IsPadFree(uint64_t address) const {
  return !Meets(pads_, address) && !Meets(jumps_, address);
}

bool CodeSpace::Map(const MemoryMap& memory, uint64_t address, uint64_t size_bytes) {
  return !memory.IsSpokenFor(address, address + size_bytes) && CodeWriter::Map(address, size_bytes);
}

bool CodeSpace::IsFreeAt(const MemoryMap& memory, uint64_t address, size_t size_bytes) const {
  const uint64_t end = address + size_bytes;
  for (uint64_t page = address & ~(kCodePageBytes - 1); page < end; page += kCodePageBytes) {
    const auto found = pages_.find(page);
    if (found == pages_.end()) {
      if (!memory.IsFree(page, page + kCodePageBytes)) return false;
      continue;
    }
    for (const Taken& taken : found->second)
      if (address < taken.end && taken.begin < end) return false;
  }
  return true;
}

bool CodeSpace::TakeAt(const MemoryMap& memory, uint64_t address, size_t size_bytes) {
  const uint64_t end = address + size_bytes;
  const uint64_t first = address & ~(kCodePageBytes - 1);
  for (uint64_t page = first; page < end; page += kCodePageBytes) {
    auto found = pages_.find(page);
    if (found == pages_.end()) {
      if (pages_.size() >= kMaxPages || !Map(memory, page, kCodePageBytes)) return false;
      found = pages_.emplace(page, std::vector<Taken>()).first;
    }
    for (const Taken& taken : found->second)
      if (address < taken.end && taken.begin < end) return false;
  }
  for (uint64_t page = first; page < end; page += kCodePageBytes) pages_[page].push_back({address, end});
  return true;
}

uint64_t CodeSpace::TakeNear(const MemoryMap& memory, uint64_t begin, uint64_t end, size_t size_bytes) {
  const auto reaches = [&](const Chunk& chunk) {
    return chunk.end - std::min(begin, chunk.begin) <= 2 * kReachBytes - kChunkBytes &&
           std::max(end, chunk.end) - chunk.begin <= 2 * kReachBytes - kChunkBytes;
  };
  for (Chunk& chunk : chunks_) {
    if (!reaches(chunk) || chunk.end - chunk.next < size_bytes) continue;
    chunk.next += size_bytes;
    return chunk.next - size_bytes;
  }
  Chunk* chunk = AddChunk(memory, begin, end);
  if (chunk == nullptr) return 0;
  chunk->next += size_bytes;
  return chunk->begin;
}

CodeSpace::Chunk* CodeSpace::AddChunk(const MemoryMap& memory, uint64_t begin, uint64_t end) {
  const uint64_t up = (end + kChunkStepBytes) & ~(kChunkStepBytes - 1);
  const uint64_t down = begin & ~(kChunkStepBytes - 1);
  // Above first: below libraries is where the next mappings go.
  for (uint64_t distance = 0; distance < kReachBytes; distance += kChunkStepBytes) {
    if (Map(memory, up + distance, kChunkBytes)) {
      chunks_.push_back({up + distance, up + distance, up + distance + kChunkBytes});
      return &chunks_.back();
    }
    const uint64_t below = down - distance - kChunkBytes;
    if (down > distance + kChunkBytes && Map(memory, below, kChunkBytes)) {
      chunks_.push_back({below, below, below + kChunkBytes});
      return &chunks_.back();
    }
  }
  return nullptr;
}

}  // namespace lagwatch::trace
