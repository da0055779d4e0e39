// SPDX-License-Identifier: Apache-2.0
#include "probe/compile/emitter.h"

#include <algorithm>
#include <limits>

namespace lagwatch::probe {
namespace {

// The target of these is in `to`, because the number is compared with.
bool HasTargetInTo(OperationCode code) {
  return code >= OperationCode::kJumpIfEqualTo && code <= OperationCode::kJumpIfAtLeast;
}

template <typename List, typename Member>
int32_t IndexIn(List* list, const Member& member) {
  const auto found = std::ranges::find(*list, member);
  const auto index = found - list->begin();
  if (found == list->end()) list->push_back(member);
  return static_cast<int32_t>(index);
}

}  // namespace

void Emitter::Emit(Position position, Operation operation) {
  if (probe_.operations.size() == kMaxOperations) {
    return Fail(position,
                "the probe has more than " + std::to_string(kMaxOperations) + " operations: split it");
  }
  probe_.operations.push_back(operation);
  probe_.positions.push_back(position);
}

void Emitter::EmitJump(Position position, Operation operation, Label* label) {
  label->uses.push_back(probe_.operations.size());
  Emit(position, operation);
}

void Emitter::Bind(Label* label) {
  const size_t target = probe_.operations.size();
  if (failed()) return;
  for (const size_t use : label->uses) {
    Operation& operation = probe_.operations[use];
    if (HasTargetInTo(operation.code)) {
      operation.to = static_cast<uint8_t>(target);
    } else {
      operation.number = static_cast<int32_t>(target);
    }
  }
}

void Emitter::SetInt(Position position, uint8_t to, int64_t number) {
  if (number >= std::numeric_limits<int32_t>::min() && number <= std::numeric_limits<int32_t>::max()) {
    return Emit(position,
                {.code = OperationCode::kSetNumber, .to = to, .number = static_cast<int32_t>(number)});
  }
  Emit(position,
       {.code = OperationCode::kSetInt, .to = to, .number = IndexIn(&program_.int_constants, number)});
}

int32_t Emitter::FloatConstant(double number) { return IndexIn(&program_.float_constants, number); }

int32_t Emitter::Text(Position position, const std::string& text) {
  if (text.size() > kMaxTextBytes)
    Fail(position, "this text is longer than " + std::to_string(kMaxTextBytes) + " bytes");
  return IndexIn(&program_.texts, text);
}

uint8_t Emitter::Register(Position position, size_t index) {
  if (index < kRegisters) return static_cast<uint8_t>(index);
  Fail(position,
       "this needs more than " + std::to_string(kRegisters) + " registers: use fewer values at once");
  return 0;
}

void Emitter::Fail(Position position, const std::string& message) {
  if (failed()) return;
  status_ = Status(StatusCode::kInvalid,
                   std::to_string(position.line) + ':' + std::to_string(position.column) + ": " + message);
}

}  // namespace lagwatch::probe
