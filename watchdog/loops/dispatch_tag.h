// SPDX-License-Identifier: Apache-2.0
// Tags that are a function's address instead of a text (lw_function_tag() in lagwatch/c.h). Their text is
// made where it is needed: the module and the place in it, which readers of reports know the function's name
// of.
#pragma once

#include <cstdint>
#include <span>

#include "stack/code/module_map.h"

namespace lagwatch::watchdog {

// Set in the pointer, and both in no address of a program, tagged ones included: x86-64 leaves bit 63 clear
// in these, arm64 bit 55.
inline constexpr uint64_t kFunctionTagBits = uint64_t{1} << 63 | uint64_t{1} << 55;

// Whether `tag` is a function's address; then `text` becomes "&0x" and the address. Context: hot.
bool WriteFunctionTag(const char* tag, std::span<char> text);

// Whether `text` is such a text.
bool IsFunctionTag(std::span<const char> text);

// Replaces such a text by the place in a module, "libgtk-3.so.0+0x1f", with less of the module's name where
// both do not fit. Other texts stay as they are, and those of addresses in no module. Context: watchdog.
void PlaceFunctionTag(const stack::ModuleMap& modules, std::span<char> text);

}  // namespace lagwatch::watchdog
