// SPDX-License-Identifier: Apache-2.0
#include "trace/record/run_writer.h"

#include <utility>

namespace lagwatch::trace {

void RunWriter::Write(const RunRecord& run) {
  if (block_ != nullptr && used_bytes_ + kMaxRunBytes > Block::kRoomBytes) Close();
  if (block_ == nullptr) {
    block_ = pool_.Claim(BlockKind::kRuns, 0, static_cast<uint64_t>(run.begin_ns), 0);
    if (block_ == nullptr) {
      (run.is_dispatch() ? counters_->dispatches_refused.Add() : counters_->runs_refused.Add(run.count));
      return;
    }
    used_bytes_ = 0;
    state_ = {run.begin_ns, 0, 0, 0, {}};
  }
  const size_t size_bytes = EncodeRun(run, &state_, block_->bytes + used_bytes_);
  counters_->run_bytes.Add(size_bytes);
  used_bytes_ += static_cast<uint32_t>(size_bytes);
  block_->used_bytes.store(used_bytes_, std::memory_order_release);  // publishes the bytes
}

void RunWriter::Close() {
  if (block_ != nullptr) BlockPool::Close(std::exchange(block_, nullptr));
}

}  // namespace lagwatch::trace
