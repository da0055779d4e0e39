// SPDX-License-Identifier: Apache-2.0
#include "tests/probe/random_programs.h"

#include <array>
#include <iterator>
#include <vector>

#include "probe/operation.h"

namespace lagwatch::probe {
namespace {

struct Row {
  OperationCode code;
  Operand to, a, b;
  Immediate number;
};
constexpr Row kRows[] = {
#define OPERATION(name, to, a, b, number, cost) \
  {OperationCode::k##name, Operand::k##to, Operand::k##a, Operand::k##b, Immediate::k##number},
#include "probe/operations.def"
};

// The types that the registers mostly have; the first operations write them.
constexpr RegisterType kTypes[] = {RegisterType::kInt,   RegisterType::kInt,   RegisterType::kText,
                                   RegisterType::kStack, RegisterType::kInt,   RegisterType::kText,
                                   RegisterType::kInt,   RegisterType::kFloat, RegisterType::kFloat,
                                   RegisterType::kInt,   RegisterType::kFloat};
constexpr size_t kFirstFloat = 7;

class Generator {
 public:
  explicit Generator(Random* random) : random_(*random) {}

  Program Take() {
    Declare();
    Probe probe;
    probe.place.kind = static_cast<PlaceKind>(Below(kPlaceKinds));
    if (At(probe.place.kind) & (kInFunctions | At(PlaceKind::kEvent))) probe.place.name = "f";
    probe.place.is_java = (At(probe.place.kind) & kInMethods) != 0;
    if (probe.place.is_java) probe.place.name = "C::m";
    if (probe.place.kind == PlaceKind::kUsdt) probe.place.name = "p:n";
    if (probe.place.kind == PlaceKind::kTimer) probe.place.period_ns = kMinTimerNs;
    count_ = 12 + Below(Below(8) == 0 ? kMaxOperations - 12 : 24);
    for (at_ = 0; at_ + 1 < count_; ++at_) {
      const bool is_first = at_ < std::size(kTypes) && Below(100) != 0;
      probe.operations.push_back(is_first ? Setting(static_cast<uint8_t>(at_)) : One());
    }
    probe.operations.push_back({});
    for (size_t i = 0; i < probe.operations.size(); ++i) {
      probe.positions.push_back(
          {.line = static_cast<uint16_t>(1 + i), .column = static_cast<uint16_t>(1 + i % 80)});
    }
    program_.probes.push_back(std::move(probe));
    return std::move(program_);
  }

 private:
  size_t Below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  // As register `in` mostly is.
  Field FieldOf(size_t in) {
    constexpr Shown kShown[] = {Shown::kNumber,  Shown::kUnsigned, Shown::kHex,
                                Shown::kAddress, Shown::kDuration, Shown::kTime};
    Field field{.name = "k", .shown = kShown[Below(std::size(kShown))]};
    if (kTypes[in] == RegisterType::kFloat) field.shown = Shown::kFloat;
    if (kTypes[in] == RegisterType::kText) field.shown = Shown::kText;
    if (kTypes[in] == RegisterType::kStack) field.shown = Shown::kStack;
    if (field.shown == Shown::kText) field.width = static_cast<uint16_t>(1 + Below(40));
    return field;
  }

  void Declare() {
    program_.int_constants = {INT64_MIN, -1, 0, INT64_MAX, static_cast<int64_t>(random_())};
    program_.float_constants = {0, -1.5, 1e300, -1e-300};
    program_.texts = {"", "abc", "*a*b*", "/etc/*", std::string(kMaxTextBytes, 'x')};
    program_.counters = 3;
    program_.stacks = 16;
    program_.records = 8;
    for (size_t i = 0; i < 7; ++i) {
      Aggregate aggregate{.name = "a" + std::to_string(i), .kind = static_cast<AggregateKind>(i)};
      keys_[i] = Below(kFirstFloat);
      for (size_t in = keys_[i], end = in + Below(kMaxKeys); in < end && in < kFirstFloat; ++in) {
        aggregate.keys.push_back(FieldOf(in));
      }
      if (aggregate.keys.empty()) keys_[i] = 0;
      if (!aggregate.keys.empty()) aggregate.cells = 1u << Below(5);
      aggregate.shards = 1u << Below(3);
      if (i >= 1 && i <= 4 && Below(3) == 0) aggregate.shown = Shown::kFloat;
      if (aggregate.kind == AggregateKind::kLinearHistogram) {
        aggregate.lowest = static_cast<int64_t>(Below(100)) - 50;
        aggregate.step = static_cast<int64_t>(1 + Below(50));
        aggregate.buckets = static_cast<uint32_t>(1 + Below(20));
      }
      program_.aggregates.push_back(std::move(aggregate));
    }
    for (size_t i = 0; i < 3; ++i) {
      Print print;
      fields_[i] = Below(std::size(kTypes));
      for (size_t in = fields_[i], end = in + 1 + Below(5); in < end && in < std::size(kTypes); ++in) {
        print.fields.push_back(FieldOf(in));
      }
      program_.prints.push_back(std::move(print));
    }
    program_.requests = {{}, {.kind = RequestKind::kTrace, .script = {}, .duration_ns = 1}};
  }

  // Mostly of the type.
  uint8_t Register(RegisterType type) {
    for (;;) {
      const size_t in = Below(std::size(kTypes));
      if (kTypes[in] == type) return static_cast<uint8_t>(Below(200) == 0 ? Below(32) : in);
    }
  }

  // An operation that gives a register its type.
  Operation Setting(uint8_t to) {
    constexpr OperationCode kCodes[] = {OperationCode::kEnd, OperationCode::kSetNumber,
                                        OperationCode::kSetFloat, OperationCode::kSetText,
                                        OperationCode::kCaptureStack};
    return {.code = kCodes[static_cast<size_t>(kTypes[to])],
            .to = to,
            .number = static_cast<int32_t>(1 + Below(3))};
  }

  uint8_t OperandFor(Operand use, int32_t number) {
    switch (use) {
      case Operand::kNone:
        return 0;
      case Operand::kTarget:
        return static_cast<uint8_t>(Target());
      case Operand::kCounter:
        return static_cast<uint8_t>(Below(program_.counters));
      case Operand::kIntSize: {
        constexpr uint8_t kSizes[] = {1, 2, 4, 8, 0x81, 0x82, 0x84};
        return kSizes[Below(std::size(kSizes))];
      }
      case Operand::kFloatSize:
        return Below(2) == 0 ? 4 : 8;
      case Operand::kKey:
        return static_cast<uint8_t>(keys_[static_cast<size_t>(number)]);
      case Operand::kFields:
        return static_cast<uint8_t>(fields_[static_cast<size_t>(number)]);
      case Operand::kValue: {
        const Aggregate& aggregate = program_.aggregates[static_cast<size_t>(number)];
        if (aggregate.kind == AggregateKind::kCount) return 0;
        return Register(aggregate.shown == Shown::kFloat ? RegisterType::kFloat : RegisterType::kInt);
      }
      case Operand::kFloat:
        return Register(RegisterType::kFloat);
      case Operand::kText:
        return Register(RegisterType::kText);
      case Operand::kStack:
        return Register(RegisterType::kStack);
      default:
        return Register(RegisterType::kInt);
    }
  }

  size_t Target() { return at_ + 1 + Below(Below(20) == 0 ? count_ - at_ : 3); }

  int32_t NumberFor(Immediate use) {
    switch (use) {
      case Immediate::kNone:
        return 0;
      case Immediate::kTarget:
        return static_cast<int32_t>(Target());
      case Immediate::kIntConstant:
        return static_cast<int32_t>(Below(program_.int_constants.size()));
      case Immediate::kFloatConstant:
        return static_cast<int32_t>(Below(program_.float_constants.size()));
      case Immediate::kText:
        return static_cast<int32_t>(Below(program_.texts.size()));
      case Immediate::kAggregate:
        return static_cast<int32_t>(Below(program_.aggregates.size()));
      case Immediate::kPrint:
        return static_cast<int32_t>(Below(program_.prints.size()));
      case Immediate::kIntValue:
      case Immediate::kTextValue:
        return static_cast<int32_t>(Below(kHitValues));
      case Immediate::kReturned:
      case Immediate::kRequest:
        return static_cast<int32_t>(Below(2));
      case Immediate::kNumber:
        return static_cast<int32_t>(random_());
      default:
        return static_cast<int32_t>(1 + Below(5));
    }
  }

  Operation One() {
    const Row& row = kRows[1 + Below(std::size(kRows) - 1)];
    const int32_t number = NumberFor(row.number);
    return {.code = row.code,
            .to = OperandFor(row.to, number),
            .a = OperandFor(row.a, number),
            .b = OperandFor(row.b, number),
            .number = number};
  }

  Random& random_;
  Program program_;
  std::array<size_t, kMaxAggregates> keys_{};  // the registers that they begin with
  std::array<size_t, kMaxPrints> fields_{};
  size_t at_ = 0;
  size_t count_ = 0;
};

class ScriptGenerator {
 public:
  explicit ScriptGenerator(Random* random) : random_(*random) {}

  std::string Take() {
    const std::string modifiers =
        Any({"", " sample 1/3", " limit 100/s", " level 1", " sample adaptive 50/s"});
    const std::string condition = Below(2) == 0 ? "" : " if " + Number(3);
    return "struct s { int i; char t[9]; struct s* n; double d; }; " + Place() + modifiers + condition +
           Block(2);
  }

 private:
  size_t Below(size_t limit) { return random_() % limit; }
  std::string Any(std::initializer_list<const char*> all) { return all.begin()[Below(all.size())]; }

  std::string Place() {
    return "f(int i, struct s* p, const char* t, unsigned long u, double d, float e)" +
           Any({"", " @return", " @error", " @duration"});
  }
  std::string Number(int depth) {
    if (depth == 0 || Below(4) == 0) {
      return Any({"i", "u", "tid", "1", "-7", "4000000000", "1ms", "p->i", "p->n->i", "caller", "time",
                  "arg3", "uint8_t(u)"});
    }
    switch (Below(6)) {
      case 0:
        return "(" + Text() + Any({" == ", " != ", " ~ "}) + Any({"\"abc\"", "\"*b*\"", "\"\""}) + ")";
      case 1:
        return "!(" + Number(depth - 1) + ")";
      case 2:
        return "(" + Float() + Any({" < ", " >= ", " == "}) + Float() + ")";
      default:
        return "(" + Number(depth - 1) +
               Any({" + ", " - ", " * ", " / ", " % ", " & ", " | ", " << ", " >> ", " < ",
                    " <= ", " == ", " != ", " && ", " || "}) +
               Number(depth - 1) + ")";
    }
  }
  std::string Float() { return Any({"d", "e", "1.5", "p->d", "d * 2", "i / 0.5"}); }
  std::string Text() { return Any({"t", "p->t", "str(u, 5)", "p->n->t"}); }
  std::string Key() { return Below(3) == 0 ? Text() : Below(3) == 0 ? "stack(3)" : Number(1); }
  std::string Keys() {
    std::string keys;
    for (size_t count = Below(3); count > 0; --count) keys += (keys.empty() ? " by " : ", ") + Key();
    return keys + (keys.empty() ? "" : " keys 8");
  }
  std::string Block(int depth) {
    std::string block = " { ";
    for (size_t count = Below(3) + 1; count > 0; --count) block += Act(depth) + "; ";
    return block + "}";
  }
  std::string Act(int depth) {
    switch (Below(depth == 0 ? 5 : 7)) {
      case 0:
        return "count" + Keys();
      case 1:
        return Any({"sum(", "min(", "max(", "avg("}) + (Below(3) == 0 ? Float() : Number(2)) + ")" + Keys();
      case 2:
        return "histogram(" + Number(2) + Any({"", ", 0, 100, 7"}) + ")" + Keys();
      case 3:
        return "print(\"x\", " + Key() + ", " + Number(1) + ", " + Float() + ")";
      case 4:
        return Any({"dump", "stack", "trace for 1s"});
      case 5:
        return "if " + Number(2) + Block(depth - 1);
      default:
        return "if " + Number(2) + Block(depth - 1) + " else" + Block(depth - 1);
    }
  }

  Random& random_;
};

}  // namespace

Program RandomProgram(Random* random) { return Generator(random).Take(); }
std::string RandomScript(Random* random) { return ScriptGenerator(random).Take(); }

}  // namespace lagwatch::probe
