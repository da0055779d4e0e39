// SPDX-License-Identifier: Apache-2.0
// The name of an exception's type as people read it, made where nothing may be allocated. Context: hot.
#pragma once

#include <cstddef>

namespace lagwatch::sdk {

// Writes "std::runtime_error" for "St13runtime_error" and the like, ended by NUL. Types with template
// arguments, and what else is not understood, stay as they are. `size` is at least 1.
void ReadableTypeName(const char* mangled, char* name, size_t size);

}  // namespace lagwatch::sdk
