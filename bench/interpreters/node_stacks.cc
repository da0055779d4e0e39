// SPDX-License-Identifier: Apache-2.0
#include "bench/interpreters/node_stacks.h"

#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "stack/interpreters/exported_symbols.h"
#include "stack/interpreters/v8/layout.h"
#include "stack/interpreters/v8/stack_words.h"

namespace lagwatch::bench {

bool NodeStacks::Attach() {
  if (reader_ != nullptr) return true;
  std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
  std::string last;
  for (std::string line; std::getline(maps, line);) {
    const size_t slash = line.find('/');
    if (slash == line.npos || line.substr(slash) == last) continue;
    last = line.substr(slash);
    const uint64_t base = std::stoull(line, nullptr, 16);
    uint16_t type = 0;
    constexpr uint64_t kTypeOffset = 16;
    constexpr uint16_t kFixed = 2;
    if (!memory_->Read(base + kTypeOffset, &type)) continue;
    const stack::ExportedSymbols exports(memory_, base, type == kFixed ? 0 : base);
    if (!stack::v8::IsV8(exports)) continue;
    auto reader = std::make_unique<stack::v8::Reader>();
    if (!reader->Attach(memory_, exports)) return false;
    reader_ = std::move(reader);
    module_ = last;
    return true;
  }
  return false;
}

void NodeStacks::ReadMap() {
  std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
  ranges_.clear();
  for (std::string line; std::getline(maps, line);) {
    char* rest = nullptr;
    Range range{};
    range.begin = std::strtoull(line.c_str(), &rest, 16);
    range.end = std::strtoull(rest + 1, &rest, 16);
    range.is_executable = std::string_view(rest).substr(0, 5).find('x') != std::string_view::npos;
    const size_t slash = line.find('/');
    range.is_file = slash != line.npos || line.find('[') != line.npos;
    range.is_v8 = slash != line.npos && line.substr(slash) == module_;
    ranges_.push_back(range);
  }
}

const NodeStacks::Range* NodeStacks::Find(uint64_t address) const {
  const auto after = std::ranges::upper_bound(ranges_, address, {}, &Range::begin);
  if (after == ranges_.begin()) return nullptr;
  const Range& range = *std::prev(after);
  return address < range.end ? &range : nullptr;
}

stack::v8::CodeKinds::Kind NodeStacks::KindOf(uint64_t program_counter) {
  const Range* range = Find(program_counter);
  if (range == nullptr || !range->is_executable) return Kind::kOther;
  if (range->is_v8) return Kind::kBuiltIn;
  return range->is_file ? Kind::kOther : Kind::kGenerated;
}

bool NodeStacks::Copy() {
  int status = 0;
  user_regs_struct registers{};
  if (ptrace(PTRACE_SEIZE, pid_, nullptr, nullptr) != 0) return false;
  const bool is_stopped = ptrace(PTRACE_INTERRUPT, pid_, nullptr, nullptr) == 0 &&
                          waitpid(pid_, &status, __WALL) == pid_ && WIFSTOPPED(status) &&
                          ptrace(PTRACE_GETREGS, pid_, nullptr, &registers) == 0;
  stack::RawStack& raw = raw_[0];
  if (is_stopped) {
    ReadMap();
    const Range* range = Find(registers.rsp);
    raw.registers.known_mask = 0;
    raw.registers.value[stack::Registers::kProgramCounter] = registers.rip;
    raw.registers.value[stack::Registers::kFramePointer] = registers.rbp;
    raw.registers.value[stack::Registers::kStackPointer] = registers.rsp;
    raw.registers.value[9] = registers.r9;
    raw.registers.value[12] = registers.r12;
    raw.address = registers.rsp & ~uint64_t{7};
    raw.end = range == nullptr ? raw.address : range->end;
    raw.size_bytes = std::min<uint64_t>(raw.end - raw.address, stack::kUsualRawStackBytes);
    if (!memory_->Read(raw.address, raw.bytes, raw.size_bytes)) raw.size_bytes = 0;
  }
  return ptrace(PTRACE_DETACH, pid_, nullptr, nullptr) == 0 && is_stopped;
}

bool NodeStacks::Read(stack::ScriptFunctions* functions, stack::ScriptFrames* frames) {
  const stack::RawStack& raw = raw_[0];
  const stack::v8::StackWords words(raw, memory_);
  frames->count = 0;
  frames->is_cut = false;
  reader_->BeginStack();
  uint64_t at = raw.address;
  uint64_t last_end = 0;  // of the run that was read last
  const uint64_t program_counter = raw.registers.program_counter();
  if (KindOf(program_counter) != Kind::kOther) {
    const stack::v8::RunStart start{.end_of_call = program_counter + 1,
                                    .frame_pointer = raw.registers.value[stack::Registers::kFramePointer],
                                    .bytecode_array = raw.registers.value[12],
                                    .bytecode_offset = raw.registers.value[9]};
    if (reader_->ReadRun(start, words, this, functions, frames, &last_end)) at = last_end;
  }
  // Elsewhere, V8's frames begin where it called C++.
  for (; at + 16 < raw.address + raw.size_bytes; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, raw.bytes + (at - raw.address), sizeof word);
    if (word % 2 != 0 || word > 128 ||
        !stack::v8::IsExitFrame(reader_->layout(), static_cast<int32_t>(word / 2)))
      continue;
    const uint64_t frame = at + 8;
    // A run's end keeps the next one's begin: stacks have runs that are over, too.
    std::array<uint64_t, 16> saved{};
    if (last_end != 0 &&
        (!words.Read(last_end - sizeof saved, saved) || std::ranges::find(saved, frame) == saved.end()))
      continue;
    if (reader_->ReadRun({.frame_pointer = frame}, words, this, functions, frames, &last_end)) at = last_end;
  }
  return frames->count != 0;
}

}  // namespace lagwatch::bench
