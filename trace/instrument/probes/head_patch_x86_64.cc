// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "trace/instrument/probes/code_scan.h"
#include "trace/instrument/probes/head_patch.h"
#include "trace/instrument/probes/mapped_code.h"

namespace lagwatch::trace {
namespace {

constexpr unsigned char kJump = 0xe9;
constexpr size_t kJumpBytes = HeadPatch::kJumpBytes;
constexpr unsigned char kShortJump = 0xeb;
constexpr size_t kShortJumpBytes = 2;
constexpr size_t kFarJumpBytes = 14;  // jmp *0(%rip), and the address

bool IsNear(uint64_t from, uint64_t to) {
  const auto distance = static_cast<int64_t>(to - from);
  return distance == static_cast<int32_t>(distance);
}

struct HeadJump {
  ProbeTier tier = ProbeTier::kNone;
  const HeadSpot* spot = nullptr;
  uint64_t target = 0;  // 0: the site's code itself
  uint64_t pad = 0;     // kHop: leads there
  unsigned char bytes[kJumpBytes] = {};
};

uint64_t TargetOf(uint64_t address, const unsigned char bytes[kJumpBytes]) {
  int32_t distance = 0;
  std::memcpy(&distance, bytes + 1, sizeof distance);
  return address + kJumpBytes + static_cast<uint64_t>(int64_t{distance});
}

// A jump whose distance are the bytes that are there.
template <typename IsFree>
HeadJump FindOneByteJump(const HeadSpot& spot, IsFree is_free) {
  HeadJump jump{.tier = ProbeTier::kOneByte, .spot = &spot};
  std::memcpy(jump.bytes, CodeAt(spot.address), sizeof jump.bytes);
  if (jump.bytes[0] == kJump) return {};
  jump.bytes[0] = kJump;
  jump.target = TargetOf(spot.address, jump.bytes);
  return is_free(jump.target) ? jump : HeadJump{};
}

// A jump whose distance has other low bytes, as many as the instruction has room for.
template <typename IsFree>
HeadJump FindInstructionJump(const HeadSpot& spot, IsFree is_free) {
  HeadJump jump{.tier = ProbeTier::kInstruction, .spot = &spot};
  const size_t size_bytes = spot.instruction.size_bytes;
  std::memcpy(jump.bytes, CodeAt(spot.address), sizeof jump.bytes);
  jump.bytes[0] = kJump;
  if (size_bytes >= kJumpBytes) return jump;
  const uint64_t choices = uint64_t{1} << (8 * (size_bytes - 1));
  const uint64_t step = choices <= 256 ? 64 : choices <= 65536 ? kCodePageBytes : 16 * kCodePageBytes;
  for (uint64_t choice = 0; choice < choices; choice += step) {
    std::memcpy(jump.bytes + 1, &choice, size_bytes - 1);
    jump.target = TargetOf(spot.address, jump.bytes);
    if (is_free(jump.target)) return jump;
  }
  return {};
}

// Unused bytes behind a function, which a short jump at `from` reaches; 0 if there are none.
uint64_t FindPad(const UnwindIndex& functions, const CodeSpace& space, uint64_t from) {
  constexpr uint64_t kShortReachBytes = 120;
  constexpr uint64_t kLongestFunctionBytes = 4096;  // to look for those that end within reach
  for (size_t i = functions.IndexAtOrAfter(from - kLongestFunctionBytes); i + 1 < functions.size(); ++i) {
    if (functions.BeginOf(i) > from + kShortReachBytes) return 0;
    const uint64_t next = functions.BeginOf(i + 1);
    if (next + kShortReachBytes < from) continue;
    const UnwindIndex::Function before = functions.At(i);
    if (before.end == 0 || before.end + kJumpBytes > next) continue;
    if (next - before.end > kShortReachBytes || !IsPadding(before.end, next)) continue;
    for (uint64_t pad = before.end; pad + kJumpBytes <= next; ++pad) {
      const auto distance = static_cast<int64_t>(pad - (from + kShortJumpBytes));
      const bool is_near = distance == static_cast<signed char>(distance);
      if (is_near && space.IsPadFree(pad) && EndsForGood(before.begin, before.end)) return pad;
    }
  }
  return 0;
}

// A short jump to a long one.
HeadJump FindHop(const HeadPlace& place, const HeadSpot& spot, const CodeSpace& space) {
  if (spot.instruction.size_bytes < kShortJumpBytes) return {};
  HeadJump jump{.tier = ProbeTier::kHop, .spot = &spot};
  jump.pad = FindPad(*place.functions, space, spot.address);
  if (jump.pad == 0) return {};
  jump.bytes[0] = kShortJump;
  jump.bytes[1] = static_cast<unsigned char>(jump.pad - (spot.address + kShortJumpBytes));
  return jump;
}

// Tries the jumps that leave all bytes but those of one instruction as they are: a thread may be about to run
// any other. `is_free(target)` decides.
template <typename IsFree>
HeadJump FindJump(const HeadPlace& place, const CodeSpace& space, IsFree is_free) {
  const auto first_of = [&](auto find) {
    for (size_t i = 0; i < place.spot_count; ++i) {
      if (!space.IsJumpFree(place.spots[i].address) || !place.IsClear(place.spots[i].address)) continue;
      if (const HeadJump jump = find(place.spots[i]); jump.tier != ProbeTier::kNone) return jump;
    }
    return HeadJump{};
  };
  HeadJump jump = first_of([&](const HeadSpot& spot) { return FindOneByteJump(spot, is_free); });
  if (jump.tier == ProbeTier::kNone)
    jump = first_of([&](const HeadSpot& spot) { return FindInstructionJump(spot, is_free); });
  if (jump.tier == ProbeTier::kNone)
    jump = first_of([&](const HeadSpot& spot) { return FindHop(place, spot, space); });
  return jump;
}

bool IsPush(const HeadSpot& spot) {
  const unsigned char* code = CodeAt(spot.address);
  const unsigned char opcode = code[spot.instruction.opcode_at];
  return opcode >= 0x50 && opcode < 0x58 && spot.instruction.size_bytes == spot.instruction.opcode_at + 1 &&
         spot.instruction.opcode_at <= 1 && (spot.instruction.opcode_at == 0 || code[0] == 0x41);
}

bool IsLandingPad(const HeadSpot& spot) {
  constexpr unsigned char kEndBranch[] = {0xf3, 0x0f, 0x1e, 0xfa};  // endbr64
  return spot.instruction.size_bytes == sizeof kEndBranch &&
         std::memcmp(CodeAt(spot.address), kEndBranch, sizeof kEndBranch) == 0;
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

// A jump at `address`; false if it does not reach.
bool SetTarget(uint64_t address, uint64_t target, unsigned char bytes[kJumpBytes]) {
  const auto distance = static_cast<int32_t>(target - (address + kJumpBytes));
  bytes[0] = kJump;
  std::memcpy(bytes + 1, &distance, sizeof distance);
  return IsNear(address + kJumpBytes, target);
}

void FillPatch(const HeadPlace& place, const HeadJump& jump, HeadPatch* patch) {
  const size_t size_bytes = jump.tier == ProbeTier::kOneByte ? 1
                            : jump.tier == ProbeTier::kHop
                                ? kShortJumpBytes
                                : std::min<size_t>(jump.spot->instruction.size_bytes, kJumpBytes);
  patch->tier = jump.tier;
  patch->at = static_cast<uint8_t>(jump.spot->address - place.function);
  patch->size_bytes = static_cast<uint8_t>(size_bytes);
  patch->saved_bytes =
      static_cast<uint8_t>(std::min<uint64_t>(place.end - place.function, sizeof patch->original));
  std::memcpy(patch->original, CodeAt(place.function), patch->saved_bytes);
  std::memcpy(patch->patched, jump.bytes, sizeof jump.bytes);
  patch->pad = jump.pad;
  if (jump.pad != 0) std::memcpy(patch->pad_original, CodeAt(jump.pad), sizeof patch->pad_original);
}

}  // namespace

ProbeReason FindSpots(HeadPlace* place) {
  const uint64_t begin = place->function;
  const uint64_t end = place->end;
  HeadSpot spot{begin, 0, {}};
  for (place->spot_count = 0; place->spot_count < HeadPlace::kMaxSpots;) {
    const bool is_first = spot.address == begin;
    spot.instruction = DecodeInstruction(CodeAt(spot.address), end - spot.address, spot.address);
    unsigned char moved[kMaxMovedBytes];
    if (MoveInstruction(CodeAt(spot.address), spot.instruction, spot.address, spot.address, moved) == 0)
      return is_first ? ProbeReason::kUnknownInstruction : ProbeReason::kNone;
    const uint64_t next = spot.address + spot.instruction.size_bytes;
    if (MayBranchInto(begin, end, next - begin))
      return is_first ? ProbeReason::kLoopsToStart : ProbeReason::kNone;
    place->spots[place->spot_count++] = spot;
    if (!IsPush(spot) && !IsLandingPad(spot)) break;
    if (IsPush(spot)) spot.pushed_bytes += 8;
    spot.address = next;
    if (next >= end) break;
  }
  return ProbeReason::kNone;
}

ProbeReason FindNoteSpots(HeadPlace* place, uint64_t begin) {
  place->spot_count = 0;
  HeadSpot spot{place->function, 0, {}};
  spot.instruction = DecodeInstruction(CodeAt(spot.address), place->end - spot.address, spot.address);
  const uint64_t next = spot.address + spot.instruction.size_bytes;
  if (spot.instruction.size_bytes == 0 || !IsPadding(spot.address, next) || *CodeAt(spot.address) == 0xcc)
    return ProbeReason::kNotCode;
  place->spots[place->spot_count++] = spot;
  if (next >= place->end || MayBranchTo(begin, place->end, next)) return ProbeReason::kNone;
  spot.address = next;
  spot.instruction = DecodeInstruction(CodeAt(next), place->end - next, next);
  unsigned char moved[kMaxMovedBytes];
  if (MoveNoteInstruction(spot.instruction, next, next, moved) != 0) place->spots[place->spot_count++] = spot;
  return ProbeReason::kNone;
}

bool HeadPlace::IsClear(uint64_t address) const {
  return std::ranges::none_of(jumps, [address](uint64_t other) {
    return other < address + kJumpBytes && address < other + kJumpBytes;
  });
}

ProbeReason HeadPlace::WhyNoJump() const {
  const auto is_taken = [this](const HeadSpot& spot) { return !IsClear(spot.address); };
  return std::any_of(spots, spots + spot_count, is_taken) ? ProbeReason::kMeetsProbe
                                                          : ProbeReason::kOutOfReach;
}

bool HeadPatch::HasDistance(uint64_t function) const {
  const size_t behind = tier == ProbeTier::kHop ? kJumpBytes : size_bytes;  // a hop is short
  return std::memcmp(CodeAt(function + at + behind), patched + behind, kJumpBytes - behind) == 0;
}

bool HeadPatch::HasOriginal(uint64_t function) const {
  return std::memcmp(CodeAt(function), original, saved_bytes) == 0;
}

bool HeadPatch::HasPatch(uint64_t function) const {
  return std::memcmp(CodeAt(function + at), patched, size_bytes) == 0;
}

bool HeadPatch::HasPadOriginal() const {
  return pad == 0 || std::memcmp(CodeAt(pad), pad_original, sizeof pad_original) == 0;
}

bool WritePad(const CodeWriter& writer, const HeadPatch& patch) {
  return patch.pad == 0 || writer.Write(patch.pad, patch.pad_patched, sizeof patch.pad_patched);
}

bool RestorePad(const CodeWriter& writer, const HeadPatch& patch) {
  return patch.pad == 0 || writer.Write(patch.pad, patch.pad_original, sizeof patch.pad_original);
}

ProbeTier FindTier(const MemoryMap& memory, const CodeSpace& space, const HeadPlace& place) {
  return FindJump(place, space,
                  [&](uint64_t target) { return space.IsFreeAt(memory, target, kFarJumpBytes); })
      .tier;
}

ProbeReason PrepareHead(const CodeWriter& writer, const MemoryMap& memory, CodeSpace* space,
                        const HeadPlace& place, ProbeSite* site, HeadPatch* patch) {
  const uint64_t code = space->TakeNear(memory, place.module_begin, place.module_end, SiteCode::kBytes);
  if (code == 0) return ProbeReason::kOutOfReach;
  const uint64_t entry = code + SiteCode::kEntryAt;
  HeadJump jump = FindJump(place, *space, [&](uint64_t target) {
    const size_t size_bytes = IsNear(target + kJumpBytes, entry) ? kJumpBytes : kFarJumpBytes;
    return space->TakeAt(memory, target, size_bytes);
  });
  if (jump.tier == ProbeTier::kNone) return place.WhyNoJump();
  const HeadSpot& spot = *jump.spot;
  site->pushed_bytes = spot.pushed_bytes;
  SiteCode made;
  const auto make = place.is_note ? &MakeNoteCode : &MakeSiteCode;
  if (!make(site, spot.instruction, spot.address, code, &made)) return ProbeReason::kUnknownInstruction;
  if (!writer.Write(code, made.bytes, sizeof made.bytes)) return ProbeReason::kNotPermitted;
  if (jump.target != 0) {
    if (!WriteStub(writer, jump.target, entry)) return ProbeReason::kNotPermitted;
  } else if (!SetTarget(jump.pad != 0 ? jump.pad : spot.address, entry,
                        jump.pad != 0 ? patch->pad_patched : jump.bytes)) {
    return ProbeReason::kOutOfReach;
  }
  FillPatch(place, jump, patch);
  space->TakeJump(spot.address);
  if (jump.pad != 0) space->TakePad(jump.pad);
  return ProbeReason::kNone;
}

bool SwitchHead(const CodeWriter& writer, const MemoryMap& memory, uint64_t function, const HeadPatch& patch,
                bool is_on) {
  const unsigned char* bytes = is_on ? patch.patched : patch.original + patch.at;
  const uint64_t address = function + patch.at;
  if (patch.size_bytes == 1) return writer.WriteByte(address, bytes[0]);
  return ExchangeBytes(writer, memory, address, bytes, patch.size_bytes);
}

}  // namespace lagwatch::trace
