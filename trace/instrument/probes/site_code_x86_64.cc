// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstring>

#include "trace/instrument/probes/probe_site.h"

extern "C" __attribute__((visibility("hidden"))) void lagwatch_probe_entry();  // in no calling convention
extern "C" __attribute__((visibility("hidden"))) void lagwatch_probe_note();

namespace lagwatch::trace {

static_assert(offsetof(ProbeSite, pushed_bytes) == 8, "the unwind table of lagwatch_probe_entry says so");

namespace {

constexpr unsigned char kCallFirstLiteral[] = {0xff, 0x15, 0xea, 0xff, 0xff, 0xff};  // call *-22(%rip)
constexpr size_t kBehindCall = SiteCode::kEntryAt + sizeof kCallFirstLiteral;
static_assert(kBehindCall - sizeof(uint64_t) == SiteCode::kSiteBefore);

void MakeLiterals(const ProbeSite* site, void (*called)(), SiteCode* made) {
  constexpr unsigned char kTrap = 0xcc;
  std::memset(made->bytes, kTrap, sizeof made->bytes);
  const auto target = reinterpret_cast<uint64_t>(called);
  std::memcpy(made->bytes, &target, sizeof target);
  std::memcpy(made->bytes + sizeof target, &site, sizeof site);
  static_assert(2 * sizeof(uint64_t) == SiteCode::kEntryAt);
}

void MakeCall(const ProbeSite* site, SiteCode* made) {
  MakeLiterals(site, &lagwatch_probe_entry, made);
  std::memcpy(made->bytes + SiteCode::kEntryAt, kCallFirstLiteral, sizeof kCallFirstLiteral);
}

}  // namespace

bool MakeSiteCode(const ProbeSite* site, const Instruction& instruction, uint64_t address, uint64_t code,
                  SiteCode* made) {
  MakeCall(site, made);
  return MoveInstruction(CodeAt(address), instruction, address, code + kBehindCall,
                         made->bytes + kBehindCall) != 0;
}

size_t MoveNoteInstruction(const Instruction& instruction, uint64_t address, uint64_t moved_address,
                           unsigned char moved[kMaxMovedBytes]) {
  return instruction.kind == Instruction::Kind::kCall
             ? MoveCall(instruction, address, moved_address, moved)
             : MoveInstruction(CodeAt(address), instruction, address, moved_address, moved);
}

bool MakeNoteCode(const ProbeSite* site, const Instruction& instruction, uint64_t address, uint64_t code,
                  SiteCode* made) {
  constexpr unsigned char kCallBelowRedZone[] = {0x48, 0x8d, 0x64, 0x24, 0x80,         // lea -128(%rsp), %rsp
                                                 0xff, 0x15, 0xe5, 0xff, 0xff, 0xff};  // call *-27(%rip)
  constexpr size_t kBehind = SiteCode::kEntryAt + sizeof kCallBelowRedZone;
  static_assert(kBehind - sizeof(uint64_t) == SiteCode::kNoteSiteBefore);
  MakeLiterals(site, &lagwatch_probe_note, made);
  std::memcpy(made->bytes + SiteCode::kEntryAt, kCallBelowRedZone, sizeof kCallBelowRedZone);
  unsigned char moved[kMaxMovedBytes];
  const size_t size_bytes = MoveNoteInstruction(instruction, address, code + kBehind, moved);
  if (size_bytes == 0 || kBehind + size_bytes > SiteCode::kBytes) return false;
  std::memcpy(made->bytes + kBehind, moved, size_bytes);
  return true;
}

void MakeCallCode(const ProbeSite* site, SiteCode* made) {
  constexpr unsigned char kJumpNextLiteral[] = {0xff, 0x25, 0, 0, 0, 0};  // jmp *0(%rip)
  MakeCall(site, made);
  std::memcpy(made->bytes + kBehindCall, kJumpNextLiteral, sizeof kJumpNextLiteral);
  std::memcpy(made->bytes + kBehindCall + sizeof kJumpNextLiteral, &site->function, sizeof site->function);
}

}  // namespace lagwatch::trace
