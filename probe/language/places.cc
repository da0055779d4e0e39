// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "probe/language/nearest_names.h"
#include "probe/language/parts.h"

namespace lagwatch::probe {
namespace {

constexpr std::string_view kKindNames[] = {
#define PROBE_PLACE(name, text, help) text,
#include "probe/places.def"
};

constexpr std::string_view kPatternEnds = "({@;";

// Whether its word is behind "@".
bool IsFunctionKind(PlaceKind kind) {
  return (At(kind) & (kInFunctions | kInMethods)) != 0 && kind != PlaceKind::kCall;
}

DeclaredSignature TakeSignature(TokenStream* tokens) {
  DeclaredSignature signature{.position = tokens->token().position, .parameters = {}, .result = {}};
  tokens->Expect("(", "before the parameters");
  if (!tokens->Accept(")")) {
    do {
      if (tokens->Accept("...")) break;  // more arguments than can be named
      if (tokens->Is("this") && (tokens->PeekBehind() == ',' || tokens->PeekBehind() == ')')) {
        signature.parameters.push_back(
            {.type = {.position = tokens->token().position, .name = "void", .pointers = 1, .elements = {}},
             .name = "this"});
        tokens->Advance();
      } else {
        signature.parameters.push_back(TakeDeclaration(tokens));
      }
    } while (tokens->Accept(","));
    tokens->Expect(")", "after the parameters");
  }
  const auto is_nothing = [](const DeclaredParameter& parameter) {
    return parameter.type.name == "void" && parameter.type.pointers == 0;
  };
  if (signature.parameters.size() == 1 && is_nothing(signature.parameters[0])) signature.parameters.clear();
  if (tokens->Accept("->")) signature.result = TakeType(tokens);
  return signature;
}

// A name, a text or a regular expression, which is the place's `name`.
void TakeName(TokenStream* tokens, std::string_view ends, Place* place) {
  const Token& token = tokens->token();
  if (token.kind == TokenKind::kText) {
    place->pattern = PatternKind::kQuoted;
    place->name = token.content;
    tokens->Advance();
  } else if (tokens->Is("/")) {
    place->pattern = PatternKind::kRegex;
    place->name = tokens->TakeRegex().content;
  } else {
    place->name = tokens->TakePattern(ends).text;
  }
}

// [MODULE!]NAME[(PARAMETERS)]
void TakeFunction(TokenStream* tokens, ProbeTree* probe) {
  Place& place = probe->place;
  const Position position = tokens->token().position;
  const bool is_plain = tokens->token().kind != TokenKind::kText && !tokens->Is("/");
  if (is_plain) {
    std::string first(tokens->TakePattern("({@;!").text);
    if (tokens->Is("!")) {
      tokens->Advance();
      place.module = std::move(first);
      TakeName(tokens, kPatternEnds, &place);
    } else {
      place.name = std::move(first);
    }
  } else {
    TakeName(tokens, kPatternEnds, &place);
  }
  if (place.name.empty()) tokens->Fail(position, "expected a place, such as the name of a function");
  if (tokens->Is("(")) probe->signature = TakeSignature(tokens);
}

// CLASS::METHOD, in which CLASS may begin with `+` (subtypes) or `@` (annotated).
void TakeJava(TokenStream* tokens, ProbeTree* probe) {
  Place& place = probe->place;
  const Position position = tokens->token().position;
  place.is_java = true;
  std::string mark;
  if (tokens->Is("+") || tokens->Is("@")) {
    mark = tokens->token().text;
    tokens->Advance();
  }
  TakeName(tokens, kPatternEnds, &place);
  if (place.pattern == PatternKind::kGlob) place.name = mark + place.name;
  if (place.name.find("::") == std::string::npos && place.pattern != PatternKind::kRegex) {
    tokens->Fail(position, "a Java method is named CLASS::METHOD, as in java.util.HashMap::put");
  }
  if (tokens->Is("(")) probe->signature = TakeSignature(tokens);
}

using Take = void (*)(TokenStream*, ProbeTree*);

struct PlaceRow {
  std::string_view word;
  PlaceKind kind;
  Take take;  // what is behind the word; null: nothing
};

bool IsAtModifier(const TokenStream& tokens) {
  constexpr std::string_view kModifiers[] = {"if", "sample", "limit", "level"};
  return std::ranges::any_of(kModifiers, [&](std::string_view word) { return tokens.Is(word); });
}

void TakeOptionalName(TokenStream* tokens, ProbeTree* probe) {
  if (!IsAtModifier(*tokens) && !tokens->Is("{")) TakeName(tokens, "{;", &probe->place);
}

void TakeEventName(TokenStream* tokens, ProbeTree* probe) {
  if (tokens->token().kind == TokenKind::kText) return TakeName(tokens, kPatternEnds, &probe->place);
  probe->place.name = tokens->TakeName("the event's name");
}

constexpr std::array kPlaces = {
    PlaceRow{"timer", PlaceKind::kTimer,
             [](TokenStream* tokens, ProbeTree* probe) {
               probe->place.period_ns =
                   tokens->TakeNumber("a period", Unit::kDuration, kMinTimerNs, kMaxRequestNs);
             }},
    PlaceRow{"event", PlaceKind::kEvent, TakeEventName},
    PlaceRow{"exit", PlaceKind::kExit, nullptr},
    PlaceRow{"call", PlaceKind::kCall, TakeFunction},
    PlaceRow{"throw", PlaceKind::kThrow, TakeOptionalName},
    PlaceRow{"alloc", PlaceKind::kAlloc, nullptr},
    PlaceRow{"lock", PlaceKind::kLock, nullptr},
    PlaceRow{"io", PlaceKind::kIo, nullptr},
    PlaceRow{"dispatch", PlaceKind::kDispatch, TakeOptionalName},
    PlaceRow{"usdt", PlaceKind::kUsdt,
             [](TokenStream* tokens, ProbeTree* probe) {
               const Position position = tokens->token().position;
               TakeName(tokens, kPatternEnds, &probe->place);
               if (probe->place.name.find(':') == std::string::npos) {
                 tokens->Fail(position, "a note is named PROVIDER:NAME");
               }
             }},
    PlaceRow{"java", PlaceKind::kEntry, TakeJava},
};

// Takes the line's number, or the glob, that may follow @line, @call ….
void TakeInnerPlace(Position position, TokenStream* tokens, Place* place) {
  const std::string word(kKindNames[static_cast<size_t>(place->kind)]);
  if (!place->is_java)
    return tokens->Fail(position,
                        "only methods of Java have @" + word + ", as in java CLASS::METHOD @" + word);
  if (place->kind == PlaceKind::kMonitor || IsAtModifier(*tokens) || tokens->Is("{") || tokens->Is("@"))
    return;
  if (place->kind == PlaceKind::kLine) {
    constexpr uint64_t kMostLines = 65'535;  // of a class file
    place->line = static_cast<uint32_t>(tokens->TakeNumber("the line's number", Unit::kNone, 1, kMostLines));
  } else {
    place->target = tokens->TakePattern(kPatternEnds).text;
  }
}

bool TakeHang(TokenStream* tokens, ProbeTree* probe) {
  if (!tokens->Accept("on")) return false;
  tokens->Expect("hang", "after on, as in on hang of LOOP");
  tokens->Expect("of", "after hang, as in on hang of LOOP");
  probe->place.kind = PlaceKind::kHang;
  TakeName(tokens, "{;", &probe->place);
  return true;
}

}  // namespace

void TakePlace(TokenStream* tokens, ProbeTree* probe) {
  // A function may have the name of another kind of place: then it has parameters, a kind or a module.
  const char behind = tokens->PeekBehind();
  const bool is_function = behind == '(' || behind == '!' || (behind == '@' && !tokens->Is("java"));
  if (tokens->IsName() && !is_function) {
    const std::string_view word = tokens->PatternHere(kPatternEnds);
    if (word == "on" && TakeHang(tokens, probe)) return;
    for (const PlaceRow& row : kPlaces) {
      if (row.word != word) continue;
      tokens->Advance();
      probe->place.kind = row.kind;
      if (row.take != nullptr) row.take(tokens, probe);
      return;
    }
  }
  TakeFunction(tokens, probe);
}

void TakeKind(TokenStream* tokens, ProbeTree* probe) {
  const Position position = tokens->token().position;
  if (!tokens->Accept("@")) return;
  const std::string word = tokens->TakeName("a kind of place");
  std::vector<std::string> names;
  for (size_t i = 0; i < kPlaceKinds; ++i) {
    const auto kind = static_cast<PlaceKind>(i);
    if (!IsFunctionKind(kind)) continue;
    names.emplace_back(kKindNames[i]);
    if (kKindNames[i] != word) continue;
    if (!IsFunctionKind(probe->place.kind)) return tokens->Fail(position, "only functions have @" + word);
    probe->place.kind = kind;
    if ((At(kind) & kInMethods) != 0) TakeInnerPlace(position, tokens, &probe->place);
    return;
  }
  tokens->Fail(position, "unknown kind of place \"@" + word + "\"" + NearestNames(word, std::move(names)));
}

}  // namespace lagwatch::probe
