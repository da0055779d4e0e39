// SPDX-License-Identifier: Apache-2.0
#include "trace/record/hot_functions.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "trace/instrument/call_decoder.h"

namespace lagwatch::trace {

std::vector<uint64_t> HotFunctions::Find(const BlockPool& pool, uint64_t now_ticks, uint64_t ticks_per_ms) {
  constexpr uint64_t kMsPerSecond = 1000;
  std::vector<uint64_t> hot;
  if (limit_per_s_ == 0 || ticks_per_ms == 0) return hot;
  if (now_ticks - second_begin_ticks_ >= kMsPerSecond * ticks_per_ms) {
    second_begin_ticks_ = now_ticks;
    calls_.clear();
  }
  const uint64_t ticket = pool.header().next_ticket.load(std::memory_order_relaxed);  // only a number
  const uint64_t begun = ticket - std::exchange(last_ticket_, ticket);
  if (begun == 0) return hot;
  counted_.resize(pool.block_count());
  auto copy = std::make_unique<Block>();
  std::map<uint64_t, uint64_t> found;
  std::vector<CallRecord> records;
  for (uint64_t i = 0; i < pool.block_count(); ++i) {
    // One that is being filled is counted once it is full.
    constexpr size_t kMostRestBytes = 64;
    const BlockPool::Fill fill = pool.FillOf(i);
    if (fill.ticket == counted_[i] || fill.used_bytes + kMostRestBytes < Block::kRoomBytes) continue;
    if (!pool.Copy(i, copy.get()) || copy->kind != BlockKind::kCalls) continue;
    counted_[i] = fill.ticket;
    records.clear();
    DecodeCalls(*copy, &records);
    for (const CallRecord& record : records)
      if (record.is_enter && !record.is_name) ++found[record.address];
  }
  const double weight =
      std::max(1.0, static_cast<double>(begun) / static_cast<double>(std::max<size_t>(counted_.size(), 1)));
  for (const auto& [function, count] : found) {
    double& calls = calls_[function];
    const bool was_hot = calls > static_cast<double>(limit_per_s_);
    calls += static_cast<double>(count) * weight;
    if (!was_hot && calls > static_cast<double>(limit_per_s_)) hot.push_back(function);
  }
  return hot;
}

}  // namespace lagwatch::trace
