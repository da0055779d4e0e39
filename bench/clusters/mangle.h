// SPDX-License-Identifier: Apache-2.0
// Symbols as compilers write them, for the few shapes that the causes need.
#pragma once

#include <cstdint>
#include <string>

#include "bench/clusters/build.h"

namespace lagwatch::clusters {

// Mangles `ns::Class::Name`, without parameters; `argument` is the mangled template argument,
// empty without one.
std::string MangleCpp(const std::string& name, const std::string& argument = "");

// The symbols that a lambda has which is called through std::function: its own, and the library's.
struct LambdaSymbols {
  std::string call;     // Name()::{lambda()#1}::operator()
  std::string invoke;   // std::__invoke_impl<…>
  std::string handler;  // std::_Function_handler<…>::_M_invoke
  std::string function = "_ZNKSt8functionIFvvEEclEv";
};
LambdaSymbols MangleLambda(const std::string& name, int number, Compiler compiler);

// `hash` is what Rust adds of the crate's version.
std::string MangleRust(const std::string& name, uint64_t hash, bool is_v0);

}  // namespace lagwatch::clusters
