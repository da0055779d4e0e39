// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstring>

#include "trace/instrument/probes/probe_site.h"

extern "C" __attribute__((visibility("hidden"))) void lagwatch_probe_entry();  // in no calling convention

namespace lagwatch::trace {

static_assert(offsetof(ProbeSite, pushed_bytes) == 8, "the unwind table of lagwatch_probe_entry says so");

bool MakeSiteCode(const ProbeSite* site, const Instruction& instruction, uint64_t address, uint64_t code,
                  SiteCode* made) {
  constexpr unsigned char kCallFirstLiteral[] = {0xff, 0x15, 0xea, 0xff, 0xff, 0xff};  // call *-22(%rip)
  constexpr unsigned char kTrap = 0xcc;
  std::memset(made->bytes, kTrap, sizeof made->bytes);
  const auto target = reinterpret_cast<uint64_t>(&lagwatch_probe_entry);
  std::memcpy(made->bytes, &target, sizeof target);
  std::memcpy(made->bytes + sizeof target, &site, sizeof site);
  static_assert(2 * sizeof(uint64_t) == SiteCode::kEntryAt);
  std::memcpy(made->bytes + SiteCode::kEntryAt, kCallFirstLiteral, sizeof kCallFirstLiteral);
  constexpr size_t kMovedAt = SiteCode::kEntryAt + sizeof kCallFirstLiteral;
  static_assert(kMovedAt - sizeof(uint64_t) == SiteCode::kSiteBefore);
  return MoveInstruction(CodeAt(address), instruction, address, code + kMovedAt, made->bytes + kMovedAt) != 0;
}

}  // namespace lagwatch::trace
