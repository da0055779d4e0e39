// SPDX-License-Identifier: Apache-2.0
#include "probe/types/declared_types.h"

#include <array>
#include <cctype>
#include <utility>

#include "probe/language/nearest_names.h"

namespace lagwatch::probe {
namespace {

struct IntRow {
  std::string_view name;
  uint8_t size;
  bool is_signed;
};
constexpr std::array kInts = {
    IntRow{"bool", 1, false},     IntRow{"_Bool", 1, false},       IntRow{"char", 1, true},
    IntRow{"int8_t", 1, true},    IntRow{"uint8_t", 1, false},     IntRow{"int16_t", 2, true},
    IntRow{"uint16_t", 2, false}, IntRow{"int32_t", 4, true},      IntRow{"uint32_t", 4, false},
    IntRow{"int64_t", 8, true},   IntRow{"uint64_t", 8, false},    IntRow{"size_t", 8, false},
    IntRow{"ssize_t", 8, true},   IntRow{"off_t", 8, true},        IntRow{"ptrdiff_t", 8, true},
    IntRow{"intptr_t", 8, true},  IntRow{"uintptr_t", 8, false},   IntRow{"pid_t", 4, true},
    IntRow{"mode_t", 4, false},   IntRow{"uid_t", 4, false},       IntRow{"socklen_t", 4, false},
    IntRow{"time_t", 8, true},    IntRow{"std::size_t", 8, false},
};
constexpr std::array<std::string_view, 4> kStrings = {"std::string", "string", "std::__cxx11::string",
                                                      "std::basic_string<char>"};

TypePointer FloatType(std::string name, uint64_t size) {
  return std::make_shared<Type>(Type{.kind = Type::Kind::kFloat,
                                     .name = std::move(name),
                                     .size = size,
                                     .alignment = size,
                                     .is_signed = true});
}

// The words of C in any order: "long unsigned int".
TypePointer FromWords(std::string_view name) {
  std::map<std::string_view, int> counts;
  size_t words = 0;
  for (std::string_view rest = name; !rest.empty(); ++words) {
    const size_t end = std::min(rest.find(' '), rest.size());
    ++counts[rest.substr(0, end)];
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const auto take = [&](std::string_view word) {
    const int count = counts[word];
    words -= static_cast<size_t>(count);
    return count;
  };
  const int unsigneds = take("unsigned");
  const int signeds = take("signed");
  const int longs = take("long");
  const int shorts = take("short");
  const int chars = take("char");
  const int ints = take("int");
  const int doubles = take("double");
  const int floats = take("float");
  if (words != 0 || unsigneds + signeds > 1 || longs > 2 || chars + ints + doubles + floats + shorts > 2)
    return nullptr;
  if (doubles == 1 && longs == 1) {
    return std::make_shared<Type>(
        Type{.kind = Type::Kind::kLongDouble, .name = std::string(name), .size = 16, .alignment = 16});
  }
  if (doubles + floats == 1 && longs + shorts + chars + ints + unsigneds == 0) {
    return FloatType(std::string(name), doubles == 1 ? 8 : 4);
  }
  if (doubles + floats > 0) return nullptr;
  const uint64_t size = chars > 0 ? 1 : shorts > 0 ? 2 : longs > 0 ? 8 : 4;
  return IntType(std::string(name), size, unsigneds == 0);
}

Status At(Position position, const std::string& message) {
  return Status(StatusCode::kInvalid,
                std::to_string(position.line) + ':' + std::to_string(position.column) + ": " + message);
}

}  // namespace

TypePointer DeclaredTypes::Find(std::string_view name) const {
  if (const auto found = structs_.find(name); found != structs_.end()) return found->second;
  if (name == "void") return std::make_shared<Type>(Type{.name = "void"});
  for (const IntRow& row : kInts) {
    if (row.name == name) return IntType(std::string(name), row.size, row.is_signed);
  }
  for (const std::string_view string : kStrings) {
    if (string != name) continue;
    return std::make_shared<Type>(
        Type{.kind = Type::Kind::kStdString, .name = std::string(name), .size = 32, .alignment = 8});
  }
  if (TypePointer type = FromWords(name); type != nullptr) return type;
  return source_ == nullptr ? nullptr : source_->FindType(name);
}

TypePointer DeclaredTypes::Complete(const TypePointer& type) const {
  if (type->kind != Type::Kind::kNamed) return type;
  TypePointer found = Find(type->name);
  return found == nullptr ? type : found;
}

Result<TypePointer> DeclaredTypes::Resolve(const TypeName& name) const {
  TypePointer type = Find(name.name);
  const bool is_indirect = name.pointers > 0 || name.is_reference;
  if (type == nullptr) {
    if (!is_indirect) {
      std::vector<std::string> known = {"int", "long", "char", "double", "float"};
      for (const auto& [declared, ignored] : structs_) known.push_back(declared);
      for (const IntRow& row : kInts) known.emplace_back(row.name);
      return At(name.position, "unknown type \"" + name.name + "\"" +
                                   NearestNames(name.name, std::move(known)) +
                                   "; a struct is declared as struct NAME { int member; }");
    }
    type = std::make_shared<Type>(Type{.kind = Type::Kind::kNamed, .name = name.name});
  }
  for (uint32_t i = 0; i < name.pointers + (name.is_reference ? 1 : 0); ++i) type = PointerTo(type);
  if (name.elements.has_value()) type = ArrayOf(type, *name.elements);
  return type;
}

Result<Signature> DeclaredTypes::Resolve(const DeclaredSignature& declared) const {
  Signature signature;
  for (const DeclaredParameter& parameter : declared.parameters) {
    TypePointer type = LAGWATCH_TRY(Resolve(parameter.type));
    if (type->kind == Type::Kind::kArray) type = PointerTo(type->inner);  // as C hands it over
    signature.parameters.push_back({parameter.name, Complete(type)});
  }
  if (declared.result.has_value()) signature.result = Complete(LAGWATCH_TRY(Resolve(*declared.result)));
  return signature;
}

Status DeclaredTypes::Declare(const DeclaredStruct& declared) {
  std::vector<Member> members;
  for (const DeclaredParameter& member : declared.members) {
    Result<TypePointer> type = Resolve(member.type);
    if (!type.ok()) return type.status();
    if (type.value()->kind == Type::Kind::kVoid) return At(member.type.position, "a member of type void");
    members.push_back({member.name, Complete(*type)});
  }
  TypePointer whole = StructOf(declared.name, std::move(members));
  if (whole->size > (1 << 20)) return At(declared.position, "this struct is larger than 1 MiB");
  if (!structs_.emplace(declared.name, std::move(whole)).second) {
    return At(declared.position, "the struct \"" + declared.name + "\" is declared twice");
  }
  return Status();
}

}  // namespace lagwatch::probe
