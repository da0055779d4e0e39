// SPDX-License-Identifier: Apache-2.0
// The flight recorder's memory: a fixed number of blocks that writers fill one after the other. When all are
// full, the oldest is reused. Holds no pointers, so that another process can read it, too.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/unsynchronized_copy.h"

namespace lagwatch::trace {

// The content type of a block.
enum class BlockKind : uint32_t { kRuns = 1, kCalls = 2 };

// A block of the pool.
//
// Thread safety: one writer at a time, the one that claimed it; any number of readers. Invariants:
// - `ticket` names one use of the block. A reader that finds the same before and after its copy has copied
//   what that use's writer wrote.
// - `bytes` up to `used_bytes` do not change while the ticket stays.
struct alignas(64) Block {
  static constexpr size_t kSizeBytes = 16 << 10;
  static constexpr size_t kHeaderBytes = 64;

  std::atomic<uint64_t> ticket;      // 0: was never used, or is being taken
  std::atomic<uint32_t> used_bytes;  // of `bytes`
  std::atomic<uint32_t> is_open;     // a writer has it
  // Set before the ticket.
  BlockKind kind;
  int32_t tid;         // whose, where it is one thread's; else 0
  uint64_t base;       // what the times in it are relative to: ticks or nanoseconds, as the kind has it
  uint64_t code_base;  // what addresses in it are relative to, where the kind has such
  char padding[kHeaderBytes - 48];
  char bytes[kSizeBytes - kHeaderBytes];

  static constexpr size_t kRoomBytes = kSizeBytes - kHeaderBytes;
};
static_assert(sizeof(Block) == Block::kSizeBytes);
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

// The head of a pool, before its blocks. All zero is an empty pool.
struct alignas(64) BlockPoolHeader {
  std::atomic<uint64_t> next_ticket;        // less 1
  std::atomic<uint64_t> overwritten_count;  // blocks that were used before and had to make room
  std::atomic<uint64_t> refused_count;      // claims that found every block in use
  uint64_t block_count;
};

// A view of a pool in memory owned elsewhere. Thread safety: all from any thread.
class BlockPool {
 public:
  BlockPool() = default;
  // `header` is followed by its blocks; borrowed.
  explicit BlockPool(BlockPoolHeader* header) : BlockPool(header, header->block_count) {}
  // Has `block_count` blocks, whatever the header says, which others can write to.
  BlockPool(BlockPoolHeader* header, uint64_t block_count) : header_(header), block_count_(block_count) {}

  static constexpr size_t SizeBytes(uint64_t block_count) {
    return sizeof(BlockPoolHeader) + block_count * sizeof(Block);
  }
  uint64_t block_count() const { return block_count_; }
  const BlockPoolHeader& header() const { return *header_; }
  BlockPoolHeader* mutable_header() const { return header_; }

  // Takes the oldest block without a writer, emptied; null if all have writers, which is counted. Lock-free,
  // at most as many steps as there are blocks. Context: hot.
  Block* Claim(BlockKind kind, int32_t tid, uint64_t base, uint64_t code_base) {
    for (uint64_t i = 0; i < block_count_; ++i) {
      const uint64_t ticket =
          header_->next_ticket.fetch_add(1, std::memory_order_relaxed) + 1;  // only a number
      Block* block = &blocks()[(ticket - 1) % block_count_];
      uint32_t closed = 0;
      // Acquire: what the last writer wrote comes before what we write.
      if (!block->is_open.compare_exchange_strong(closed, 1, std::memory_order_acquire)) continue;
      if (block->ticket.load(std::memory_order_relaxed) != 0)                // only writers change it
        header_->overwritten_count.fetch_add(1, std::memory_order_relaxed);  // a statistic
      block->ticket.store(0, std::memory_order_relaxed);                     // ordered by the fence
      std::atomic_thread_fence(std::memory_order_release);
      block->used_bytes.store(0, std::memory_order_relaxed);  // published by the ticket
      block->kind = kind;
      block->tid = tid;
      block->base = base;
      block->code_base = code_base;
      block->ticket.store(ticket, std::memory_order_release);  // publishes the header
      return block;
    }
    header_->refused_count.fetch_add(1, std::memory_order_relaxed);  // a statistic
    return nullptr;
  }
  // The block may be taken by others from now on. Context: hot.
  static void Close(Block* block) {
    block->is_open.store(0, std::memory_order_release);  // pairs with the next claim
  }

  // Identifies the use of block `index` and its fill: different after anything was written to it.
  struct Fill {
    uint64_t ticket = 0;
    uint32_t used_bytes = 0;
    bool operator==(const Fill&) const = default;
  };
  Fill FillOf(uint64_t index) const {
    const Block& block = blocks()[index];
    const uint64_t ticket = block.ticket.load(std::memory_order_acquire);  // pairs with its store
    return {ticket, block.used_bytes.load(std::memory_order_acquire)};     // pairs with the writer's
  }

  // Copies block `index` unchanged. Returns false if it was never used or was reused meanwhile. Context: any.
  bool Copy(uint64_t index, Block* copy) const {
    const Block& block = blocks()[index];
    const uint64_t ticket = block.ticket.load(std::memory_order_acquire);  // pairs with its store
    if (ticket == 0) return false;
    const uint32_t used_bytes = block.used_bytes.load(std::memory_order_acquire);  // pairs with the writer's
    if (used_bytes > Block::kRoomBytes) return false;
    constexpr size_t kFactBytes = offsetof(Block, padding) - offsetof(Block, kind);
    base::CopyUnsynchronized(&block.kind, &copy->kind, kFactBytes);
    base::CopyUnsynchronized(block.bytes, copy->bytes, used_bytes);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (block.ticket.load(std::memory_order_relaxed) != ticket) return false;  // ordered by the fence
    copy->ticket.store(ticket, std::memory_order_relaxed);  // the copy is the caller's alone, as all of it
    copy->used_bytes.store(used_bytes, std::memory_order_relaxed);
    copy->is_open.store(0, std::memory_order_relaxed);
    return true;
  }

 private:
  Block* blocks() const { return reinterpret_cast<Block*>(header_ + 1); }

  BlockPoolHeader* header_ = nullptr;
  uint64_t block_count_ = 0;
};

}  // namespace lagwatch::trace
