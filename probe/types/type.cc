// SPDX-License-Identifier: Apache-2.0
#include "probe/types/type.h"

#include <algorithm>
#include <utility>

namespace lagwatch::probe {

TypePointer IntType(std::string name, uint64_t size, bool is_signed) {
  const bool is_char = size == 1 && name.find("char") != std::string::npos;
  return std::make_shared<Type>(Type{.kind = Type::Kind::kInt,
                                     .name = std::move(name),
                                     .size = size,
                                     .alignment = size,
                                     .is_signed = is_signed,
                                     .is_char = is_char});
}

TypePointer PointerTo(TypePointer inner) {
  std::string name = inner->name + '*';
  return std::make_shared<Type>(Type{.kind = Type::Kind::kPointer,
                                     .name = std::move(name),
                                     .size = 8,
                                     .alignment = 8,
                                     .inner = std::move(inner)});
}

TypePointer ArrayOf(TypePointer element, uint64_t count) {
  return std::make_shared<Type>(Type{.kind = Type::Kind::kArray,
                                     .name = element->name + '[' + std::to_string(count) + ']',
                                     .size = element->size * count,
                                     .alignment = element->alignment,
                                     .inner = element});
}

TypePointer StructOf(std::string name, std::vector<Member> members) {
  Type type{.kind = Type::Kind::kStruct, .name = std::move(name)};
  for (Member& member : members) {
    const uint64_t alignment = std::max<uint64_t>(1, member.type->alignment);
    type.size = (type.size + alignment - 1) / alignment * alignment;
    member.offset = type.size;
    type.size += member.type->size;
    type.alignment = std::max(type.alignment, alignment);
  }
  type.size = (type.size + type.alignment - 1) / type.alignment * type.alignment;
  type.members = std::move(members);
  return std::make_shared<Type>(std::move(type));
}

bool IsCString(const Type& type) { return type.kind == Type::Kind::kPointer && type.inner->is_char; }

}  // namespace lagwatch::probe
