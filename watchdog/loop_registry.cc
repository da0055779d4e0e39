// SPDX-License-Identifier: Apache-2.0
#include "watchdog/loop_registry.h"

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

WatchedLoop* LoopRegistry::Add(const char* name, int tid) {
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < kMaxLoops; ++i) {
    WatchedLoop& loop = loops_[i];
    uint32_t generation = loop.generation.load(std::memory_order_relaxed);  // written under the lock
    if (generation % 2 != 0) continue;
    if (histories_[i] == nullptr) {
      histories_[i].reset(new (std::nothrow) DispatchHistory);
      loop.probe.SetHistory(histories_[i].get());
      notes_[i].reset(new (std::nothrow) DispatchHistory);
      loop.probe.SetNotes(notes_[i].get());
    }
    if (keeps_tracks_) AddTrack(i);
    loop.probe.SetThread(tid);
    loop.tid.store(tid, std::memory_order_relaxed);  // published by the generation
    loop.SetName(name);
    loop.generation.store(generation + 1, std::memory_order_release);
    if (i >= taken_count_.load(std::memory_order_relaxed))  // written under the lock
      taken_count_.store(i + 1, std::memory_order_release);
    watchdog_sleeper_.Wake();
    return &loop;
  }
  refused_count_.Add();
  return nullptr;
}

void LoopRegistry::KeepTracks() {
  std::lock_guard lock(mutex_);
  keeps_tracks_ = true;
  for (size_t i = 0; i < places().size(); ++i) AddTrack(i);
}

void LoopRegistry::AddTrack(size_t place) {
  if (tracks_[place] != nullptr) return;
  tracks_[place].reset(new (std::nothrow) DispatchHistory);
  loops_[place].probe.SetTrack(tracks_[place].get());
}

void LoopRegistry::Remove(WatchedLoop* loop) {
  std::lock_guard lock(mutex_);
  FreePlace(loop);
}

void LoopRegistry::RemoveThread(int tid) {
  std::lock_guard lock(mutex_);
  for (WatchedLoop& loop : places()) {
    if (loop.tid.load() == tid) FreePlace(&loop);
  }
}

void LoopRegistry::KeepOnlyThread(int parent_tid, int child_tid) {
  // In the child another thread may have held the lock for ever; nobody else is here, so a new one will do.
  new (&mutex_) std::mutex;
  dump_requests_.Close();
  for (WatchedLoop& loop : loops_) {  // one may just have been taken
    if (loop.tid.load() == parent_tid) {
      loop.probe.SetThread(child_tid);
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
  loop->tid.store(0);
  loop->generation.store(generation + 1);
  watchdog_sleeper_.Wake();  // it may sleep for good, and the loop may have been in a lag
}

}  // namespace lagwatch::watchdog
