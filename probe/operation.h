// SPDX-License-Identifier: Apache-2.0
// One operation of a probe's program, and the meaning of its parts. A program runs from its first operation
// to an End; jumps lead forward only. Context: any.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::probe {

enum class OperationCode : uint8_t {
#define OPERATION(name, ...) k##name,
#include "probe/operations.def"
};
inline constexpr size_t kOperationCodes = 0
#define OPERATION(...) +1
#include "probe/operations.def"
    ;

// The type of a register. A text is the address of a C string of this process.
enum class RegisterType : uint8_t { kUndefined, kInt, kFloat, kText, kStack };

// The use of an operation's `to`, `a` or `b`.
enum class Operand : uint8_t {
  kNone,  // must be 0
  kInt,   // a register of the type
  kFloat,
  kText,
  kStack,
  kAny,        // of any type; written as it is read
  kTarget,     // the index of a later operation
  kCounter,    // the index of a counter of the program
  kIntSize,    // a ReadSize of a whole number
  kFloatSize,  // 4 or 8
  kKey,        // the first register of the aggregate's key; must be 0 if it has none
  kValue,      // the register with the aggregated value; must be 0 if it takes none
  kFields,     // the first register of the record's fields
};

// The use of an operation's number.
enum class Immediate : uint8_t {
  kNone,    // must be 0
  kNumber,  // any, as a signed number
  kTarget,
  kIntConstant,  // the index of a constant of the program
  kFloatConstant,
  kText,
  kIntArgument,    // 0 to 5; at usdt 0 to 11
  kFloatArgument,  // 0 to 7
  kStackWord,      // 0 to 63: words of 8 bytes
  kReturned,       // 0 or 1
  kIntValue,       // a HitValue that is available at the place
  kTextValue,
  kLevel,   // 1 to 100
  kOneIn,   // 1 to 2^30
  kRate,    // per second: 1 to 10^7
  kFrames,  // 1 to kMaxStackFrames
  kAggregate,
  kPrint,
  kRequest,
};

// Size of what is loaded or widened, in bytes; the high bit: it is a signed number.
enum class ReadSize : uint8_t { kU1 = 1, kU2 = 2, kU4 = 4, kU8 = 8, kS1 = 0x81, kS2 = 0x82, kS4 = 0x84 };

struct Operation {
  OperationCode code = OperationCode::kEnd;
  uint8_t to = 0;
  uint8_t a = 0;
  uint8_t b = 0;
  int32_t number = 0;

  friend bool operator==(const Operation&, const Operation&) = default;
};
static_assert(sizeof(Operation) == 8);

}  // namespace lagwatch::probe
