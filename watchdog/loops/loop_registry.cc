// SPDX-License-Identifier: Apache-2.0
#include "watchdog/loops/loop_registry.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>

namespace lagwatch::watchdog {

void WatchedLoop::SetName(const char* text) {
  char padded[kMaxNameBytes] = {};
  strncpy(padded, text, kMaxNameBytes - 1);
  for (size_t i = 0; i < std::size(name); ++i) {
    uint64_t word;
    std::memcpy(&word, padded + i * sizeof word, sizeof word);
    name[i].store(word, std::memory_order_relaxed);  // published by the generation
  }
}

void WatchedLoop::CopyName(char (&text)[kMaxNameBytes]) const {
  for (size_t i = 0; i < std::size(name); ++i) {
    uint64_t word = name[i].load(std::memory_order_relaxed);  // published by the generation
    std::memcpy(text + i * sizeof word, &word, sizeof word);
  }
  text[kMaxNameBytes - 1] = '\0';
}

WatchedLoop* LoopRegistry::Add(const char* name, int tid, const std::function<void(WatchedLoop*)>& set_up) {
  std::lock_guard lock(mutex_);
  for (size_t i = lowest_free_; i < kMaxLoops && HasBlockOf(i); ++i) {
    WatchedLoop& loop = Places(blocks_.data(), kMaxLoops)[i];
    uint32_t generation = loop.generation.load(std::memory_order_relaxed);  // written under the lock
    if (generation % 2 != 0) continue;
    lowest_free_ = i + 1;
    if (keeps_tracks_) AddTrack(i);
    loop.probe.SetObserver(dispatch_observer_);
    loop.probe.SetThread({process_, tid});
    if (has_watchdog_.load()) loop.probe.SetFirstLimits();
    loop.tid.store(tid, std::memory_order_relaxed);  // published by the generation, as the next
    loop.begun_before.store(loop.probe.begun(), std::memory_order_relaxed);
    loop.SetName(name);
    if (set_up) set_up(&loop);
    loop.generation.store(generation + 1, std::memory_order_release);
    if (i >= taken_count_.load(std::memory_order_relaxed))  // written under the lock
      taken_count_.store(i + 1, std::memory_order_release);
    woken_probes_.Add(&loop.probe, WokenProbes::kAtOnce);
    return &loop;
  }
  refused_count_.Add();
  return nullptr;
}

LoopRegistry::~LoopRegistry() {
  for (const std::atomic<Block*>& block : blocks_) delete block.load();
}

bool LoopRegistry::HasBlockOf(size_t place) {
  std::atomic<Block*>& slot = blocks_[place / kBlockLoops];
  if (slot.load(std::memory_order_relaxed) != nullptr) return true;  // written under the lock
  auto* block = new (std::nothrow) Block;
  if (block == nullptr) return false;
  block->histories = base::MapKeptBlock<DispatchHistory>(2 * kBlockLoops);
  const size_t first = place - place % kBlockLoops;
  for (size_t i = 0; i < kBlockLoops; ++i) {
    LoopProbe& probe = block->loops[i].probe;
    probe.SetPlace(static_cast<uint32_t>(first + i), &woken_probes_);
    if (block->histories == nullptr) continue;  // its loops keep none
    probe.SetHistory(&block->histories[i]);
    probe.SetNotes(&block->histories[kBlockLoops + i]);
  }
  slot.store(block, std::memory_order_release);
  return true;
}

void LoopRegistry::KeepTracks() {
  std::lock_guard lock(mutex_);
  keeps_tracks_ = true;
  for (size_t i = 0; i < places().size(); ++i) AddTrack(i);
}

void LoopRegistry::SetObserver(LoopObserver* observer, bool wants_dispatches) {
  std::lock_guard lock(mutex_);
  observer_.store(observer);
  dispatch_observer_ = wants_dispatches ? observer : nullptr;
  ObserveAll(dispatch_observer_);
}

void LoopRegistry::ObserveAll(LoopObserver* observer) {
  for (WatchedLoop& loop : places()) loop.probe.SetObserver(observer);
}

void LoopRegistry::AddTrack(size_t place) {
  Block& block = *blocks_[place / kBlockLoops].load();
  if (block.tracks == nullptr) block.tracks = base::MapKeptBlock<DispatchHistory>(kBlockLoops);
  if (block.tracks != nullptr)
    block.loops[place % kBlockLoops].probe.SetTrack(&block.tracks[place % kBlockLoops]);
}

void LoopRegistry::Remove(WatchedLoop* loop) {
  std::lock_guard lock(mutex_);
  FreePlace(loop);
}

void LoopRegistry::RemoveThread(int tid) {
  std::lock_guard lock(mutex_);
  const Places all = places();
  for (WatchedLoop& loop : all) {
    if (loop.tid.load() == tid) FreePlace(&loop);
  }
}

void LoopRegistry::KeepOnlyThread(int parent_tid, int child_tid) {
  // In the child another thread may have held the lock for ever; no other thread exists here, so a new
  // one will do.
  new (&mutex_) std::mutex;
  dump_requests_.Close();
  has_watchdog_.store(false);
  observer_.store(nullptr);
  dispatch_observer_ = nullptr;
  ObserveAll(nullptr);
  woken_probes_.Reset();
  for (WatchedLoop& loop : places()) loop.probe.ForgetListed();
  for (size_t i = 0; i < kMaxLoops; ++i) {  // one may just have been taken
    Block* block = blocks_[i / kBlockLoops].load();
    if (block == nullptr) break;
    WatchedLoop& loop = block->loops[i % kBlockLoops];
    if (loop.tid.load() == parent_tid) {
      loop.probe.SetThread({process_, child_tid});
      loop.tid.store(child_tid);
    } else {
      FreePlace(&loop);
    }
  }
}

void LoopRegistry::FreePlace(WatchedLoop* loop) {
  uint32_t generation = loop->generation.load();
  if (generation % 2 == 0) return;
  loop->probe.Reset();
  loop->limits.Reset();
  loop->tasks.Reset();
  loop->inputs.Reset();
  loop->scopes.Reset();
  loop->idle_handler.Reset();
  loop->frames.Reset();
  loop->is_inferred.store(false);
  loop->home_frame.store(0);
  loop->polled_descriptor.store(-1);
  loop->home_site.store(0);
  loop->home_doubtful_depth.store(0);
  loop->is_home_shared.store(false);
  loop->home_moves.store(0);
  loop->has_doubtful_wait.store(false);
  loop->handlers_number.store(0);
  loop->handler_since_ns.store(0);
  loop->tid.store(0);
  loop->generation.store(generation + 1);
  lowest_free_ = std::min<size_t>(lowest_free_, loop->probe.place());
  woken_probes_.Add(&loop->probe, WokenProbes::kAtOnce);  // the loop may have been in a hang
}

}  // namespace lagwatch::watchdog
