// SPDX-License-Identifier: Apache-2.0
#include "probe/compile/compiler.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "probe/compile/values.h"
#include "probe/language/parser.h"

namespace lagwatch::probe {
namespace {

constexpr uint16_t kTextWidth = 128;  // of printed texts
constexpr uint16_t kKeyTextWidth = 64;
constexpr uint64_t kKeys = 1'000;
constexpr uint64_t kHistogramKeys = 250;
constexpr uint32_t kShards = 4;
constexpr uint32_t kShardsWithoutKey = 16;

constexpr std::string_view kAggregateNames[] = {"count", "sum",       "min",      "max",
                                                "avg",   "histogram", "histogram"};

class ProbeCompiler {
 public:
  ProbeCompiler(Program* program, const ProbeTree& tree, const DeclaredTypes& types)
      : tree_(tree),
        emitter_(program, &probe_),
        names_{.types = types, .place = probe_.place, .signature = {}, .arguments = {}, .variables = {}},
        values_(&emitter_, &names_) {
    probe_.place = tree.place;
    probe_.position = tree.position;
  }

  Result<Probe> Run(const TypeSource* source) {
    FindSignature(source);
    Label end;
    Modifiers(&end);
    Actions(tree_.actions);
    emitter_.Bind(&end);
    emitter_.Emit(tree_.position, {.code = OperationCode::kEnd});
    if (emitter_.failed()) return emitter_.status();
    return std::move(probe_);
  }

 private:
  void FindSignature(const TypeSource* source) {
    if (tree_.signature.has_value()) {
      Result<Signature> declared = names_.types.Resolve(*tree_.signature);
      if (!declared.ok()) return emitter_.Take(declared.status());
      names_.signature = *declared;
      // It is no argument in a JVM, and always there.
      if (tree_.place.is_java)
        std::erase_if(names_.signature->parameters,
                      [](const Parameter& each) { return each.name == "this"; });
    } else if (source != nullptr && (At(tree_.place.kind) & kInFunctions) != 0 && !tree_.place.is_java) {
      names_.signature = source->FindFunction(tree_.place.module, tree_.place.name);
    }
    if (!names_.signature.has_value()) return;
    Result<ArgumentPlaces> places = PlacesOf(*names_.signature);
    if (!places.ok()) {
      const Position position = tree_.signature.has_value() ? tree_.signature->position : tree_.position;
      return emitter_.Fail(position, places.status().message());
    }
    names_.arguments = *places;
  }

  // The cheapest first, and the rates last: they count what the condition has let through.
  void Modifiers(Label* end) {
    const Position position = tree_.modifiers_at;
    if (tree_.level.has_value()) {
      emitter_.Emit(position,
                    {.code = OperationCode::kCheckLevel, .number = static_cast<int32_t>(*tree_.level)});
    }
    if (tree_.sample_one_in.has_value()) {
      emitter_.Emit(position,
                    {.code = OperationCode::kSample, .number = static_cast<int32_t>(*tree_.sample_one_in)});
    }
    if (tree_.condition != nullptr) values_.CompileJump(*tree_.condition, false, end, 0);
    if (tree_.sample_rate.has_value()) Rate(OperationCode::kSampleAdaptive, *tree_.sample_rate);
    if (tree_.limit_rate.has_value()) Rate(OperationCode::kLimit, *tree_.limit_rate);
  }

  void Rate(OperationCode code, uint64_t rate) {
    if (emitter_.program().counters >= kMaxCounters)
      return emitter_.Fail(tree_.modifiers_at, "there are too many samples and limits");
    emitter_.Emit(tree_.modifiers_at, {.code = code,
                                       .to = static_cast<uint8_t>(emitter_.NewCounter()),
                                       .number = static_cast<int32_t>(rate)});
  }

  void Actions(const std::vector<Action>& actions) {
    const size_t registers = registers_;
    const auto variables = names_.variables;
    for (const Action& action : actions) {
      if (emitter_.failed()) return;
      switch (action.kind) {
        case Action::Kind::kAggregate:
          Aggregated(action);
          break;
        case Action::Kind::kPrint:
          Printed(action);
          break;
        case Action::Kind::kLet:
          Let(action);
          break;
        case Action::Kind::kIf:
          If(action);
          break;
        case Action::Kind::kRequest:
          Requested(action);
          break;
      }
    }
    registers_ = registers;  // variables end with their block
    names_.variables = variables;
  }

  void Let(const Action& action) {
    Value value = values_.Compile(*action.value, registers_);
    if (emitter_.failed()) return;
    if (names_.variables.contains(action.name))
      return emitter_.Fail(action.position, "there is already a variable \"" + action.name + "\"");
    names_.variables.emplace(action.name, Variable{static_cast<uint8_t>(registers_), std::move(value)});
    ++registers_;
  }

  void If(const Action& action) {
    Label otherwise;
    Label end;
    values_.CompileJump(*action.value, false, &otherwise, registers_);
    Actions(action.actions);
    if (!action.otherwise.empty()) emitter_.EmitJump(action.position, {.code = OperationCode::kJump}, &end);
    emitter_.Bind(&otherwise);
    Actions(action.otherwise);
    emitter_.Bind(&end);
  }

  // A key's part or a record's field, in the next register.
  Field Stored(const Expression& expression, uint16_t width, size_t to) {
    const Value value = values_.Stored(expression.position, values_.Compile(expression, to), to);
    Field field{.name = expression.source, .shown = value.shown, .width = 0};
    if (value.shown == Shown::kText) field.width = value.width != 0 ? value.width : width;
    return field;
  }

  void Printed(const Action& action) {
    Print print;
    size_t to = registers_;
    for (const ExpressionPointer& argument : action.arguments) {
      if (argument->kind == Expression::Kind::kText) {
        print.fields.push_back({.name = argument->text, .shown = Shown::kLiteral});
      } else {
        print.fields.push_back(Stored(*argument, kTextWidth, to++));
      }
    }
    if (print.fields.size() > kMaxFields)
      emitter_.Fail(action.position, "a record has at most " + std::to_string(kMaxFields) + " values");
    std::vector<Print>& prints = emitter_.program().prints;
    prints.push_back(std::move(print));
    emitter_.Emit(action.position,
                  {.code = OperationCode::kPrint,
                   .a = to == registers_ ? uint8_t{0} : emitter_.Register(action.position, registers_),
                   .number = static_cast<int32_t>(prints.size() - 1)});
  }

  void Aggregated(const Action& action) {
    Aggregate aggregate{.kind = action.aggregate};
    size_t to = registers_;
    for (const ExpressionPointer& key : action.arguments) {
      aggregate.keys.push_back(Stored(*key, kKeyTextWidth, to++));
      if (aggregate.keys.back().shown == Shown::kFloat)
        emitter_.Fail(key->position, "a key is a whole number, a text or a stack");
    }
    if (aggregate.keys.size() > kMaxKeys)
      emitter_.Fail(action.position, "a key has at most " + std::to_string(kMaxKeys) + " parts");
    if (action.value != nullptr) aggregate.shown = Number(*action.value, action.aggregate, to);
    Sizes(action, &aggregate);
    if (emitter_.failed()) return;
    const int32_t index = Declare(action, std::move(aggregate));
    emitter_.Emit(action.position, {.code = OperationCode::kAggregate,
                                    .a = static_cast<uint8_t>(action.arguments.empty() ? 0 : registers_),
                                    .b = static_cast<uint8_t>(action.value == nullptr ? 0 : to),
                                    .number = index});
  }

  // The aggregated value; histograms take whole numbers.
  Shown Number(const Expression& expression, AggregateKind kind, size_t to) {
    const Value value = values_.Compile(expression, to);
    if (emitter_.failed()) return Shown::kNumber;
    const bool is_histogram = IsHistogram(kind);
    if (value.type == RegisterType::kFloat && is_histogram) {
      const auto in = static_cast<uint8_t>(to);
      emitter_.Emit(expression.position, {.code = OperationCode::kToInt, .to = in, .a = in});
      return Shown::kNumber;
    }
    if (value.type == RegisterType::kFloat) return Shown::kFloat;
    if (value.type != RegisterType::kInt || IsTextAddress(value))
      emitter_.Fail(expression.position, "\"" + expression.source + "\" is no number");
    return value.shown == Shown::kDuration ? Shown::kDuration : Shown::kNumber;
  }

  void Sizes(const Action& action, Aggregate* aggregate) {
    const bool is_linear = aggregate->kind == AggregateKind::kLinearHistogram;
    const bool is_histogram = IsHistogram(aggregate->kind);
    const bool has_key = !aggregate->keys.empty();
    // With twice the cells, a key finds one near its place.
    const uint64_t keys = 2 * action.keys.value_or(is_histogram ? kHistogramKeys : kKeys);
    aggregate->cells =
        has_key ? static_cast<uint32_t>(std::min<uint64_t>(std::bit_ceil(keys), kMaxCells)) : 1;
    aggregate->shards = has_key ? kShards : kShardsWithoutKey;
    aggregate->top = static_cast<uint32_t>(action.top.value_or(0));
    if (!is_linear) return;
    int64_t width = 0;
    const bool is_wrong = action.step < 1 || __builtin_sub_overflow(action.highest, action.lowest, &width) ||
                          width < 1 || (width - 1) / action.step + 1 > kMaxLinearBuckets;
    if (is_wrong) {
      return emitter_.Fail(action.position, "histogram(VALUE, LOWEST, HIGHEST, STEP) has 1 to " +
                                                std::to_string(kMaxLinearBuckets) + " buckets");
    }
    aggregate->lowest = action.lowest;
    aggregate->step = action.step;
    aggregate->buckets = static_cast<uint32_t>((width - 1) / action.step + 1);
  }

  // The index of the aggregate. Actions of one name share it.
  int32_t Declare(const Action& action, Aggregate aggregate) {
    std::vector<Aggregate>& all = emitter_.program().aggregates;
    if (!action.name.empty()) {
      aggregate.name = action.name;
      const auto found = std::ranges::find(all, action.name, &Aggregate::name);
      if (found != all.end() && *found != aggregate) {
        emitter_.Fail(action.position, "\"" + action.name + "\" is already the name of another aggregate");
      }
      if (found != all.end()) return static_cast<int32_t>(found - all.begin());
    } else {
      aggregate.name = kAggregateNames[static_cast<size_t>(aggregate.kind)];
      if (action.value != nullptr) aggregate.name += '(' + action.value->source + ')';
      for (size_t i = 0; i < aggregate.keys.size(); ++i)
        aggregate.name += (i == 0 ? " by " : ", ") + aggregate.keys[i].name;
      const std::string name = aggregate.name;
      for (int number = 2; std::ranges::find(all, aggregate.name, &Aggregate::name) != all.end(); ++number) {
        aggregate.name = name + " #" + std::to_string(number);
      }
    }
    all.push_back(std::move(aggregate));
    return static_cast<int32_t>(all.size() - 1);
  }

  void Requested(const Action& action) {
    std::vector<Request>& requests = emitter_.program().requests;
    const Request request{.kind = action.request, .script = action.name, .duration_ns = action.duration_ns};
    const auto found = std::ranges::find(requests, request);
    const auto index = static_cast<int32_t>(found - requests.begin());
    if (found == requests.end()) requests.push_back(request);
    emitter_.Emit(action.position, {.code = OperationCode::kAsk, .number = index});
  }

  const ProbeTree& tree_;
  Probe probe_;
  Emitter emitter_;
  Names names_;
  ValueCompiler values_;
  size_t registers_ = 0;  // those of variables; the ones above are free
};

}  // namespace

Result<Program> CompileScript(std::string_view script, const TypeSource* types) {
  ScriptTree tree = LAGWATCH_TRY(ParseScript(script));
  DeclaredTypes declared(types);
  for (const DeclaredStruct& one : tree.structs) {
    if (Status status = declared.Declare(one); !status.ok()) return status;
  }
  Program program;
  if (tree.budget_ppm.has_value()) program.budget.share_ppm = static_cast<uint32_t>(*tree.budget_ppm);
  if (tree.budget_hits_per_second.has_value()) {
    program.budget.hits_per_second = static_cast<uint32_t>(*tree.budget_hits_per_second);
  }
  if (tree.output_per_second.has_value())
    program.output_per_second = static_cast<uint32_t>(*tree.output_per_second);
  program.level = static_cast<uint32_t>(tree.level.value_or(0));
  for (ProbeTree& probe : tree.probes) {
    const bool may_be_java = (At(probe.place.kind) & kInFunctions) != 0 && !probe.place.is_java;
    if (may_be_java && types != nullptr) probe.place.is_java = types->IsJava(probe.place);
    Result<Probe> compiled = ProbeCompiler(&program, probe, declared).Run(types);
    if (!compiled.ok()) return compiled.status();
    program.probes.push_back(std::move(*compiled));
  }
  return program;
}

}  // namespace lagwatch::probe
