// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/lua/function_names.h"

#include <algorithm>

#include "stack/interpreters/bytes.h"

namespace lagwatch::stack::lua {
namespace {

constexpr uint8_t kTextType = 4;
constexpr uint8_t kLongTextType = 0x14;
constexpr uint64_t kShortLengthOffset = 11;
constexpr uint64_t kLengthOffset = 16;
constexpr size_t kTextOffset = 24;
constexpr uint64_t kLocalBytes = 16;  // a name, and the first and last index where it is in scope

constexpr uint32_t Bits(uint32_t word, uint32_t shift, uint32_t count) {
  return word >> shift & ((uint32_t{1} << count) - 1);
}

}  // namespace

size_t ReadText(Memory* memory, const LuaLayout& layout, uint64_t address, std::span<char> text,
                bool keeps_end) {
  std::array<uint8_t, kTextOffset> header;
  if (address == 0 || address % 8 != 0 || !memory->Read(address, &header)) return 0;
  const uint8_t type = header[kTypeOffset];
  if (type != kTextType && type != kLongTextType) return 0;
  constexpr uint64_t kMostBytes = 1 << 20;
  const uint64_t size = layout.has_short_texts && type == kTextType
                            ? header[kShortLengthOffset]
                            : MemberAt<uint64_t>(header, kLengthOffset);
  if (size > kMostBytes) return 0;
  const size_t kept = std::min<size_t>(size, text.size());
  const uint64_t begin = address + kTextOffset + (keeps_end ? size - kept : 0);
  if (kept == 0 || !memory->Read(begin, text.data(), kept)) return 0;
  // Only the first line of a text is shown.
  CleanText(text.first(kept), '\n');
  return kept;
}

std::string_view FunctionNames::NameOfCallee(Memory* memory, const LuaLayout& layout, const Prototype& caller,
                                             int32_t index) {
  if (index < 0 || index >= caller.code_count) return {};
  memory_ = memory;
  layout_ = &layout;
  caller_ = &caller;
  first_ = std::max(0, index - (kMostInstructions - 1));
  const auto count = static_cast<size_t>(index - first_) + 1;
  if (!memory->Read(caller.code + static_cast<uint64_t>(first_) * sizeof(uint32_t), instructions_.data(),
                    count * sizeof(uint32_t)))
    return {};
  const Instructions& known = *layout.instructions;
  const uint32_t instruction = InstructionAt(index);
  const uint32_t opcode = OpcodeOf(instruction);
  if (opcode == known.call || opcode == known.tail_call) return NameOfRegister(OperandA(instruction), index);
  if (opcode == known.call_iterator) return "for iterator";
  return NameOfMetamethod(instruction);
}

std::string_view FunctionNames::NameOfRegister(uint32_t number, int32_t index) {
  const Instructions& known = *layout_->instructions;
  for (int32_t end = index;;) {
    if (const std::string_view name = NameOfLocal(number, end); !name.empty()) return name;
    const int32_t setter = FindSetter(number, end);
    if (setter < 0) return {};
    const uint32_t instruction = InstructionAt(setter);
    const uint32_t opcode = OpcodeOf(instruction);
    if (opcode == known.get_upvalue) return NameOfUpvalue(OperandB(instruction));
    if (opcode == known.get_global) return NameOfConstant(instruction >> known.c_shift);
    if (opcode == known.get_field_of_upvalue || opcode == known.get_table || opcode == known.get_field ||
        opcode == known.get_method) {
      const uint32_t key = OperandC(instruction);
      if (known.constant_flag == 0) return NameOfConstant(key);
      return (key & known.constant_flag) != 0 ? NameOfConstant(key & ~uint32_t{known.constant_flag})
                                              : std::string_view();
    }
    // A copy of what an earlier instruction has loaded.
    if (opcode != known.move || OperandB(instruction) >= number) return {};
    number = OperandB(instruction);
    end = setter;
  }
}

int32_t FunctionNames::FindSetter(uint32_t number, int32_t end) const {
  const Instructions& known = *layout_->instructions;
  int32_t setter = -1;
  int32_t jumped_to = 0;  // the code before is only run sometimes
  for (int32_t index = first_; index < end; ++index) {
    const uint32_t instruction = InstructionAt(index);
    const uint32_t opcode = OpcodeOf(instruction);
    const uint32_t a = OperandA(instruction);
    bool is_set = known.SetsA(opcode) && a == number;
    if (opcode == known.load_nil) is_set = a <= number && number <= a + OperandB(instruction);
    if (opcode == known.call_iterator) is_set = number >= a + 2;
    if (opcode == known.call || opcode == known.tail_call) is_set = number >= a;
    if (opcode == known.jump) {
      is_set = false;
      const int32_t target = TargetOf(instruction, index);
      if (index < target && target <= end) jumped_to = std::max(jumped_to, target);
    }
    if (is_set) setter = index < jumped_to ? -1 : index;
  }
  return setter;
}

std::string_view FunctionNames::NameOfLocal(uint32_t number, int32_t index) {
  const auto count = std::clamp(MemberAt<int32_t>(caller_->bytes, layout_->local_count), 0, kMostLocals);
  const std::span<uint8_t> locals(locals_.data(), static_cast<size_t>(count) * kLocalBytes);
  if (count == 0 ||
      !memory_->Read(MemberAt<uint64_t>(caller_->bytes, layout_->locals), locals.data(), locals.size()))
    return {};
  uint32_t live = 0;
  for (size_t at = 0; at < locals.size(); at += kLocalBytes) {
    if (MemberAt<int32_t>(locals, at + 8) > index) break;
    if (index >= MemberAt<int32_t>(locals, at + 12)) continue;
    if (live++ == number) return Read(MemberAt<uint64_t>(locals, at));
  }
  return {};
}

std::string_view FunctionNames::NameOfUpvalue(uint32_t number) {
  const auto names = MemberAt<uint64_t>(caller_->bytes, layout_->upvalues);
  uint64_t text = 0;
  if (names == 0 || !memory_->Read(names + uint64_t{number} * layout_->upvalue_bytes, &text)) return {};
  return Read(text);
}

std::string_view FunctionNames::NameOfConstant(uint32_t number) {
  const auto constants = MemberAt<uint64_t>(caller_->bytes, layout_->constants);
  uint64_t text = 0;
  if (constants == 0 || !memory_->Read(constants + number * kValueBytes, &text)) return {};
  return Read(text);
}

std::string_view FunctionNames::NameOfMetamethod(uint32_t instruction) const {
  const Instructions& known = *layout_->instructions;
  const uint32_t opcode = OpcodeOf(instruction);
  const auto found = std::ranges::find_if(known.metamethods, [&](const Metamethod& metamethod) {
    return metamethod.first <= opcode && opcode <= metamethod.last;
  });
  if (found == known.metamethods.end()) return {};
  if (!found->name.empty()) return found->name;
  const uint32_t event = OperandC(instruction);
  return event < known.events.size() ? known.events[event] : std::string_view();
}

std::string_view FunctionNames::Read(uint64_t text) {
  return {name_.data(), ReadText(memory_, *layout_, text, name_)};
}

uint32_t FunctionNames::OpcodeOf(uint32_t instruction) const {
  return Bits(instruction, 0, layout_->instructions->opcode_bits);
}
uint32_t FunctionNames::OperandA(uint32_t instruction) const {
  return Bits(instruction, layout_->instructions->opcode_bits, 8);
}
uint32_t FunctionNames::OperandB(uint32_t instruction) const {
  return Bits(instruction, layout_->instructions->b_shift, layout_->instructions->b_bits);
}
uint32_t FunctionNames::OperandC(uint32_t instruction) const {
  return Bits(instruction, layout_->instructions->c_shift, layout_->instructions->c_bits);
}

int32_t FunctionNames::TargetOf(uint32_t jump, int32_t index) const {
  const Instructions& known = *layout_->instructions;
  const bool has_long_jumps = known.constant_flag == 0;  // 5.4
  const uint32_t shift = has_long_jumps ? known.opcode_bits : known.c_shift;
  const uint32_t bits = 32 - shift;
  const int32_t zero = (1 << (bits - 1)) - 1;
  return index + 1 + static_cast<int32_t>(jump >> shift) - zero;
}

}  // namespace lagwatch::stack::lua
