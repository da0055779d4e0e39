// SPDX-License-Identifier: Apache-2.0
#include "trace/instrument/call_decoder.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "trace/instrument/call_event.h"

namespace lagwatch::trace {
namespace {

void SortByTime(std::vector<CallRecord>::iterator begin, std::vector<CallRecord>::iterator end) {
  const auto is_earlier = [](const CallRecord& a, const CallRecord& b) { return a.ticks < b.ticks; };
  if (!std::is_sorted(begin, end, is_earlier)) std::stable_sort(begin, end, is_earlier);
}

// Gives the coarse clock its upper bits back. Between two events is less than half of what the
// lower ones last.
struct CoarseTime {
  uint64_t clock;

  uint64_t TicksAt(uint64_t low) {
    clock += static_cast<uint64_t>(int64_t{static_cast<int32_t>(static_cast<uint32_t>(low - clock))});
    return clock << CallEventWord::kCoarseShift;
  }
};

}  // namespace

void DecodeCalls(const Block& block, std::vector<CallRecord>* records) {
  const size_t old_size = records->size();
  const size_t used_bytes = std::min<size_t>(block.used_bytes.load(), Block::kRoomBytes);
  uint64_t base_ticks = block.base;
  uint64_t far_base = 0;
  CoarseTime coarse{.clock = base_ticks >> CallEventWord::kCoarseShift};
  bool is_coarse = false;
  for (size_t at = 0; at + sizeof(uint64_t) <= used_bytes; at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, block.bytes + at, sizeof word);
    const uint64_t offset = word >> CallEventWord::kAddressShift & CallEventWord::kAddressMask;
    const uint64_t low = word & UINT32_MAX;
    if (offset != CallEventWord::kAddressMask) {
      const uint64_t base = (word & CallEventWord::kIsFar) != 0 ? far_base : block.code_base;
      records->push_back({.ticks = is_coarse ? coarse.TicksAt(low) : base_ticks + low,
                          .address = base + offset,
                          .is_enter = (word & CallEventWord::kIsEnter) != 0,
                          .is_name = (word & CallEventWord::kIsName) != 0});
    } else if ((word & CallEventWord::kNoteKind) == CallEventWord::kFarBaseNote) {
      far_base = low << CallEventWord::kBaseShift;
    } else if ((word & CallEventWord::kNoteKind) == CallEventWord::kWrapsNote) {
      base_ticks = block.base + (low << 32);
    } else if ((word & CallEventWord::kNoteKind) == CallEventWord::kCoarseNote) {
      is_coarse = true;
    }
  }
  SortByTime(records->begin() + static_cast<ptrdiff_t>(old_size), records->end());
}

std::map<int32_t, std::vector<CallRecord>> ReadCalls(const BlockPool& pool) {
  std::map<int32_t, std::map<uint64_t, std::vector<CallRecord>>> blocks;  // by tid and ticket
  auto copy = std::make_unique<Block>();
  for (uint64_t i = 0; i < pool.block_count(); ++i) {
    if (!pool.Copy(i, copy.get()) || copy->kind != BlockKind::kCalls) continue;
    DecodeCalls(*copy, &blocks[copy->tid][copy->ticket.load()]);
  }
  std::map<int32_t, std::vector<CallRecord>> threads;
  for (auto& [tid, by_ticket] : blocks) {
    std::vector<CallRecord>& records = threads[tid];
    for (auto& [ticket, part] : by_ticket) records.insert(records.end(), part.begin(), part.end());
    SortByTime(records.begin(), records.end());
  }
  return threads;
}

}  // namespace lagwatch::trace
