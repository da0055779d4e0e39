// SPDX-License-Identifier: Apache-2.0
// The syntax tree of a script, with the position of each part. Texts are copies. Context: background.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "probe/language/lexer.h"
#include "probe/program.h"

namespace lagwatch::probe {

struct Expression {
  enum class Kind : uint8_t {
    kNumber,
    kFloat,
    kText,
    kName,
    kField,   // parts[0]->text or parts[0].text
    kIndex,   // parts[0][parts[1]]
    kCall,    // text(parts…)
    kNegate,  // -, !, ~ and * of parts[0]
    kNot,
    kInvert,
    kPointee,
    kBinary,  // `text` is the sign
  };
  Kind kind = Kind::kNumber;
  Position position;
  std::string text;
  std::string source;  // as in the script, for the name of a column
  uint64_t number = 0;
  double real = 0;
  Unit unit = Unit::kNone;
  std::vector<std::unique_ptr<Expression>> parts;
};
using ExpressionPointer = std::unique_ptr<Expression>;

// A type as it is written: "const struct uri*" is {"uri", 1}.
struct TypeName {
  Position position;
  std::string name;  // with single blanks: "unsigned long"
  uint32_t pointers = 0;
  bool is_reference = false;
  std::optional<uint64_t> elements;  // of an array
};

struct DeclaredParameter {
  TypeName type;
  std::string name;  // may be empty
};

struct DeclaredSignature {
  Position position;
  std::vector<DeclaredParameter> parameters;
  std::optional<TypeName> result;
};

struct DeclaredStruct {
  Position position;
  std::string name;
  std::vector<DeclaredParameter> members;
};

struct Action {
  enum class Kind : uint8_t { kAggregate, kPrint, kLet, kIf, kRequest };
  Kind kind = Kind::kAggregate;
  Position position;

  std::string name{};  // of an aggregate, if it is given; of a variable; of the script to arm
  AggregateKind aggregate = AggregateKind::kCount;
  ExpressionPointer value{};                   // aggregated, assigned, or the condition
  std::vector<ExpressionPointer> arguments{};  // printed; the keys
  std::optional<uint64_t> top{};
  std::optional<uint64_t> keys{};
  int64_t lowest = 0, highest = 0, step = 0;
  RequestKind request = RequestKind::kDump;
  uint64_t duration_ns = 0;
  std::vector<Action> actions{};  // if the condition is true
  std::vector<Action> otherwise{};
};

struct ProbeTree {
  Position position;
  Place place;
  std::optional<DeclaredSignature> signature;
  std::optional<uint64_t> level;
  std::optional<uint64_t> sample_one_in;
  std::optional<uint64_t> sample_rate;
  std::optional<uint64_t> limit_rate;
  Position modifiers_at;
  ExpressionPointer condition;
  std::vector<Action> actions;
};

struct ScriptTree {
  std::optional<uint64_t> budget_ppm;
  std::optional<uint64_t> budget_hits_per_second;
  std::optional<uint64_t> output_per_second;
  std::optional<uint64_t> level;
  std::vector<DeclaredStruct> structs;
  std::vector<ProbeTree> probes;
};

}  // namespace lagwatch::probe
