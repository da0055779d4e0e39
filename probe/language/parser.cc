// SPDX-License-Identifier: Apache-2.0
#include "probe/language/parser.h"

#include <utility>

#include "probe/language/parts.h"

namespace lagwatch::probe {
namespace {

class ScriptParser {
 public:
  explicit ScriptParser(std::string_view script) : tokens_(script) {}

  Result<ScriptTree> Take() {
    while (!tokens_.failed() && !tokens_.IsEnd()) {
      if (tokens_.Accept(";")) continue;
      if (!TakeSetting()) TakeProbe();
    }
    if (!tokens_.failed() && tree_.probes.empty())
      tokens_.FailHere("the script has no probe: write PLACE { ACTIONS }");
    if (tokens_.failed()) return tokens_.status();
    return std::move(tree_);
  }

 private:
  // A function may have the name of a setting, too: a setting is followed by a number or a name.
  bool TakeSetting() {
    const char behind = tokens_.PeekBehind();
    const bool is_number = behind >= '0' && behind <= '9';
    if (tokens_.Is("struct")) {
      TakeStruct();
    } else if (is_number && tokens_.Accept("budget")) {
      TakeBudget();
    } else if (is_number && tokens_.Accept("output")) {
      tree_.output_per_second = tokens_.TakeRate("the records a second", kMaxOutputPerSecond);
    } else if (is_number && tokens_.Accept("level")) {
      tree_.level = tokens_.TakeNumber("the level", Unit::kNone, 0, 100);
    } else {
      return false;
    }
    return true;
  }

  // "budget 0.5%" and, or, "budget 50000/s".
  void TakeBudget() {
    const Token token = tokens_.token();
    if (token.unit != Unit::kNone)
      return tokens_.FailHere("a budget is a share and a rate, as in 1% 10000/s");
    tokens_.Advance();
    if (tokens_.Accept("%")) {
      const double share = token.kind == TokenKind::kFloat ? token.real : static_cast<double>(token.number);
      if (share * 10'000 < 1 || share * 10'000 > kMaxBudgetPpm) {
        return tokens_.Fail(token.position, "the budget is at most 10 % of a thread's time");
      }
      tree_.budget_ppm = static_cast<uint64_t>(share * 10'000);
      if (tokens_.token().kind != TokenKind::kNumber) return;
      tree_.budget_hits_per_second = tokens_.TakeRate("the hits a second", kMaxHitsPerSecond);
    } else if (token.kind == TokenKind::kNumber && tokens_.Accept("/")) {
      tokens_.Expect("s", "after the rate, as in 10000/s");
      if (token.number < 1 || token.number > kMaxHitsPerSecond) {
        return tokens_.Fail(token.position,
                            "the budget is at most " + std::to_string(kMaxHitsPerSecond) + " hits a second");
      }
      tree_.budget_hits_per_second = token.number;
    } else {
      tokens_.Fail(token.position, "a budget is a share and a rate, as in 1% 10000/s");
    }
  }

  // struct NAME { TYPE MEMBER; … }
  void TakeStruct() {
    tokens_.Advance();
    DeclaredStruct declared{.position = tokens_.token().position,
                            .name = tokens_.TakeName("the name of a struct"),
                            .members = {}};
    tokens_.Expect("{", "before the members");
    while (!tokens_.failed() && !tokens_.Accept("}")) {
      declared.members.push_back(TakeDeclaration(&tokens_));
      if (declared.members.back().name.empty()) {
        tokens_.Fail(declared.members.back().type.position, "the member has no name");
      }
      tokens_.Expect(";", "after the member");
    }
    tree_.structs.push_back(std::move(declared));
  }

  void TakeProbe() {
    ProbeTree probe;
    probe.position = tokens_.token().position;
    TakePlace(&tokens_, &probe);
    probe.modifiers_at = tokens_.token().position;
    while (!tokens_.failed() && TakeModifier(&probe)) {
    }
    if (!tokens_.failed() && !tokens_.Is("{")) {
      tokens_.FailHere(
          "expected @KIND, sample, limit, level, in, if or what to do, as in { count }, after the "
          "place, found " +
          tokens_.Found());
    }
    probe.actions = TakeActions(&tokens_);
    tree_.probes.push_back(std::move(probe));
  }

  bool TakeModifier(ProbeTree* probe) {
    const auto once = [&](const auto& value) {
      if (value) tokens_.FailHere("this is there twice");
    };
    if (tokens_.Is("@")) {
      TakeKind(&tokens_, probe);
    } else if (tokens_.Accept("in")) {
      probe->place.source_file = tokens_.TakePattern("{@;").text;
    } else if (tokens_.Accept("sample")) {
      once(probe->sample_one_in || probe->sample_rate);
      TakeSample(probe);
    } else if (tokens_.Accept("limit")) {
      once(probe->limit_rate);
      probe->limit_rate = tokens_.TakeRate("the limit a second", 10'000'000);
    } else if (tokens_.Accept("level")) {
      once(probe->level);
      probe->level = tokens_.TakeNumber("the level", Unit::kNone, 1, 100);
    } else if (tokens_.Accept("if")) {
      once(probe->condition);
      probe->condition = TakeExpression(&tokens_);
    } else {
      return false;
    }
    return true;
  }

  void TakeSample(ProbeTree* probe) {
    if (tokens_.Accept("adaptive")) {
      probe->sample_rate = tokens_.TakeRate("the samples a second", 10'000'000);
      return;
    }
    tokens_.TakeNumber("1, as in sample 1/100", Unit::kNone, 1, 1);
    tokens_.Expect("/", "after 1, as in sample 1/100");
    probe->sample_one_in = tokens_.TakeNumber("the hits of which one is taken", Unit::kNone, 1, 1 << 30);
  }

  TokenStream tokens_;
  ScriptTree tree_;
};

}  // namespace

Result<ScriptTree> ParseScript(std::string_view script) {
  if (script.size() > kMaxScriptBytes)
    return Status(StatusCode::kTooLarge, "1:1: the script is larger than 64 KiB");
  return ScriptParser(script).Take();
}

}  // namespace lagwatch::probe
