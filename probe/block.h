// SPDX-License-Identifier: Apache-2.0
// The layout of a program's block of memory, which follows from the program alone, so that a reader in
// another process finds its way without trusting what is in it:
//
//   BlockHeader | ThreadSlot × kThreadSlots | Scratch × kScratches | Counter × counters | tables of the
//   aggregates | stacks | records
//
// All of it consists of words of 8 bytes that are read and written atomically. Context: any.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "probe/limits.h"
#include "probe/program.h"

namespace lagwatch::probe {

using Word = std::atomic<uint64_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == 8);
// Attempts at a change of a word that other threads foil, before the change is dropped.
inline constexpr int kMostAttempts = 8;

inline constexpr uint32_t kThreadSlots = 256;
inline constexpr uint32_t kMaxProbing = 16;          // cells that are looked at for one key
inline constexpr size_t kHistogramBuckets = 66;      // below 0, 0, and from 2^i on for i from 0 to 63
inline constexpr uint64_t kEmptyCell = 0;            // of a cell's hash
inline constexpr uint64_t kClaimedCell = 1;          // its key is being written
inline constexpr uint16_t kUnreadableText = 0xFFFF;  // in place of a text's length
inline constexpr uint16_t kCutText = 0x8000;         // or-ed to a length: the text goes on

struct BlockHeader {
  std::atomic<uint32_t> level;  // read by each hit, and seldom written
  std::atomic<uint32_t> is_off;
  alignas(64) Word requests;  // a bit each
  Word faulted;
  Word dropped_records;
  Word dropped_stacks;
  Word output_window;             // of the output limit
  alignas(64) Word next_record;   // to be written
  alignas(64) Word taken_record;  // to be read
};

// Room for a stack or a key while it is made. A hit that finds none free drops its action.
struct alignas(64) Scratch {
  Word is_taken;
  uint64_t words[kMaxStackFrames];
};
inline constexpr uint32_t kScratches = 64;
static_assert(sizeof(Scratch::words) >= kMaxKeyBytes && sizeof(Scratch::words) > kMaxTextBytes);

// Time that one thread has spent, or the few with the same tid modulo kThreadSlots. Written without atomic
// increments: a hit in a signal handler may lose a count.
struct alignas(64) ThreadSlot {
  Word hits;
  Word skipped;
  Word lost;          // of `skipped`, those that no other hit counts for
  Word window_ticks;  // the beginning of the budget's present window
  Word window_hits;   // hits and skipped at that moment
  Word window_skipped;
  Word cost_ticks;  // of one run, measured now and then
  Word state;       // the budget's decision: probe/run/budget.h
};

// Of `sample adaptive` and `limit`.
struct alignas(64) Counter {
  Word window;
  Word count;
  Word shift;
};

// One aggregate's table, with all that the interpreter asks for.
struct AggregateTable {
  Word* cells = nullptr;  // shards × (mask + 1) cells of `cell_words`: hash, key, values
  Word* dropped = nullptr;
  uint32_t mask = 0;
  uint32_t shard_mask = 0;
  uint32_t cell_words = 0;
  uint32_t key_words = 0;
  AggregateKind kind = AggregateKind::kCount;
  bool is_float = false;
  bool has_texts = false;
  uint8_t keys = 0;
  std::array<Shown, kMaxKeys> key_shown{};
  std::array<uint16_t, kMaxKeys> key_widths{};
  int64_t lowest = 0;
  int64_t step = 1;
  uint32_t buckets = 0;
};

// The stacks: `mask` + 1 slots of a hash and kMaxStackFrames addresses, the last one followed by 0 if there
// is room.
struct StackSlots {
  Word* slots = nullptr;
  uint32_t mask = 0;
};
inline constexpr size_t kStackWords = 1 + kMaxStackFrames;

// A kind of record.
struct RecordForm {
  uint8_t fields = 0;  // that take a register
  std::array<Shown, kMaxFields> shown{};
  std::array<uint16_t, kMaxFields> widths{};
};

// A ring of records (D. Vyukov's bounded queue): a sequence number, ticks, the thread with the print's index,
// and the fields.
struct RecordSlots {
  Word* slots = nullptr;
  uint32_t mask = 0;
  uint32_t slot_words = 0;
};
inline constexpr size_t kRecordHeaderWords = 3;

// The words that a value takes in a key or record.
constexpr size_t WordsOf(Shown shown, uint16_t width) {
  if (shown == Shown::kLiteral) return 0;
  return shown == Shown::kText ? (2 + size_t{width} + 7) / 8 : 1;
}
// The words of a cell's values.
size_t ValueWords(const Aggregate& aggregate);

// A block with its parts, for the process that has it.
struct BlockView {
  BlockHeader* header = nullptr;
  ThreadSlot* threads = nullptr;
  Scratch* scratches = nullptr;
  Counter* counters = nullptr;
  std::array<AggregateTable, kMaxAggregates> aggregates{};
  std::array<RecordForm, kMaxPrints> prints{};
  StackSlots stacks;
  RecordSlots records;

  uint64_t ns_per_tick_q32 = uint64_t{1} << 32;  // ns = ticks × this / 2^32
  uint64_t base_ticks = 0;
  int64_t base_mono_ns = 0;
  uint64_t ticks_per_second = 1'000'000'000;
  uint64_t mechanism_ticks = 0;  // of one hit
  Budget budget;
  uint32_t output_per_second = 0;
};

// The bytes of a program's block. The program is within the limits (the verifier checks that).
size_t BlockBytes(const Program& program);
// Fills in the parts of a view into the memory of a block.
void LayOut(const Program& program, void* memory, BlockView* view);

}  // namespace lagwatch::probe
