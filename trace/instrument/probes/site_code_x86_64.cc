// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstring>

#include "trace/instrument/probes/probe_site.h"

extern "C" __attribute__((visibility("hidden"))) void lagwatch_probe_entry();  // in no calling convention

namespace lagwatch::trace {

static_assert(offsetof(ProbeSite, pushed_bytes) == 8, "the unwind table of lagwatch_probe_entry says so");

namespace {

constexpr unsigned char kCallFirstLiteral[] = {0xff, 0x15, 0xea, 0xff, 0xff, 0xff};  // call *-22(%rip)
constexpr size_t kBehindCall = SiteCode::kEntryAt + sizeof kCallFirstLiteral;
static_assert(kBehindCall - sizeof(uint64_t) == SiteCode::kSiteBefore);

void MakeCall(const ProbeSite* site, SiteCode* made) {
  constexpr unsigned char kTrap = 0xcc;
  std::memset(made->bytes, kTrap, sizeof made->bytes);
  const auto target = reinterpret_cast<uint64_t>(&lagwatch_probe_entry);
  std::memcpy(made->bytes, &target, sizeof target);
  std::memcpy(made->bytes + sizeof target, &site, sizeof site);
  static_assert(2 * sizeof(uint64_t) == SiteCode::kEntryAt);
  std::memcpy(made->bytes + SiteCode::kEntryAt, kCallFirstLiteral, sizeof kCallFirstLiteral);
}

}  // namespace

bool MakeSiteCode(const ProbeSite* site, const Instruction& instruction, uint64_t address, uint64_t code,
                  SiteCode* made) {
  MakeCall(site, made);
  return MoveInstruction(CodeAt(address), instruction, address, code + kBehindCall,
                         made->bytes + kBehindCall) != 0;
}

void MakeCallCode(const ProbeSite* site, SiteCode* made) {
  constexpr unsigned char kJumpNextLiteral[] = {0xff, 0x25, 0, 0, 0, 0};  // jmp *0(%rip)
  MakeCall(site, made);
  std::memcpy(made->bytes + kBehindCall, kJumpNextLiteral, sizeof kJumpNextLiteral);
  std::memcpy(made->bytes + kBehindCall + sizeof kJumpNextLiteral, &site->function, sizeof site->function);
}

}  // namespace lagwatch::trace
