// SPDX-License-Identifier: Apache-2.0
// Classes of Ruby 3.1's methods. Source: method.h, vm_core.h, internal/class.h, internal/imemo.h and st.h of
// Ruby, on 64-bit systems.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "stack/interpreters/memory.h"

namespace lagwatch::stack::ruby {

// Of an object's flags.
inline constexpr uint64_t kTypeMask = 0x1f;
inline constexpr uint64_t kInternal = 0x1a;

// Every object's type is checked before it is used. Context: watchdog; not thread-safe.
class ClassNames {
 public:
  // `text_class` is where the address of the class `String` is; 0: no class has a name. `memory` is borrowed.
  void Attach(Memory* memory, uint64_t text_class) {
    memory_ = memory;
    text_class_ = text_class;
    path_id_ = 0;
  }
  // Writes the class of the method that runs in `environment`, or whose block does, as it stands before the
  // method's name: "Orders#", or "Orders." for a method of the class itself. Returns the size; 0 for methods
  // of Object, of classes without a name and of single objects, and where no method runs.
  size_t ReadOwner(uint64_t environment, std::span<char> text);

 private:
  // The method entry of an environment; 0 if no method runs.
  uint64_t FindMethod(uint64_t environment);
  // Shows the names and values of what a class keeps for itself, until `visit` returns true.
  template <typename Visit>
  bool VisitVariables(uint64_t owner, Visit visit);
  size_t ReadPath(uint64_t owner, std::span<char> text);
  uint64_t FlagsOf(uint64_t object);

  Memory* memory_ = nullptr;
  uint64_t text_class_ = 0;
  uint64_t path_id_ = 0;  // by which a class keeps its name; 0: not yet known
};

// Writes the characters of a text without control characters, the end or the begin of one that is too long.
// Returns the size; 0 if `object` is no text.
size_t ReadText(Memory* memory, uint64_t object, std::span<char> text, bool keeps_end);

}  // namespace lagwatch::stack::ruby
