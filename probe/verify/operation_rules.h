// SPDX-License-Identifier: Apache-2.0
// The part of the verifier that looks at one operation. Context: background.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "probe/operation.h"
#include "probe/program.h"

namespace lagwatch::probe {

// As in probe/operations.def: "Add".
const char* NameOf(OperationCode code);

using RegisterTypes = std::array<RegisterType, kRegisters>;

struct OperationCheck {
  const Program& program;
  const Place& place;
  size_t index;  // of the operation, among
  size_t count;  // the probe's

  // Results.
  uint32_t cost_ns = 0;
  uint32_t needs = 0;              // a set of HitNeeds
  std::optional<size_t> target{};  // of a jump
  bool goes_on = true;             // to the operation behind it, that is

  // Checks an operation that begins with `types`, which become those that it leaves. Returns the reason for a
  // refusal, as the end of a sentence that begins with the operation; empty if it is accepted.
  std::string Check(const Operation& operation, RegisterTypes* types);

 private:
  std::string CheckUse(Operand use, uint8_t operand, const Operation& operation, const RegisterTypes& types);
  std::string CheckNumber(Immediate use, const Operation& operation);
  std::string CheckIndex(const Operation& operation, size_t size, const char* kind);
  std::string CheckRange(const Operation& operation, int64_t least, int64_t most);
  std::string CheckValue(const Operation& operation, bool is_text);
  std::string CheckTarget(int64_t to);
  std::string CheckAction(Operand use, uint8_t operand, const Operation& operation,
                          const RegisterTypes& types);
  std::string CheckFields(const std::vector<Field>& fields, uint8_t first, const RegisterTypes& types);
  std::string CheckRegister(size_t index, RegisterType type, const RegisterTypes& types);
};

}  // namespace lagwatch::probe
