// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/own/own_heap.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/process/own_memory.h"

namespace lagwatch::sdk {
namespace {

constexpr size_t kUnitBytes = OwnHeap::kAlignment;
constexpr size_t kChunkBytes = size_t{1} << 20;
constexpr size_t kChunkUnits = kChunkBytes / kUnitBytes;
constexpr size_t kMostChunks = 4096;
constexpr size_t kLargestSmallBytes = 128 << 10;  // the reserve for exceptions has 72 KiB
constexpr size_t kMostBytes = SIZE_MAX / 4;
constexpr size_t kPageBytes = 4096;

// The header in front of each block's memory.
struct alignas(kUnitBytes) Header {
  uint32_t size_class;  // or one of the kinds below
  uint32_t place;       // of a small block: its chunk and its first unit there
  uint64_t bytes;  // of a large block's mapping; of an aligned one, back to the memory that it is a part of
};
static_assert(sizeof(Header) == kUnitBytes);
constexpr uint32_t kLarge = 1000;
constexpr uint32_t kAligned = 1001;

// Sizes with their headers: steps of 16 bytes up to 128, then four for each power of two.
constexpr size_t kEvenBytes = 128;
constexpr uint32_t kEvenClasses = kEvenBytes / kUnitBytes - 1;

constexpr uint32_t ClassOf(size_t block_bytes) {
  if (block_bytes <= kEvenBytes)
    return static_cast<uint32_t>((std::max(block_bytes, 2 * kUnitBytes) + kUnitBytes - 1) / kUnitBytes - 2);
  const size_t last = block_bytes - 1;
  const auto width = static_cast<uint32_t>(std::bit_width(last));
  return kEvenClasses + (width - 8) * 4 + static_cast<uint32_t>(last >> (width - 3)) - 4;
}

constexpr size_t BytesOf(uint32_t size_class) {
  if (size_class < kEvenClasses) return (size_class + 2) * kUnitBytes;
  const uint32_t step = size_class - kEvenClasses;
  return size_t{5 + step % 4} << (step / 4 + 5);
}

constexpr uint32_t kClasses = ClassOf(kLargestSmallBytes) + 1;
static_assert(BytesOf(kClasses - 1) == kLargestSmallBytes);

// The upper half counts its changes; the lower half is the place of the first free block, 0 for none.
constinit std::atomic<uint64_t> g_free[kClasses] = {};
constinit std::atomic<char*> g_chunks[kMostChunks] = {};
// The first unit that was never used: its chunk in the upper half. Place 0 is no block's.
constinit std::atomic<uint64_t> g_unused{1};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<char*>::is_always_lock_free);

Header* HeaderOf(void* memory) { return static_cast<Header*>(memory) - 1; }

Header* BlockAt(uint32_t place) {
  char* chunk = g_chunks[place / kChunkUnits].load(std::memory_order_acquire);  // with its first content
  return reinterpret_cast<Header*>(chunk + place % kChunkUnits * kUnitBytes);
}

// The next free block's place is in a free block's memory. A thread that lost a race reads what its new owner
// writes there, and then finds that the head has changed.
uint32_t* NextOf(Header* block) { return reinterpret_cast<uint32_t*>(block + 1); }

char* ChunkAt(size_t index) {
  char* chunk = g_chunks[index].load(std::memory_order_acquire);  // as BlockAt()
  if (chunk != nullptr) return chunk;
  char* mapped = static_cast<char*>(base::MapKept(kChunkBytes));
  if (mapped == nullptr || g_chunks[index].compare_exchange_strong(chunk, mapped)) return mapped;
  munmap(mapped, kChunkBytes);  // another thread was first
  return chunk;
}

Header* TakeUnused(uint32_t size_class) {
  const size_t units = BytesOf(size_class) / kUnitBytes;
  uint64_t unused = g_unused.load();
  for (;;) {
    const size_t chunk_index = unused >> 32;
    const size_t unit = unused & UINT32_MAX;
    if (chunk_index == kMostChunks) return nullptr;
    if (unit + units > kChunkUnits) {
      g_unused.compare_exchange_weak(unused, (chunk_index + 1) << 32);
      unused = g_unused.load();
      continue;
    }
    char* chunk = ChunkAt(chunk_index);
    if (chunk == nullptr) return nullptr;
    if (!g_unused.compare_exchange_weak(unused, unused + units)) continue;
    auto* block = reinterpret_cast<Header*>(chunk + unit * kUnitBytes);
    *block = {size_class, static_cast<uint32_t>(chunk_index * kChunkUnits + unit), 0};
    return block;
  }
}

Header* TakeFree(uint32_t size_class) {
  std::atomic<uint64_t>& head = g_free[size_class];
  uint64_t first = head.load(std::memory_order_acquire);  // the block's next
  while (static_cast<uint32_t>(first) != 0) {
    Header* block = BlockAt(static_cast<uint32_t>(first));
    const uint32_t next = __atomic_load_n(NextOf(block), __ATOMIC_RELAXED);
    const uint64_t count = (first >> 32) + 1;
    if (head.compare_exchange_weak(first, count << 32 | next, std::memory_order_acquire)) return block;
  }
  return nullptr;
}

void* AllocateLarge(size_t bytes) {
  const size_t mapped_bytes = (bytes + sizeof(Header) + kPageBytes - 1) / kPageBytes * kPageBytes;
  auto* block = static_cast<Header*>(base::MapUnlocked(mapped_bytes));
  if (block == nullptr) return nullptr;
  *block = {kLarge, 0, mapped_bytes};
  return block + 1;
}

void* AllocateBlock(size_t bytes, bool is_zeroed) {
  if (bytes > kMostBytes) return nullptr;
  if (bytes + sizeof(Header) > kLargestSmallBytes) return AllocateLarge(bytes);
  const uint32_t size_class = ClassOf(bytes + sizeof(Header));
  if (Header* block = TakeFree(size_class)) {
    if (is_zeroed) std::memset(block + 1, 0, bytes);
    return block + 1;
  }
  Header* block = TakeUnused(size_class);
  return block == nullptr ? nullptr : block + 1;
}

// Returns the bytes that fit in the block from `memory` on.
size_t RoomAt(void* memory) {
  const Header* header = HeaderOf(memory);
  if (header->size_class == kAligned)
    return RoomAt(static_cast<char*>(memory) - header->bytes) - header->bytes;
  const size_t block_bytes = header->size_class == kLarge ? header->bytes : BytesOf(header->size_class);
  return block_bytes - sizeof(Header);
}

}  // namespace

void* OwnHeap::Allocate(size_t bytes) { return AllocateBlock(bytes, false); }

void* OwnHeap::AllocateZeroed(size_t bytes) { return AllocateBlock(bytes, true); }

void* OwnHeap::AllocateAligned(size_t alignment, size_t bytes) {
  if (alignment <= kAlignment) return Allocate(bytes);
  if (alignment > kMostBytes || bytes > kMostBytes) return nullptr;
  auto* memory = static_cast<char*>(Allocate(bytes + alignment));
  if (memory == nullptr) return nullptr;
  // At least one unit further on, where its own header has room.
  const auto address = reinterpret_cast<uintptr_t>(memory);
  const size_t offset = alignment - address % alignment;
  void* aligned = memory + offset;
  *HeaderOf(aligned) = {kAligned, 0, offset};
  return aligned;
}

void* OwnHeap::Resize(void* memory, size_t bytes) {
  if (memory == nullptr) return Allocate(bytes);
  const size_t room = RoomAt(memory);
  Header* header = HeaderOf(memory);
  if (bytes <= room && (header->size_class != kLarge || bytes > room / 2)) return memory;
  if (bytes > kMostBytes) return nullptr;
  if (header->size_class == kLarge && bytes + sizeof(Header) > kLargestSmallBytes) {
    const size_t mapped_bytes = (bytes + sizeof(Header) + kPageBytes - 1) / kPageBytes * kPageBytes;
    auto* moved = static_cast<Header*>(base::ResizeUnlocked(header, header->bytes, mapped_bytes));
    if (moved == nullptr) return nullptr;
    moved->bytes = mapped_bytes;
    return moved + 1;
  }
  void* moved = Allocate(bytes);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, memory, std::min(room, bytes));
  Free(memory);
  return moved;
}

void OwnHeap::Free(void* memory) {
  if (memory == nullptr) return;
  Header* block = HeaderOf(memory);
  if (block->size_class == kAligned) return Free(static_cast<char*>(memory) - block->bytes);
  if (block->size_class == kLarge) {
    munmap(block, block->bytes);
    return;
  }
  std::atomic<uint64_t>& head = g_free[block->size_class];
  uint64_t first = head.load();
  uint64_t changed;
  do {
    __atomic_store_n(NextOf(block), static_cast<uint32_t>(first), __ATOMIC_RELAXED);
    changed = ((first >> 32) + 1) << 32 | block->place;
  } while (!head.compare_exchange_weak(first, changed, std::memory_order_release));  // with its next
}

}  // namespace lagwatch::sdk
