// SPDX-License-Identifier: Apache-2.0
#include "watchdog/hang_blame.h"

#include <algorithm>

#include "base/hash.h"
#include "watchdog/sample_ring.h"

namespace lagwatch::watchdog {
namespace {

// A difference of fewer percent of the hang is chance.
constexpr int64_t kChancePercent = 10;

}  // namespace

void HangBlame::Begin(int64_t begin_ns) {
  begin_ns_ = begin_ns;
  first_count_ = 0;
  time_ = {};
  last_call_ = kRoot;
  has_witness_ = false;
  count_ = 1;
  calls_[kRoot] = {.path = base::kFnvOffsetBasis, .caller = kRoot, .depth = 0, .within_ns = 0, .own_ns = 0};
  places_.fill(0);
}

uint32_t HangBlame::PlaceOf(uint64_t path) const {
  auto place = static_cast<uint32_t>(path % kPlaces);
  while (places_[place] != 0 && calls_[places_[place]].path != path) place = (place + 1) % kPlaces;
  return place;
}

void HangBlame::Add(const LoopSample& sample) {
  const policies::SampleAnswer answer = AnswerOf(sample);
  const policies::SampleTime::Parts spent = time_.Add(sample.mono_ns, sample.found_ns, answer);
  if (spent.earlier_ns != 0) AddTime(last_call_, spent.earlier_ns);
  if (answer != policies::SampleAnswer::kStack) return;
  last_call_ = FindOrAdd(sample.stack);
  AddTime(last_call_, spent.own_ns);
  if (first_count_ < first_samples_.size()) first_samples_[first_count_++] = {last_call_, sample.mono_ns};
  if (!Agree(last_call_, Heaviest())) return;
  witness_ = sample;
  has_witness_ = true;
}

void HangBlame::AddTime(uint32_t call, int64_t spent_ns) {
  calls_[call].own_ns += spent_ns;
  for (uint32_t at = call; at != kRoot; at = calls_[at].caller) calls_[at].within_ns += spent_ns;
  calls_[kRoot].within_ns += spent_ns;
}

uint32_t HangBlame::FindOrAdd(const stack::Stack& stack) {
  uint32_t at = kRoot;
  uint64_t path = calls_[kRoot].path;
  for (uint32_t i = stack.frame_count; i-- > 0;) {
    path = stack.frames[i].FunctionHash(path);
    const uint32_t place = PlaceOf(path);
    if (places_[place] == 0) {
      if (count_ == kMostCalls) break;
      calls_[count_] = {
          .path = path, .caller = at, .depth = calls_[at].depth + 1, .within_ns = 0, .own_ns = 0};
      places_[place] = static_cast<uint16_t>(count_++);
    }
    at = places_[place];
  }
  return at;
}

uint32_t HangBlame::Heaviest() const {
  if (count_ == kMostCalls) return kNone;  // some of the time is missing
  for (uint32_t at = kRoot;;) {
    uint32_t heaviest = kNone;
    for (uint32_t i = kRoot + 1; i < count_; ++i) {
      if (calls_[i].caller == at && (heaviest == kNone || calls_[i].within_ns > calls_[heaviest].within_ns))
        heaviest = i;
    }
    const bool is_end = heaviest == kNone || calls_[heaviest].within_ns <= calls_[at].own_ns;
    if (at == kRoot && (is_end || 2 * calls_[heaviest].within_ns < calls_[kRoot].within_ns)) return kNone;
    if (is_end) return at;
    at = heaviest;
  }
}

uint32_t HangBlame::Find(const stack::Stack& stack) const {
  uint32_t at = kNone;
  uint64_t path = calls_[kRoot].path;
  for (uint32_t i = stack.frame_count; i-- > 0;) {
    path = stack.frames[i].FunctionHash(path);
    at = places_[PlaceOf(path)];
    if (at == 0) return kNone;
  }
  return at;
}

bool HangBlame::IsWithin(uint32_t call, uint32_t outer) const {
  while (calls_[call].depth > calls_[outer].depth) call = calls_[call].caller;
  return call == outer;
}

int64_t HangBlame::EarlierNs(uint32_t call) const {
  uint32_t count = 0;
  while (count < first_count_ && IsWithin(first_samples_[count].call, call)) ++count;
  if (count == 0) return 0;
  const int64_t first_ns = first_samples_[0].mono_ns;
  return std::min(first_samples_[count - 1].mono_ns - first_ns, first_ns - begin_ns_);
}

bool HangBlame::Agree(uint32_t call, uint32_t heaviest) const {
  if (call == kNone || heaviest == kNone) return call == heaviest;
  // The time of each below the last call that both have in common; of one that ends there, its own.
  const uint32_t wanted = heaviest;
  int64_t call_ns = calls_[call].own_ns;
  int64_t heaviest_ns = calls_[heaviest].own_ns;
  while (call != heaviest) {
    if (calls_[call].depth >= calls_[heaviest].depth) {
      call_ns = calls_[call].within_ns + EarlierNs(call);
      call = calls_[call].caller;
    } else {
      heaviest_ns = calls_[heaviest].within_ns + EarlierNs(heaviest);
      heaviest = calls_[heaviest].caller;
    }
  }
  return heaviest == wanted || (heaviest_ns - call_ns) * 100 < calls_[kRoot].within_ns * kChancePercent;
}

}  // namespace lagwatch::watchdog
