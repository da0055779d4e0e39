// SPDX-License-Identifier: Apache-2.0
// Types of C and C++, as far as a probe reads values by them. Immutable. Context: background.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lagwatch::probe {

struct Type;
using TypePointer = std::shared_ptr<const Type>;

struct Member {
  std::string name;
  TypePointer type;
  uint64_t offset = 0;
};

struct Type {
  enum class Kind : uint8_t {
    kVoid,
    kInt,  // also bool, char and enumerations
    kFloat,
    kPointer,  // also references
    kArray,
    kStruct,
    kNamed,       // a struct whose members the type source has, or nothing knows
    kStdString,   // std::string of libstdc++ or libc++'s is not distinguished: only the former is read
    kLongDouble,  // in memory, and not read
  };
  Kind kind = Kind::kVoid;
  std::string name{};  // for messages
  uint64_t size = 0;
  uint64_t alignment = 1;
  bool is_signed = false;
  bool is_char = false;
  TypePointer inner{};  // pointed to; of the elements
  std::vector<Member> members{};
};

// Of pointers and integers, for messages: "const char*".
TypePointer IntType(std::string name, uint64_t size, bool is_signed);
TypePointer PointerTo(TypePointer inner);
TypePointer ArrayOf(TypePointer element, uint64_t count);
// Lays the members out one after the other, as C does.
TypePointer StructOf(std::string name, std::vector<Member> members);

// Whether the value is the address of a string of C.
bool IsCString(const Type& type);

struct Parameter {
  std::string name;
  TypePointer type;
};

struct Signature {
  std::vector<Parameter> parameters;  // `this` is one of them
  TypePointer result;                 // null: unknown, read as a long
};

// Knows types and functions by their names: debug information, or nothing. A script's own declarations come
// first.
struct Place;

class TypeSource {
 public:
  virtual ~TypeSource() = default;
  // Null if there is none.
  virtual TypePointer FindType(std::string_view name) const = 0;
  // `module` and `function` are a script's patterns.
  virtual std::optional<Signature> FindFunction(std::string_view module, std::string_view function) const = 0;
  // Whether a place that names a function means a method of Java, though the script does not say so.
  virtual bool IsJava(const Place&) const { return false; }
};

}  // namespace lagwatch::probe
