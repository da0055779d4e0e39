// SPDX-License-Identifier: Apache-2.0
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "trace/instrument/patch_site.h"
#include "trace/instrument/return_thunks.h"

namespace lagwatch::trace {
namespace {

constexpr unsigned char kNop = 0x90;
constexpr unsigned char kCall = 0xe8;
constexpr unsigned char kLandingPad[] = {0xf3, 0x0f, 0x1e, 0xfa};  // endbr64

// The bytes of each that cannot be changed without changing its length. (Of 44 and 84, which are followed by
// a scale byte, some bits could; they are not needed.) The bytes that follow may have any value.
struct LongNop {
  NopShape shape;
  size_t fixed_bytes;
  unsigned char bytes[4];
};
constexpr LongNop kLongNops[] = {{NopShape::kLong44, 3, {0x0f, 0x1f, 0x44, 0}},
                                 {NopShape::kLong84, 3, {0x0f, 0x1f, 0x84, 0}},
                                 {NopShape::kLong80, 3, {0x0f, 0x1f, 0x80, 0}},
                                 {NopShape::kPrefixed44, 4, {0x66, 0x0f, 0x1f, 0x44}},
                                 {NopShape::kPrefixed84, 4, {0x66, 0x0f, 0x1f, 0x84}}};

const LongNop* FindLongNop(NopShape shape) {
  for (const LongNop& nop : kLongNops)
    if (nop.shape == shape) return &nop;
  return nullptr;
}

bool IsLandingPad(const CodeView& code, uint64_t address) {
  return code.Has(address, sizeof kLandingPad) &&
         std::memcmp(code.at(address), kLandingPad, sizeof kLandingPad) == 0;
}

// The length of the nop at `address`; 0 when there is none that compilers write there.
size_t NopBytes(const CodeView& code, uint64_t address) {
  constexpr size_t kLongestBytes = 11;
  if (!code.Has(address, kLongestBytes)) return 0;
  size_t prefixes = 0;
  while (prefixes < 3 && *code.at(address + prefixes) == 0x66) ++prefixes;
  const unsigned char* at = code.at(address + prefixes);
  if (*at == kNop) return prefixes + 1;
  if (at[0] != 0x0f || at[1] != 0x1f) return 0;
  switch (at[2]) {
    case 0x00:
      return prefixes + 3;
    case 0x40:
      return prefixes + 4;
    case 0x44:
      return prefixes + 5;
    case 0x80:
      return prefixes + 7;
    case 0x84:
      return prefixes + 8;
    default:
      return 0;
  }
}

bool AreNops(const CodeView& code, uint64_t begin, uint64_t end) {
  uint64_t at = begin;
  while (at < end) {
    const size_t nop_bytes = NopBytes(code, at);
    if (nop_bytes == 0) return false;
    at += nop_bytes;
  }
  return at == end;
}

NopShape ShapeOf(const CodeView& code, uint64_t address, uint8_t* nop_bytes) {
  constexpr unsigned char kSingles[kCallBytes] = {kNop, kNop, kNop, kNop, kNop};
  if (!code.Has(address, sizeof kSingles)) return NopShape::kNone;
  if (std::memcmp(code.at(address), kSingles, sizeof kSingles) == 0) return NopShape::kSingles;
  const size_t length = NopBytes(code, address);
  if (length < kCallBytes) return NopShape::kNone;
  *nop_bytes = static_cast<uint8_t>(length);
  for (const LongNop& nop : kLongNops)
    if (std::memcmp(code.at(address), nop.bytes, nop.fixed_bytes) == 0) return nop.shape;
  return NopShape::kNone;
}

int64_t Displacement(unsigned char first, unsigned char second, unsigned char third, unsigned char fourth) {
  const uint32_t bits =
      uint32_t{first} | uint32_t{second} << 8 | uint32_t{third} << 16 | uint32_t{fourth} << 24;
  return static_cast<int32_t>(bits);
}

}  // namespace

bool CanPatch() {
  // Saved and restored around code that may use vector registers, if the system reports them.
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & bit_OSXSAVE) == 0) return false;
  // A shadow stack of the processor's own would not let a function return elsewhere.
  constexpr int kShadowStackStatus = 0x5005;
  uint64_t features = 0;
  if (syscall(SYS_arch_prctl, kShadowStackStatus, &features) == 0 && (features & 1) != 0) return false;
  return true;
}

PatchSite FindPatchSite(const CodeView& code, uint64_t area, uint64_t entry) {
  constexpr uint64_t kMostNopsBeforeEntry = 16;
  PatchSite site{.address = area, .function = area};
  const bool is_further_on =
      entry > area && entry - area <= kMostNopsBeforeEntry && AreNops(code, area, entry);
  if (is_further_on) site.address = site.function = entry;
  if (IsLandingPad(code, site.address)) {
    site.address += sizeof kLandingPad;
  } else if (!is_further_on && IsLandingPad(code, area - sizeof kLandingPad)) {
    site.function -= sizeof kLandingPad;
  }
  site.shape = ShapeOf(code, site.address, &site.nop_bytes);
  return site;
}

int64_t StubDisplacement(NopShape shape, size_t index) {
  if (shape == NopShape::kSingles) {
    // As instructions: clc, stc, cld, cmc (at a function's entry the flags are unused, and the direction flag
    // is as cld sets it), nop, and segment prefixes without effect.
    constexpr unsigned char kThird[] = {kNop, 0xf8, 0xf9, 0xfc, 0xf5};
    constexpr unsigned char kFourth[] = {0xfc, 0xf9, 0xf8, 0xf5, kNop, 0x26, 0x2e, 0x36, 0x3e};
    if (index >= sizeof kThird * sizeof kFourth) return 0;
    return Displacement(kNop, kNop, kThird[index % sizeof kThird], kFourth[index / sizeof kThird]);
  }
  // Ever further away, below and above.
  constexpr size_t kSteps = 120;
  const LongNop* nop = FindLongNop(shape);
  if (nop == nullptr || index >= 2 * kSteps) return 0;
  const auto step = static_cast<int>(index / 2 + 1);
  const auto fourth = static_cast<unsigned char>(index % 2 == 0 ? -step : step);
  return Displacement(nop->bytes[1], nop->bytes[2], nop->bytes[3], fourth);
}

SiteBytes BytesFor(const PatchSite& site, int64_t displacement) {
  SiteBytes bytes{};
  const auto bits = static_cast<uint32_t>(displacement);
  const auto set = [&](size_t at, unsigned char byte) {
    bytes.operand_at[bytes.operand_count] = static_cast<uint8_t>(at);
    bytes.operands[bytes.operand_count++] = byte;
  };
  const LongNop* nop = FindLongNop(site.shape);
  if (nop == nullptr || nop->fixed_bytes == 3) set(3, static_cast<unsigned char>(bits >> 16));
  set(4, static_cast<unsigned char>(bits >> 24));
  // The rest of a longer nop, to which the call returns.
  for (size_t at = kCallBytes; at < site.nop_bytes; ++at) set(at, kNop);
  bytes.on = kCall;
  bytes.off = nop == nullptr ? kNop : nop->bytes[0];
  return bytes;
}

void MakeStub(uint64_t stub, uint64_t literal, unsigned char bytes[kStubBytes]) {
  bytes[0] = 0xff;
  bytes[1] = 0x25;  // jmp *literal(%rip)
  const auto distance = static_cast<int32_t>(static_cast<int64_t>(literal - stub - kStubBytes));
  std::memcpy(bytes + 2, &distance, sizeof distance);
}

uint64_t EntryTrampoline(bool is_after_landing_pad) {
  return reinterpret_cast<uint64_t>(is_after_landing_pad ? &lagwatch_entry_after_landing_pad
                                                         : &lagwatch_entry);
}

}  // namespace lagwatch::trace
