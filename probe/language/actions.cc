// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "probe/language/nearest_names.h"
#include "probe/language/parts.h"

namespace lagwatch::probe {
namespace {

struct AggregateRow {
  std::string_view name;
  AggregateKind kind;
};
constexpr std::array kAggregates = {
    AggregateRow{"count", AggregateKind::kCount}, AggregateRow{"sum", AggregateKind::kSum},
    AggregateRow{"min", AggregateKind::kMin},     AggregateRow{"max", AggregateKind::kMax},
    AggregateRow{"avg", AggregateKind::kAverage}, AggregateRow{"histogram", AggregateKind::kHistogram},
};

class ActionParser {
 public:
  explicit ActionParser(TokenStream* tokens) : tokens_(*tokens) {}

  std::vector<Action> Block() {
    const ScopedDepth depth(&tokens_, &depth_);
    std::vector<Action> actions;
    tokens_.Expect("{", "before the actions");
    while (!tokens_.failed() && !tokens_.Accept("}")) {
      if (tokens_.Accept(";")) continue;
      actions.push_back(Take());
      const bool is_separated = tokens_.Is(";") || tokens_.Is("}") || tokens_.token().is_on_new_line ||
                                actions.back().kind == Action::Kind::kIf;
      if (!is_separated) tokens_.FailHere("expected ; or } after the action, found " + tokens_.Found());
    }
    return actions;
  }

 private:
  Action Take() {
    Action action{.position = tokens_.token().position};
    std::string word = tokens_.TakeName("an action");
    if (tokens_.Accept(":")) {
      action.name = std::move(word);
      action.position = tokens_.token().position;
      word = tokens_.TakeName("what to aggregate after its name");
      if (!TakeAggregate(word, &action)) Unknown(action.position, word, true);
      return action;
    }
    if (TakeAggregate(word, &action) || TakeOther(word, &action)) return action;
    Unknown(action.position, word, false);
    return action;
  }

  void Unknown(Position position, const std::string& word, bool is_named) {
    std::vector<std::string> names = {"stack"};
    for (const AggregateRow& row : kAggregates) names.emplace_back(row.name);
    if (!is_named) names.insert(names.end(), {"print", "let", "if", "dump", "trace", "arm"});
    tokens_.Fail(position, "unknown action \"" + word + "\"" + NearestNames(word, std::move(names)));
  }

  bool TakeAggregate(const std::string& word, Action* action) {
    action->kind = Action::Kind::kAggregate;
    if (word == "stack") {  // as a flame graph
      auto stack = std::make_unique<Expression>();
      stack->kind = Expression::Kind::kName;
      stack->position = action->position;
      stack->text = stack->source = word;
      action->arguments.push_back(std::move(stack));
      return true;
    }
    for (const AggregateRow& row : kAggregates) {
      if (row.name != word) continue;
      action->aggregate = row.kind;
      if (row.kind != AggregateKind::kCount) TakeValue(action);
      TakeKeys(action);
      return true;
    }
    return false;
  }

  void TakeValue(Action* action) {
    tokens_.Expect("(", "before the value");
    action->value = TakeExpression(&tokens_);
    if (action->aggregate == AggregateKind::kHistogram && tokens_.Accept(",")) {
      action->aggregate = AggregateKind::kLinearHistogram;
      action->lowest = TakeSigned("the lowest value");
      tokens_.Expect(",", "between the lowest and the highest value");
      action->highest = TakeSigned("the highest value");
      tokens_.Expect(",", "between the highest value and the step");
      action->step = TakeSigned("the step");
    }
    tokens_.Expect(")", "after the value");
  }

  int64_t TakeSigned(std::string_view meaning) {
    const bool is_negative = tokens_.Accept("-");
    if (tokens_.token().kind != TokenKind::kNumber || tokens_.token().number > INT64_MAX) {
      tokens_.FailHere("expected " + std::string(meaning) + ", a number, found " + tokens_.Found());
      return 0;
    }
    const auto number = static_cast<int64_t>(tokens_.token().number);
    tokens_.Advance();
    return is_negative ? -number : number;
  }

  void TakeKeys(Action* action) {
    if (tokens_.Accept("by")) {
      do {
        action->arguments.push_back(TakeExpression(&tokens_));
      } while (tokens_.Accept(","));
    }
    for (;;) {
      if (tokens_.Accept("top")) {
        action->top = tokens_.TakeNumber("the number of rows", Unit::kNone, 1, kMaxCells);
      } else if (tokens_.Accept("keys")) {
        action->keys = tokens_.TakeNumber("the number of keys", Unit::kNone, 1, kMaxCells);
      } else {
        return;
      }
    }
  }

  bool TakeOther(const std::string& word, Action* action) {
    if (word == "print") {
      TakePrint(action);
    } else if (word == "let") {
      action->kind = Action::Kind::kLet;
      action->name = tokens_.TakeName("the name of a variable");
      tokens_.Expect("=", "after the variable's name");
      action->value = TakeExpression(&tokens_);
    } else if (word == "if") {
      action->kind = Action::Kind::kIf;
      action->value = TakeExpression(&tokens_);
      action->actions = Block();
      if (tokens_.Accept("else")) action->otherwise = Otherwise();
    } else {
      return TakeRequest(word, action);
    }
    return true;
  }

  std::vector<Action> Otherwise() {
    if (!tokens_.Is("if")) return Block();
    const ScopedDepth depth(&tokens_, &depth_);
    std::vector<Action> actions;
    actions.push_back(Take());
    return actions;
  }

  void TakePrint(Action* action) {
    action->kind = Action::Kind::kPrint;
    tokens_.Expect("(", "after print");
    do {
      action->arguments.push_back(TakeExpression(&tokens_));
    } while (tokens_.Accept(","));
    tokens_.Expect(")", "after the values");
  }

  bool TakeRequest(const std::string& word, Action* action) {
    action->kind = Action::Kind::kRequest;
    if (word == "dump") {
      action->request = RequestKind::kDump;
      return true;
    }
    if (word != "trace" && word != "arm") return false;
    action->request = word == "trace" ? RequestKind::kTrace : RequestKind::kArm;
    if (word == "arm") action->name = TakeScriptName();
    tokens_.Expect("for", "and a duration, as in for 30s");
    action->duration_ns = tokens_.TakeNumber("a duration", Unit::kDuration, 1, kMaxRequestNs);
    return true;
  }

  std::string TakeScriptName() {
    if (tokens_.token().kind == TokenKind::kText) {
      std::string name = tokens_.token().content;
      tokens_.Advance();
      return name;
    }
    if (!tokens_.IsName()) tokens_.FailHere("expected the name of a script, found " + tokens_.Found());
    return std::string(tokens_.TakePattern(";{}").text);
  }

  TokenStream& tokens_;
  uint32_t depth_ = 0;
};

}  // namespace

std::vector<Action> TakeActions(TokenStream* tokens) { return ActionParser(tokens).Block(); }

}  // namespace lagwatch::probe
