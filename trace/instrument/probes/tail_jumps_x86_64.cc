// SPDX-License-Identifier: Apache-2.0
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>

#include "trace/instrument/probes/code_scan.h"
#include "trace/instrument/probes/instruction.h"
#include "trace/instrument/probes/tail_jumps.h"

namespace lagwatch::trace {
namespace {

using Kind = Instruction::Kind;

constexpr std::string_view kReaders[] = {"dlopen", "dlmopen", "dlsym", "dlvsym"};

int32_t DistanceAt(uint64_t address) {
  int32_t distance = 0;
  std::memcpy(&distance, CodeAt(address), sizeof distance);
  return distance;
}

// The relocations of a module, by which the loader fills its tables of addresses.
class Relocations {
 public:
  explicit Relocations(const ProbedModule& module) : bias_(module.load_bias) {
    if (module.dynamic == 0) return;
    const Elf64_Rela* tables[2] = {};
    uint64_t bytes[2] = {};
    uint64_t relative_count = 0;
    for (const auto* entry = reinterpret_cast<const Elf64_Dyn*>(module.dynamic); entry->d_tag != DT_NULL;
         ++entry) {
      const uint64_t value = entry->d_un.d_val;
      // glibc has added the bias, musl has not.
      const uint64_t address = value < bias_ ? value + bias_ : value;
      if (entry->d_tag == DT_JMPREL) tables[0] = reinterpret_cast<const Elf64_Rela*>(address);
      if (entry->d_tag == DT_PLTRELSZ) bytes[0] = value;
      if (entry->d_tag == DT_RELA) tables[1] = reinterpret_cast<const Elf64_Rela*>(address);
      if (entry->d_tag == DT_RELASZ) bytes[1] = value;
      if (entry->d_tag == DT_RELACOUNT) relative_count = value;
      if (entry->d_tag == DT_SYMTAB) symbols_ = reinterpret_cast<const Elf64_Sym*>(address);
      if (entry->d_tag == DT_STRTAB) names_ = reinterpret_cast<const char*>(address);
    }
    for (int i = 0; i < 2; ++i) {
      if (tables[i] == nullptr) continue;
      begins_[i] = tables[i] + (i == 1 ? relative_count : 0);
      ends_[i] = tables[i] + bytes[i] / sizeof(Elf64_Rela);
    }
  }

  // The name of the function whose address is in `slot`; empty for one that the module has chosen itself.
  std::optional<std::string_view> NameFor(uint64_t slot) const {
    for (int i = 0; i < 2; ++i) {
      for (const Elf64_Rela* each = begins_[i]; each < ends_[i]; ++each) {
        if (bias_ + each->r_offset != slot) continue;
        if (ELF64_R_TYPE(each->r_info) == R_X86_64_IRELATIVE) return std::string_view();
        if (symbols_ == nullptr || names_ == nullptr) return std::nullopt;
        return names_ + symbols_[ELF64_R_SYM(each->r_info)].st_name;
      }
    }
    return std::nullopt;
  }

 private:
  uint64_t bias_;
  const Elf64_Rela* begins_[2] = {};
  const Elf64_Rela* ends_[2] = {};
  const Elf64_Sym* symbols_ = nullptr;
  const char* names_ = nullptr;
};

class TailJumps {
 public:
  explicit TailJumps(const ProbedModule& module) : module_(module), relocations_(module) {}

  bool ReachReader(uint64_t begin, uint64_t end, int depth) {
    if (!MayLeave(begin, end)) return false;
    for (uint64_t at = begin; at < end;) {
      const Instruction instruction = DecodeInstruction(CodeAt(at), end - at, at);
      if (instruction.size_bytes == 0) return false;
      const bool is_jump = instruction.kind == Kind::kJump || instruction.kind == Kind::kConditionalJump;
      if (is_jump && instruction.target - begin >= end - begin && IsReader(instruction.target, depth))
        return true;
      if (const uint64_t slot = SlotOf(instruction, at); slot != 0 && IsReaderIn(slot)) return true;
      at += instruction.size_bytes;
    }
    return false;
  }

 private:
  // Looks at bytes only: most functions need no more.
  bool MayLeave(uint64_t begin, uint64_t end) const {
    constexpr uint64_t kShortBytes = 2;
    constexpr uint64_t kLongBytes = 6;
    for (uint64_t at = begin; at + kShortBytes <= end; ++at) {
      const unsigned char* code = CodeAt(at);
      if (*code == 0xeb || (*code & 0xf0) == 0x70) {
        const uint64_t target =
            at + kShortBytes + static_cast<uint64_t>(int64_t{static_cast<signed char>(code[1])});
        if (target - begin >= end - begin && module_.HasCode(target)) return true;
      }
      const uint64_t next = at + (*code == 0xe9 ? 5 : kLongBytes);
      const bool is_jump = *code == 0xe9 || (*code == 0x0f && (code[1] & 0xf0) == 0x80);
      const bool is_indirect = *code == 0xff && code[1] == 0x25;
      if ((!is_jump && !is_indirect) || next > end) continue;
      const uint64_t target = next + static_cast<uint64_t>(int64_t{DistanceAt(next - 4)});
      if (is_jump && target - begin >= end - begin && module_.HasCode(target)) return true;
      if (is_indirect && HasSlot(target)) return true;
    }
    return false;
  }
  bool HasSlot(uint64_t slot) const {
    return slot % sizeof(uint64_t) == 0 && slot >= module_.begin && slot + sizeof(uint64_t) <= module_.end;
  }
  // The place of the address that the instruction, jmp *…(%rip), jumps to; else 0.
  uint64_t SlotOf(const Instruction& instruction, uint64_t at) const {
    const unsigned char* opcode = CodeAt(at) + instruction.opcode_at;
    if (instruction.kind != Kind::kIndirectJump || *opcode != 0xff || opcode[1] != 0x25) return 0;
    const uint64_t next = at + instruction.size_bytes;
    const uint64_t slot = next + static_cast<uint64_t>(int64_t{DistanceAt(next - 4)});
    return HasSlot(slot) ? slot : 0;
  }
  // The same for an entry of the linker's table: such a jump, behind a landing pad.
  uint64_t SlotOfEntry(uint64_t entry) const {
    constexpr uint64_t kEntryBytes = 16;
    for (uint64_t at = entry; at < entry + kEntryBytes;) {
      const Instruction instruction = DecodeInstruction(CodeAt(at), entry + kEntryBytes - at, at);
      if (instruction.size_bytes == 0) return 0;
      if (instruction.kind != Kind::kPlain) return SlotOf(instruction, at);
      at += instruction.size_bytes;
    }
    return 0;
  }
  bool IsReader(uint64_t function, int depth) {
    constexpr int kMostDepth = 3;
    constexpr int kMostLooks = 64;
    if (!module_.HasCode(function)) return false;
    if (const uint64_t slot = SlotOfEntry(function)) return IsReaderIn(slot);
    const UnwindIndex::Function found = module_.functions.Find(function);
    if (found.begin != function || !module_.HasCode(found.end - 1)) return false;
    if (found.is_called && ReadsReturnAddress(found.begin, found.end)) return true;
    return depth < kMostDepth && ++looks_ < kMostLooks && ReachReader(found.begin, found.end, depth + 1);
  }
  bool IsReaderIn(uint64_t slot) const {
    constexpr uint64_t kLookedAtBytes = 512;
    const auto name = relocations_.NameFor(slot);
    if (!name) return false;  // a variable: it may point anywhere
    if (std::find(std::begin(kReaders), std::end(kReaders), *name) != std::end(kReaders)) return true;
    const uint64_t function = *reinterpret_cast<const uint64_t*>(slot);
    // With a name, and inside of the module, it leads to the loader: it is not bound yet.
    if (function == 0 || (!name->empty() && module_.HasCode(function))) return false;
    return ReadsReturnAddress(function, function + kLookedAtBytes);
  }

  const ProbedModule& module_;
  Relocations relocations_;
  int looks_ = 0;
};

}  // namespace

bool JumpsToReader(const ProbedModule& module, uint64_t begin, uint64_t end) {
  return TailJumps(module).ReachReader(begin, end, 0);
}

}  // namespace lagwatch::trace
