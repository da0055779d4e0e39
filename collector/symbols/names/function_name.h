// SPDX-License-Identifier: Apache-2.0
// The name of a function as people read it. Context: background; pure.
#pragma once

#include <string>
#include <string_view>

namespace lagwatch::collector {

// Demangles a name of a symbol table, of C++, Rust, D, gfortran or gcc's Objective-C, and leaves out parts
// that do not help a reader to distinguish functions: the compiler's clone suffixes (.constprop.0, .cold,
// .llvm.77, a coroutine's .resume), the parameter list, the qualifiers after it, ABI tags, the return type of
// a template function, and Rust's hashes. Template arguments, `(anonymous namespace)::`, `operator()` and
// `{lambda(int)#1}` stay. A name that is not mangled, or not validly, is returned unchanged. At most
// kMaxFunctionNameBytes long.
std::string ReadableFunctionName(std::string_view symbol);

inline constexpr size_t kMaxFunctionNameBytes = 1024;

}  // namespace lagwatch::collector
