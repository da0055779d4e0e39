// SPDX-License-Identifier: Apache-2.0
#include "sdk/probe/thrown_type.h"

namespace lagwatch::sdk {
namespace {

// Appends, and keeps room for the NUL.
class Buffer {
 public:
  Buffer(char* bytes, size_t size) : bytes_(bytes), room_(size - 1) { bytes_[0] = '\0'; }

  void Append(const char* text, size_t size) {
    for (size_t i = 0; i < size && room_ > 0; ++i, --room_) *bytes_++ = text[i];
    *bytes_ = '\0';
  }
  void Append(const char* text) {
    for (; *text != '\0'; ++text) Append(text, 1);
  }

 private:
  char* bytes_;
  size_t room_;
};

const char* BuiltinName(char letter) {
  switch (letter) {
    case 'b':
      return "bool";
    case 'c':
      return "char";
    case 'd':
      return "double";
    case 'f':
      return "float";
    case 'i':
      return "int";
    case 'j':
      return "unsigned int";
    case 'l':
      return "long";
    case 'm':
      return "unsigned long";
    default:
      return nullptr;
  }
}

// Reads "13runtime_error" and moves behind it; false if that is not one.
bool TakeIdentifier(const char** at, const char** name, size_t* size) {
  constexpr size_t kMost = 1000;
  *size = 0;
  while (**at >= '0' && **at <= '9' && *size < kMost)
    *size = *size * 10 + static_cast<size_t>(*(*at)++ - '0');
  *name = *at;
  for (size_t i = 0; i < *size; ++i, ++*at) {
    if (**at == '\0') return false;
  }
  return *size != 0;
}

// Names with their scopes, as "N3foo3barE"; false if there is anything else in them.
bool AddScopedName(const char* at, Buffer* buffer) {
  const bool is_nested = *at == 'N';
  if (is_nested) ++at;
  bool has_part = false;
  if (at[0] == 'S' && at[1] == 't') {
    buffer->Append("std");
    has_part = true;
    at += 2;
  }
  const char* name = nullptr;
  size_t size = 0;
  while (*at != '\0' && *at != 'E') {
    const bool is_tag = *at == 'B';  // of the ABI: no part of the name
    if (is_tag) ++at;
    if (!TakeIdentifier(&at, &name, &size)) return false;
    if (is_tag) continue;
    if (has_part) buffer->Append("::");
    buffer->Append(name, size);
    has_part = true;
  }
  return has_part && (is_nested ? at[0] == 'E' && at[1] == '\0' : *at == '\0');
}

}  // namespace

void ReadableTypeName(const char* mangled, char* name, size_t size) {
  if (*mangled == '*') ++mangled;  // a type of one file's own
  Buffer buffer(name, size);
  const bool is_pointer = mangled[0] == 'P';
  const bool is_const = is_pointer && mangled[1] == 'K';
  const char* type = mangled + (is_pointer ? 1 : 0) + (is_const ? 1 : 0);
  if (is_const) buffer.Append("const ");
  bool is_known = false;
  if (const char* builtin = BuiltinName(type[0]); builtin != nullptr && type[1] == '\0') {
    buffer.Append(builtin);
    is_known = true;
  } else {
    is_known = AddScopedName(type, &buffer);
  }
  if (is_known && is_pointer) buffer.Append("*");
  if (!is_known) Buffer(name, size).Append(mangled);
}

}  // namespace lagwatch::sdk
