// SPDX-License-Identifier: Apache-2.0
// Normalizes a function's name for clustering. Context: background; pure.
#pragma once

#include <string>
#include <string_view>

namespace lagwatch::collector {

// Of a readable name (symbols/function_name.h), what stays the same from build to build and from compiler
// to compiler: without template arguments and the symbol's version (`@GLIBC_2.2.5`, `@plt`). A lambda, a
// closure and what std::function calls one by are the function that they are written in, because compilers
// number lambdas as they like and inline them. A method of a Rust trait is the type's: `<Index as
// Handler>::handle` is `Index::handle`.
std::string CauseName(std::string_view readable);

// Of a file's name, what stays the same from version to version: `libfoo.so.1.2` and
// `libfoo-1.2.so` are `libfoo.so`.
std::string CauseModule(std::string_view file_name);

}  // namespace lagwatch::collector
