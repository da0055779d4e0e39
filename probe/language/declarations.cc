// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "probe/language/parts.h"

namespace lagwatch::probe {
namespace {

constexpr std::array<std::string_view, 12> kTypeWords = {"unsigned", "signed", "char",     "short",
                                                         "int",      "long",   "float",    "double",
                                                         "struct",   "class",  "volatile", "const"};
constexpr std::array<std::string_view, 6> kLeftOut = {"const", "volatile", "struct",
                                                      "class", "union",    "enum"};

bool IsOneOf(std::string_view word, const auto& words) {
  return std::ranges::find(words, word) != words.end();
}

// "A::B<C, D>": templates' arguments are part of the name.
std::string TakeQualifiedName(TokenStream* tokens) {
  std::string name = tokens->TakeName("a type");
  for (;;) {
    if (tokens->Accept("::")) {
      name += "::" + tokens->TakeName("a name");
    } else if (tokens->Is("<")) {
      for (int depth = 0; !tokens->IsEnd();) {
        depth += tokens->Is("<") ? 1 : tokens->Is(">") ? -1 : tokens->Is(">>") ? -2 : 0;
        name += tokens->token().text;
        tokens->Advance();
        if (depth <= 0) break;
      }
    } else {
      return name;
    }
  }
}

void TakePointers(TokenStream* tokens, TypeName* type) {
  for (;;) {
    if (tokens->Accept("*")) {
      ++type->pointers;
    } else if (tokens->Accept("&")) {
      type->is_reference = true;
    } else if (!tokens->Accept("const") && !tokens->Accept("restrict") && !tokens->Accept("__restrict")) {
      return;
    }
  }
}

}  // namespace

DeclaredParameter TakeDeclaration(TokenStream* tokens) {
  DeclaredParameter declared;
  declared.type.position = tokens->token().position;
  std::vector<std::string> words;
  while (tokens->IsName()) {
    std::string word = TakeQualifiedName(tokens);
    if (!IsOneOf(word, kLeftOut)) words.push_back(std::move(word));
  }
  TakePointers(tokens, &declared.type);
  if (tokens->IsName()) {
    declared.name = tokens->TakeName("a name");
  } else if (words.size() > 1 && !IsOneOf(words.back(), kTypeWords) && declared.type.pointers == 0 &&
             !declared.type.is_reference) {
    declared.name = std::move(words.back());
    words.pop_back();
  }
  for (const std::string& word : words) declared.type.name += (declared.type.name.empty() ? "" : " ") + word;
  if (words.empty()) tokens->Fail(declared.type.position, "expected a type");
  if (tokens->Accept("[")) {
    declared.type.elements = tokens->TakeNumber("the number of elements", Unit::kNone, 1, 1 << 20);
    tokens->Expect("]", "after the number of elements");
  }
  return declared;
}

TypeName TakeType(TokenStream* tokens) {
  DeclaredParameter declared = TakeDeclaration(tokens);
  if (!declared.name.empty()) tokens->Fail(declared.type.position, "expected a type without a name");
  return declared.type;
}

}  // namespace lagwatch::probe
