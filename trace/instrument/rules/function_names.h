// SPDX-License-Identifier: Apache-2.0
// The names of a function by which rules and people mean it. Context: background; pure.
#pragma once

#include <string>
#include <string_view>

namespace lagwatch::trace {

struct FunctionNames {
  std::string symbol;  // as in the symbol table, without its version and the compiler's clone suffixes
  std::string whole;   // "int shop::(anonymous namespace)::Find<int>(char const*)"; of C as `symbol`
  std::string plain;   // "shop::Find<int>": without parameters, return type and anonymous namespaces

  static FunctionNames Of(std::string_view symbol);
};

// Whether a pattern for modules means the file: a glob on its name, with or without what follows ".so".
bool MatchesModule(std::string_view pattern, std::string_view path);

// Whether a pattern for source files means the path: a glob on all of it, on its end ("src/parse/*") or on
// the file's name.
bool MatchesSourceFile(std::string_view pattern, std::string_view path);

// '*' stands for any run of bytes, also of none, and '?' for any byte.
bool MatchesGlob(std::string_view pattern, std::string_view text);

}  // namespace lagwatch::trace
