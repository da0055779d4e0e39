// SPDX-License-Identifier: Apache-2.0
#include "watchdog/reported_waits.h"

#include <algorithm>
#include <iterator>

#include "policies/fact_names.h"

namespace lagwatch::watchdog {
namespace {

void AddOwnersStack(std::span<const ThreadSnapshot* const> threads, Wait* wait) {
  const bool has_stack = wait->owner_frames != nullptr && wait->owner_frames->frame_count != 0;
  if (has_stack || wait->lock.waits_for != stack::WaitsFor::kOwner || wait->owner_pid != 0) return;
  const auto owner = std::ranges::find(threads, wait->lock.owner_tid, &ThreadSnapshot::tid);
  if (owner != threads.end()) wait->owner_frames = &(*owner)->stack;
}

// Of the thread or, if it waits for another one of the process, of the last one of the chain.
AwaitedFile FileOf(int32_t tid, const WatchTools& tools) {
  const stack::ThreadFiles* files = &tools.capturer->thread_files();
  const AwaitedFile file = FindAwaitedFile(tools.thread(tid), files);
  const std::span<const Wait> waits = tools.waits->waits();
  if (file.tid != 0 || waits.empty()) return file;
  const bool has_owner =
      waits.back().lock.waits_for == stack::WaitsFor::kOwner && waits.back().owner_pid == 0;
  return has_owner ? FindAwaitedFile(tools.thread(waits.back().lock.owner_tid), files) : file;
}

// The facts borrow the texts of `candidates`.
void AddCandidateFacts(const Candidates& candidates, FactList* facts) {
  static_assert(Candidates::kMost == std::size(policies::kCandidateFacts));
  for (size_t i = 0; i < candidates.count; ++i) {
    const Candidate& candidate = candidates.best[i];
    const policies::CandidateFacts& names = policies::kCandidateFacts[i];
    facts->Add(names.thread, candidate.tid);
    if (*candidate.name != '\0') facts->AddText(names.name, candidate.name);
    facts->AddText(names.reason, candidate.reason);
    if (candidate.count > 1) facts->Add(names.count, candidate.count);
  }
  if (candidates.exhausted_pool_threads != 0)
    facts->Add(policies::kExhaustedPoolFact, candidates.exhausted_pool_threads);
}

}  // namespace

void ReportedWaits::Find(int32_t tid, const WatchTools& tools) {
  tid_ = tid;
  tools.counters->waits_changed.Add(tools.waits->Follow(tid, tools.capturer));
  if (tools.process().is_core()) return;  // they are of this machine, now
  awaited_ = FindAwaited(tools.thread(tid), &tools.capturer->thread_files());
  file_ = FileOf(tid, tools);
}

void ReportedWaits::Clear(const WatchTools& tools) {
  tools.waits->Clear();
  awaited_ = {};
  file_ = {};
}

void ReportedWaits::ReadWaits(const WaitWalker& walker, ThreadLister* threads) {
  const std::span<const Wait> waits = walker.waits();
  count_ = waits.size();
  std::ranges::copy(waits, waits_.begin());
  threads->AddStacks(waits);
  for (size_t i = 0; i < count_; ++i) AddOwnersStack(threads->threads(), &waits_[i]);
}

void ReportedWaits::AddTo(HangEvent* event, const WatchTools& tools) {
  ReadWaits(*tools.waits, tools.threads);
  event->waits = {waits_.data(), count_};
  event->wait_outcome = tools.waits->outcome();
  event->peer_functions = tools.waits->peer_functions();
}

void ReportedWaits::AddFacts(const WatchTools& tools, FactList* facts) const {
  AddAwaitedFacts(awaited_, facts);
  AddFileFacts(file_, tid_, tools.options->hides_peers, facts);
  AddCandidateFacts(tools.waits->candidates(), facts);
}

bool ReportedWaits::FollowPeers(int64_t since_ns, const WatchTools& tools, FactList* facts,
                                HangEvent* event) {
  if (!tools.waits->FollowPeers(tid_, tools.capturer, tools.options->hides_peers, since_ns)) return false;
  AddTo(event, tools);
  if (const BusCall* call = tools.waits->bus_call()) AddBusCall(*call, tools, facts, event);
  if (event->wait_outcome == WaitOutcome::kDeadlock) event->verdict.word = policies::VerdictWord::kDeadlock;
  return true;
}

void ReportedWaits::AddBusCall(const BusCall& call, const WatchTools& tools, FactList* facts,
                               HangEvent* event) const {
  using policies::VerdictWord;
  if (!tools.options->hides_peers) {
    facts->AddText(policies::kBusServiceFact, call.destination);
    facts->AddText(policies::kBusMethodFact, call.member);
    event->facts = facts->all();
  }
  // The thread itself only waits to be woken up by the one that has the socket.
  VerdictWord& word = event->verdict.word;
  if (word == VerdictWord::kNetwork || word == VerdictWord::kLock) word = VerdictWord::kService;
}

}  // namespace lagwatch::watchdog
