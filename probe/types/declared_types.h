// SPDX-License-Identifier: Apache-2.0
// The types that a script names: those of C, its own structs, and those of a type source. Context:
// background.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/status.h"
#include "probe/language/tree.h"
#include "probe/types/type.h"

namespace lagwatch::probe {

class DeclaredTypes {
 public:
  // `source`, which may be null, outlives this object.
  explicit DeclaredTypes(const TypeSource* source) : source_(source) {}

  // Errors are kInvalid with "LINE:COLUMN: MESSAGE".
  Status Declare(const DeclaredStruct& declared);
  Result<TypePointer> Resolve(const TypeName& name) const;
  Result<Signature> Resolve(const DeclaredSignature& declared) const;
  // A kNamed type with its members, if they are known; other types as they are.
  TypePointer Complete(const TypePointer& type) const;

 private:
  TypePointer Find(std::string_view name) const;

  const TypeSource* source_;
  std::map<std::string, TypePointer, std::less<>> structs_;
};

}  // namespace lagwatch::probe
