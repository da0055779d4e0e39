// SPDX-License-Identifier: Apache-2.0
#include "trace/record/run_codec.h"

#include <cstring>
#include <type_traits>
#include <utility>

namespace lagwatch::trace {
namespace {

// The first byte: the kind in the lowest bits.
enum RunFlag : uint8_t {
  kKindMask = 0x03,
  kHasLength = 0x04,  // an end and a count: it was seen more than once, or lasted
  kOtherThread = 0x08,
  kOtherDispatch = 0x10,
  kHasCall = 0x20,
  kHasTotals = 0x40,  // where the kind is a sample: it was running
  kIsIncomplete = 0x80,
};
constexpr uint8_t kIsForAll = 0x80;  // with the call
constexpr uint8_t kSameTag = 0xff;   // as the last dispatch; else the tag's length
constexpr uint8_t kSample = 0;       // the kind

// The members of Totals, one after the other.
using TotalsWords = uint64_t[sizeof(Totals) / sizeof(uint64_t)];
static_assert(std::has_unique_object_representations_v<Totals>);

uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

// Of any two, damaged ones included.
int64_t Difference(int64_t value, int64_t before) {
  return static_cast<int64_t>(static_cast<uint64_t>(value) - static_cast<uint64_t>(before));
}
int64_t Difference(uint32_t value, uint32_t before) { return static_cast<int64_t>(value) - before; }

char* PutVarint(uint64_t value, char* at) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
  *at++ = static_cast<char>(value);
  return at;
}

class VarintReader {
 public:
  VarintReader(const char* bytes, size_t size_bytes) : at_(bytes), end_(bytes + size_bytes) {}

  uint64_t Take() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = TakeByte();
      value |= uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    ok_ = false;
    return 0;
  }
  int64_t TakeSigned() { return UnZigZag(Take()); }
  uint8_t TakeByte() {
    if (at_ == end_) {
      ok_ = false;
      return 0;
    }
    return static_cast<uint8_t>(*at_++);
  }
  std::string_view TakeText(size_t size_bytes) {
    if (static_cast<size_t>(end_ - at_) < size_bytes) {
      ok_ = false;
      return {};
    }
    const char* text = std::exchange(at_, at_ + size_bytes);
    return {text, size_bytes};
  }
  bool ok() const { return ok_; }
  const char* at() const { return at_; }

 private:
  const char* at_;
  const char* end_;
  bool ok_ = true;
};

char* PutTag(std::string_view tag, RunCodecState* state, char* at) {
  if (tag == state->tag) {
    *at++ = static_cast<char>(kSameTag);
    return at;
  }
  tag = tag.substr(0, kMaxTagBytes);
  *at++ = static_cast<char>(tag.size());
  std::memcpy(at, tag.data(), tag.size());
  state->tag = {at, tag.size()};
  return at + tag.size();
}

std::string_view TakeTag(VarintReader* reader, std::string_view last) {
  const uint8_t size_bytes = reader->TakeByte();
  return size_bytes == kSameTag ? last : reader->TakeText(size_bytes);
}

// Damaged bytes may overflow.
uint32_t Plus(uint32_t before, int64_t difference) { return before + static_cast<uint32_t>(difference); }
int64_t Plus(int64_t before, int64_t difference) {
  return static_cast<int64_t>(static_cast<uint64_t>(before) + static_cast<uint64_t>(difference));
}

}  // namespace

size_t EncodeRun(const RunRecord& run, RunCodecState* state, char* bytes) {
  const auto tid = static_cast<uint32_t>(run.tid);
  const bool has_length = run.count != 1 || run.end_ns != run.begin_ns;
  const bool has_call = run.call != 0 || run.object != 0 || run.is_for_all;
  const bool has_totals_bit = run.kind == kSample ? run.is_running : run.has_totals;
  char* at = bytes;
  *at++ = static_cast<char>(
      (run.kind & kKindMask) | (has_length ? kHasLength : 0) | (tid != state->tid ? kOtherThread : 0) |
      (run.dispatch != state->dispatch ? kOtherDispatch : 0) | (has_call ? kHasCall : 0) |
      (has_totals_bit ? kHasTotals : 0) | (run.is_complete ? 0 : kIsIncomplete));
  at = PutVarint(ZigZag(Difference(run.begin_ns, state->begin_ns)), at);
  at = PutVarint(ZigZag(Difference(run.stack, state->stack)), at);
  if (has_length) {
    at = PutVarint(static_cast<uint64_t>(Difference(run.end_ns, run.begin_ns)), at);
    at = PutVarint(run.count, at);
  }
  if (tid != state->tid) at = PutVarint(ZigZag(Difference(tid, state->tid)), at);
  if (run.dispatch != state->dispatch) at = PutVarint(ZigZag(Difference(run.dispatch, state->dispatch)), at);
  if (has_call) {
    *at++ = static_cast<char>(run.call | (run.is_for_all ? kIsForAll : 0));
    at = PutVarint(run.object, at);
  }
  if (run.has_totals && run.kind != kSample) {
    TotalsWords totals;
    std::memcpy(totals, &run.totals, sizeof totals);
    for (uint64_t total : totals) at = PutVarint(total, at);
  }
  if (run.is_dispatch()) at = PutTag(run.tag, state, at);
  *state = {run.begin_ns, tid, run.stack, run.dispatch, state->tag};
  return static_cast<size_t>(at - bytes);
}

size_t DecodeRun(const char* bytes, size_t size_bytes, RunCodecState* state, RunRecord* run) {
  VarintReader reader(bytes, size_bytes);
  const uint8_t flags = reader.TakeByte();
  run->kind = flags & kKindMask;
  run->is_complete = (flags & kIsIncomplete) == 0;
  run->is_running = run->kind == kSample && (flags & kHasTotals) != 0;
  run->has_totals = run->kind != kSample && (flags & kHasTotals) != 0;
  run->begin_ns = Plus(state->begin_ns, reader.TakeSigned());
  run->stack = Plus(state->stack, reader.TakeSigned());
  run->end_ns = run->begin_ns;
  run->count = 1;
  if ((flags & kHasLength) != 0) {
    run->end_ns = Plus(run->begin_ns, static_cast<int64_t>(reader.Take()));
    run->count = static_cast<uint32_t>(reader.Take());
  }
  const uint32_t tid = (flags & kOtherThread) != 0 ? Plus(state->tid, reader.TakeSigned()) : state->tid;
  run->tid = static_cast<int32_t>(tid);
  run->dispatch =
      (flags & kOtherDispatch) != 0 ? Plus(state->dispatch, reader.TakeSigned()) : state->dispatch;
  run->call = 0;
  run->is_for_all = false;
  run->object = 0;
  if ((flags & kHasCall) != 0) {
    const uint8_t call = reader.TakeByte();
    run->call = static_cast<uint8_t>(call & ~kIsForAll);
    run->is_for_all = (call & kIsForAll) != 0;
    run->object = reader.Take();
  }
  run->totals = {};
  if (run->has_totals) {
    TotalsWords totals;
    for (uint64_t& total : totals) total = reader.Take();
    std::memcpy(&run->totals, totals, sizeof totals);
  }
  run->tag = run->is_dispatch() ? TakeTag(&reader, state->tag) : std::string_view();
  if (!reader.ok()) return 0;
  *state = {run->begin_ns, tid, run->stack, run->dispatch, run->is_dispatch() ? run->tag : state->tag};
  return static_cast<size_t>(reader.at() - bytes);
}

}  // namespace lagwatch::trace
