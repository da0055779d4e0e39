// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "trace/instrument/probes/head_patch.h"
#include "trace/instrument/probes/mapped_code.h"

namespace lagwatch::trace {
namespace {

constexpr unsigned char kJump = 0xe9;
constexpr size_t kJumpBytes = 5;
constexpr size_t kFarJumpBytes = 14;  // jmp *0(%rip), and the address

bool IsNear(uint64_t from, uint64_t to) {
  const auto distance = static_cast<int64_t>(to - from);
  return distance == static_cast<int32_t>(distance);
}

// A jump at the function's begin.
struct HeadJump {
  ProbeTier tier = ProbeTier::kNone;
  uint64_t target = 0;  // 0: the site's code itself
  unsigned char bytes[kJumpBytes] = {};
};

uint64_t TargetOf(uint64_t function, const unsigned char bytes[kJumpBytes]) {
  int32_t distance = 0;
  std::memcpy(&distance, bytes + 1, sizeof distance);
  return function + kJumpBytes + static_cast<uint64_t>(int64_t{distance});
}

// Tries the jumps that leave all bytes but those of the first instruction as they are: a thread may be about
// to run any other. `is_free(target)` decides.
template <typename IsFree>
HeadJump FindJump(const HeadPlace& place, IsFree is_free) {
  HeadJump jump;
  std::memcpy(jump.bytes, CodeAt(place.function), sizeof jump.bytes);
  const bool is_jump = jump.bytes[0] == kJump;
  jump.bytes[0] = kJump;
  jump.target = TargetOf(place.function, jump.bytes);
  if (!is_jump && is_free(jump.target)) {
    jump.tier = ProbeTier::kOneByte;
    return jump;
  }
  const size_t size_bytes = place.first.size_bytes;
  if (size_bytes >= kJumpBytes) {
    jump.tier = ProbeTier::kInstruction;
    jump.target = 0;
    return jump;
  }
  // The low bytes of the distance can be chosen: the first is at the end of their range, then ever further
  // down.
  const uint64_t choices = uint64_t{1} << (8 * (size_bytes - 1));
  const uint64_t step = choices <= 256 ? 64 : choices <= 65536 ? kCodePageBytes : 16 * kCodePageBytes;
  for (uint64_t choice = 0; choice < choices; choice += step) {
    std::memcpy(jump.bytes + 1, &choice, size_bytes - 1);
    jump.target = TargetOf(place.function, jump.bytes);
    if (!is_free(jump.target)) continue;
    jump.tier = ProbeTier::kInstruction;
    return jump;
  }
  return {};
}

bool WriteStub(const CodeWriter& writer, uint64_t stub, uint64_t site_code) {
  unsigned char bytes[kFarJumpBytes] = {0xff, 0x25};
  std::memcpy(bytes + 6, &site_code, sizeof site_code);
  if (!IsNear(stub + kJumpBytes, site_code)) return writer.Write(stub, bytes, sizeof bytes);
  const auto distance = static_cast<int32_t>(site_code - (stub + kJumpBytes));
  bytes[0] = kJump;
  std::memcpy(bytes + 1, &distance, sizeof distance);
  return writer.Write(stub, bytes, kJumpBytes);
}

}  // namespace

ProbeTier FindTier(const MemoryMap& memory, const CodeSpace& space, const HeadPlace& place) {
  return FindJump(place, [&](uint64_t target) { return space.IsFreeAt(memory, target, kFarJumpBytes); }).tier;
}

ProbeReason PrepareHead(const CodeWriter& writer, const MemoryMap& memory, CodeSpace* space,
                        const HeadPlace& place, const ProbeSite* site, HeadPatch* patch) {
  std::memcpy(patch->original, CodeAt(place.function), sizeof patch->original);
  const uint64_t code = space->TakeNear(memory, place.module_begin, place.module_end, SiteCode::kBytes);
  if (code == 0) return ProbeReason::kOutOfReach;
  SiteCode made;
  if (!MakeSiteCode(site, patch->original, place.first, code, &made)) return ProbeReason::kUnknownInstruction;
  if (!writer.Write(code, made.bytes, sizeof made.bytes)) return ProbeReason::kNotPermitted;
  const uint64_t entry = code + SiteCode::kEntryAt;
  HeadJump jump = FindJump(place, [&](uint64_t target) {
    const size_t size_bytes = IsNear(target + kJumpBytes, entry) ? kJumpBytes : kFarJumpBytes;
    return space->TakeAt(memory, target, size_bytes);
  });
  if (jump.tier == ProbeTier::kNone) return ProbeReason::kOutOfReach;
  if (jump.target == 0) {
    if (!IsNear(place.function + kJumpBytes, entry)) return ProbeReason::kOutOfReach;
    const auto distance = static_cast<int32_t>(entry - (place.function + kJumpBytes));
    std::memcpy(jump.bytes + 1, &distance, sizeof distance);
  } else if (!WriteStub(writer, jump.target, entry)) {
    return ProbeReason::kNotPermitted;
  }
  patch->tier = jump.tier;
  const size_t size_bytes = place.first.size_bytes < kJumpBytes ? place.first.size_bytes : kJumpBytes;
  patch->size_bytes = jump.tier == ProbeTier::kOneByte ? 1 : static_cast<uint8_t>(size_bytes);
  std::memcpy(patch->patched, jump.bytes, sizeof jump.bytes);
  return ProbeReason::kNone;
}

bool SwitchHead(const CodeWriter& writer, const MemoryMap& memory, uint64_t function, const HeadPatch& patch,
                bool is_on) {
  const unsigned char* bytes = is_on ? patch.patched : patch.original;
  if (patch.size_bytes == 1) return writer.WriteByte(function, bytes[0]);
  return ExchangeBytes(writer, memory, function, bytes, patch.size_bytes);
}

}  // namespace lagwatch::trace
