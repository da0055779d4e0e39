// SPDX-License-Identifier: Apache-2.0
#include "probe/verify/operation_rules.h"

#include <algorithm>
#include <iterator>

#include "probe/block.h"

namespace lagwatch::probe {
namespace {

struct Rule {
  const char* name;
  Operand to, a, b;
  Immediate number;
  uint32_t cost_ns;
};
constexpr Rule kRules[] = {
#define OPERATION(name, to, a, b, number, cost_ns) \
  {#name, Operand::k##to, Operand::k##a, Operand::k##b, Immediate::k##number, cost_ns},
#include "probe/operations.def"
};
static_assert(std::size(kRules) == kOperationCodes);

struct ValueRule {
  const char* name;
  Shown shown;
  Places places;
};
constexpr ValueRule kValueRules[] = {
#define PROBE_VALUE(name, text, shown, places, help) {text, Shown::k##shown, places},
#include "probe/values.def"
};
static_assert(std::size(kValueRules) == kHitValues);

// Worst cases that depend on sizes, measured (docs/design/probes.md).
constexpr uint32_t kReadTicksNs = 25;
constexpr uint32_t kCpuTimeNs = 400;
constexpr uint32_t kReadStringNs = 60;  // to begin with,
constexpr uint32_t kBytesPerNs = 2;     // and what is copied and compared in a ns
constexpr uint32_t kFrameNs = 60;       // of a stack
constexpr uint32_t kMatchSteps = 1;     // a ns each
constexpr uint32_t kCellNs = 4;         // of the cells that are looked at

constexpr std::string_view kTypeNames[] = {"undefined", "a number", "a floating-point number", "a text",
                                           "a stack"};

std::string NameOf(RegisterType type) { return std::string(kTypeNames[static_cast<size_t>(type)]); }

RegisterType TypeOf(Shown shown) {
  switch (shown) {
    case Shown::kFloat:
      return RegisterType::kFloat;
    case Shown::kText:
      return RegisterType::kText;
    case Shown::kStack:
      return RegisterType::kStack;
    default:
      return RegisterType::kInt;
  }
}

std::optional<RegisterType> TypeOf(Operand use) {
  switch (use) {
    case Operand::kInt:
      return RegisterType::kInt;
    case Operand::kFloat:
      return RegisterType::kFloat;
    case Operand::kText:
      return RegisterType::kText;
    case Operand::kStack:
      return RegisterType::kStack;
    default:
      return std::nullopt;
  }
}

bool IsReadSize(uint8_t size, bool is_float) {
  if (is_float) return size == 4 || size == 8;
  constexpr ReadSize kSizes[] = {ReadSize::kU1, ReadSize::kU2, ReadSize::kU4, ReadSize::kU8,
                                 ReadSize::kS1, ReadSize::kS2, ReadSize::kS4};
  return std::ranges::find(kSizes, static_cast<ReadSize>(size)) != std::end(kSizes);
}

uint32_t TextCost(const std::vector<Field>& fields) {
  uint32_t cost_ns = 0;
  for (const Field& field : fields) {
    cost_ns += field.shown == Shown::kText ? kReadStringNs + field.width / kBytesPerNs + field.width / 4 : 1;
  }
  return cost_ns;
}

uint32_t NeedsOf(const Operation& operation) {
  switch (operation.code) {
    case OperationCode::kReadArgument:
      return kNeedsIntArguments;
    case OperationCode::kReadFloatArgument:
    case OperationCode::kReadFloat32Argument:
      return kNeedsFloatArguments;
    case OperationCode::kReadStackArgument:
      return kNeedsStackArguments | kNeedsMemory;
    case OperationCode::kReadReturned:
    case OperationCode::kReadReturnedFloat:
    case OperationCode::kReadReturnedFloat32:
      return kNeedsReturned;
    case OperationCode::kLoad:
    case OperationCode::kLoadFloat:
    case OperationCode::kEqualsText:
    case OperationCode::kMatchesText:
      return kNeedsMemory;
    case OperationCode::kCaptureStack:
      return kNeedsStack;
    default:
      return 0;
  }
}

uint32_t NeedsOf(HitValue value) {
  switch (value) {
    case HitValue::kTime:
    case HitValue::kThread:
      return 0;
    case HitValue::kFunction:
      return kNeedsFunction;
    case HitValue::kCpuTime:
      return kNeedsCpuTime;
    case HitValue::kCaller:
      return kNeedsCaller;
    case HitValue::kDuration:
      return kNeedsDuration;
    default:
      return kNeedsDetails;
  }
}

bool HasTexts(const std::vector<Field>& fields) {
  return std::ranges::any_of(fields, [](const Field& field) { return field.shown == Shown::kText; });
}

}  // namespace

const char* NameOf(OperationCode code) {
  return static_cast<size_t>(code) < kOperationCodes ? kRules[static_cast<size_t>(code)].name : "?";
}

std::string OperationCheck::CheckRegister(size_t register_index, RegisterType type,
                                          const RegisterTypes& types) {
  const std::string named = "register " + std::to_string(register_index);
  if (register_index >= kRegisters) return "uses " + named + "; there are " + std::to_string(kRegisters);
  if (types[register_index] == RegisterType::kUndefined)
    return "reads " + named + ", which is not written on every way";
  if (types[register_index] == type) return {};
  return "reads " + named + " as " + NameOf(type) + ", but it is " + NameOf(types[register_index]);
}

std::string OperationCheck::CheckFields(const std::vector<Field>& fields, uint8_t first,
                                        const RegisterTypes& types) {
  size_t at = first;
  for (const Field& field : fields) {
    if (field.shown == Shown::kLiteral) continue;
    if (std::string reason = CheckRegister(at++, TypeOf(field.shown), types); !reason.empty()) return reason;
  }
  return at == first && first != 0 ? "names a register for nothing" : "";
}

std::string OperationCheck::CheckTarget(int64_t to) {
  if (to <= static_cast<int64_t>(index))
    return "jumps back to operation " + std::to_string(to) + ": there are no loops";
  if (to >= static_cast<int64_t>(count))
    return "jumps to operation " + std::to_string(to) + ", behind the end";
  target = static_cast<size_t>(to);
  return {};
}

// The operands of actions depend on the declaration, which CheckNumber() has found.
std::string OperationCheck::CheckAction(Operand use, uint8_t operand, const Operation& operation,
                                        const RegisterTypes& types) {
  if (use == Operand::kFields) {
    const Print& print = program.prints[static_cast<size_t>(operation.number)];
    cost_ns += TextCost(print.fields);
    if (HasTexts(print.fields)) needs |= kNeedsMemory;
    return CheckFields(print.fields, operand, types);
  }
  const Aggregate& aggregate = program.aggregates[static_cast<size_t>(operation.number)];
  if (use == Operand::kKey) {
    cost_ns += TextCost(aggregate.keys) + (aggregate.keys.empty() ? 0 : kMaxProbing * kCellNs);
    if (HasTexts(aggregate.keys)) needs |= kNeedsMemory;
    return CheckFields(aggregate.keys, operand, types);
  }
  if (aggregate.kind == AggregateKind::kCount) return operand == 0 ? "" : "names a value, but only counts";
  return CheckRegister(operand, TypeOf(aggregate.shown), types);
}

std::string OperationCheck::CheckUse(Operand use, uint8_t operand, const Operation& operation,
                                     const RegisterTypes& types) {
  switch (use) {
    case Operand::kNone:
      return operand == 0 ? "" : "has an operand that it does not take";
    case Operand::kTarget:
      return CheckTarget(operand);
    case Operand::kCounter:
      return operand < program.counters ? "" : "uses a counter that does not exist";
    case Operand::kIntSize:
    case Operand::kFloatSize:
      return IsReadSize(operand, use == Operand::kFloatSize) ? ""
                                                             : "reads " + std::to_string(operand) + " bytes";
    case Operand::kKey:
    case Operand::kValue:
    case Operand::kFields:
      return CheckAction(use, operand, operation, types);
    case Operand::kAny:
      if (operand >= kRegisters) return CheckRegister(operand, RegisterType::kInt, types);
      return CheckRegister(operand, std::max(types[operand], RegisterType::kInt), types);
    default:
      return CheckRegister(operand, *TypeOf(use), types);
  }
}

std::string OperationCheck::CheckIndex(const Operation& operation, size_t size, const char* kind) {
  if (operation.number >= 0 && static_cast<size_t>(operation.number) < size) return {};
  return "names " + std::string(kind) + " " + std::to_string(operation.number) + "; there are " +
         std::to_string(size);
}

std::string OperationCheck::CheckRange(const Operation& operation, int64_t least, int64_t most) {
  if (operation.number >= least && operation.number <= most) return {};
  return "has the number " + std::to_string(operation.number) + "; it may be " + std::to_string(least) +
         " to " + std::to_string(most);
}

std::string OperationCheck::CheckValue(const Operation& operation, bool is_text) {
  if (std::string reason = CheckIndex(operation, kHitValues, "value"); !reason.empty()) return reason;
  const ValueRule& rule = kValueRules[operation.number];
  if ((rule.shown == Shown::kText) != is_text) return "reads " + std::string(rule.name) + " as another type";
  if ((rule.places & At(place.kind)) == 0)
    return "reads " + std::string(rule.name) + ", which this kind of place has not";
  const auto value = static_cast<HitValue>(operation.number);
  needs |= NeedsOf(value);
  cost_ns += value == HitValue::kTime ? kReadTicksNs : value == HitValue::kCpuTime ? kCpuTimeNs : 0;
  return {};
}

std::string OperationCheck::CheckNumber(Immediate use, const Operation& operation) {
  const bool has_arguments = (At(place.kind) & kWithArguments) != 0;
  const auto if_there_are = [](bool there_are, const char* what, std::string reason) {
    return there_are ? reason : "reads " + std::string(what) + ", which this kind of place has not";
  };
  switch (use) {
    case Immediate::kNone:
      return operation.number == 0 ? "" : "has a number that it does not take";
    case Immediate::kNumber:
      return {};
    case Immediate::kTarget:
      return CheckTarget(operation.number);
    case Immediate::kIntConstant:
      return CheckIndex(operation, program.int_constants.size(), "constant");
    case Immediate::kFloatConstant:
      return CheckIndex(operation, program.float_constants.size(), "constant");
    case Immediate::kText:
      return CheckIndex(operation, program.texts.size(), "text");
    case Immediate::kIntArgument:
      return if_there_are(has_arguments, "an argument",
                          CheckRange(operation, 0,
                                     place.is_java                    ? int64_t{kJavaArguments} - 1
                                     : place.kind == PlaceKind::kUsdt ? 11
                                                                      : 5));
    case Immediate::kFloatArgument:
      return if_there_are(has_arguments, "an argument", CheckRange(operation, 0, 7));
    case Immediate::kStackWord:
      return if_there_are(place.kind == PlaceKind::kEntry || place.kind == PlaceKind::kCall,
                          "an argument on the stack", CheckRange(operation, 0, 63));
    case Immediate::kReturned:
      return if_there_are((At(place.kind) & kWithReturned) != 0, "the returned value",
                          CheckRange(operation, 0, 1));
    case Immediate::kIntValue:
      return CheckValue(operation, false);
    case Immediate::kTextValue:
      return CheckValue(operation, true);
    case Immediate::kLevel:
      return CheckRange(operation, 1, 100);
    case Immediate::kOneIn:
      return CheckRange(operation, 1, 1 << 30);
    case Immediate::kRate:
      return CheckRange(operation, 1, 10'000'000);
    case Immediate::kFrames:
      cost_ns += static_cast<uint32_t>(std::clamp<int32_t>(operation.number, 0, kMaxStackFrames)) * kFrameNs;
      return CheckRange(operation, 1, kMaxStackFrames);
    case Immediate::kAggregate:
      return CheckIndex(operation, program.aggregates.size(), "aggregate");
    case Immediate::kPrint:
      return CheckIndex(operation, program.prints.size(), "record");
    case Immediate::kRequest:
      return CheckIndex(operation, program.requests.size(), "request");
  }
  return "has a number of no known meaning";
}

std::string OperationCheck::Check(const Operation& operation, RegisterTypes* types) {
  if (static_cast<size_t>(operation.code) >= kOperationCodes) return "does not exist";
  const Rule& rule = kRules[static_cast<size_t>(operation.code)];
  cost_ns = rule.cost_ns;
  needs = NeedsOf(operation);
  goes_on = operation.code != OperationCode::kEnd && operation.code != OperationCode::kJump;
  if (std::string reason = CheckNumber(rule.number, operation); !reason.empty()) return reason;
  if (std::string reason = CheckUse(rule.a, operation.a, operation, *types); !reason.empty()) return reason;
  if (std::string reason = CheckUse(rule.b, operation.b, operation, *types); !reason.empty()) return reason;
  if (operation.code == OperationCode::kEqualsText || operation.code == OperationCode::kMatchesText) {
    const auto length = static_cast<uint32_t>(program.texts[static_cast<size_t>(operation.number)].size());
    cost_ns +=
        operation.code == OperationCode::kEqualsText
            ? (length / 16) * kReadStringNs + length
            : kMaxTextBytes / kBytesPerNs + static_cast<uint32_t>(kMaxTextBytes) * (length + 1) * kMatchSteps;
  }
  if (rule.to == Operand::kTarget || rule.to == Operand::kCounter || rule.to == Operand::kNone) {
    return CheckUse(rule.to, operation.to, operation, *types);
  }
  if (operation.to >= kRegisters) return CheckRegister(operation.to, RegisterType::kInt, *types);
  (*types)[operation.to] = rule.to == Operand::kAny ? (*types)[operation.a] : *TypeOf(rule.to);
  return {};
}

}  // namespace lagwatch::probe
