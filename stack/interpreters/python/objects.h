// SPDX-License-Identifier: Apache-2.0
// Python objects in memory: texts and dicts. Source: CPython, Include/cpython/unicodeobject.h,
// Objects/dictobject.c.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stack/interpreters/exported_symbols.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/python/layout.h"

namespace lagwatch::stack::python {

inline constexpr uint64_t kTypeOffset = 8;     // in an object
inline constexpr uint64_t kLengthOffset = 16;  // in a text and in bytes

// The interpreter's own objects. 0: not found.
struct Symbols {
  uint64_t runtime;  // _PyRuntime
  uint64_t code_type;
  uint64_t text_type;
  uint64_t bytes_type;
  uint64_t number_type;
  uint64_t dict_type;
  uint64_t module_type;
  uint64_t coroutine_type;
  uint64_t function_type;  // of functions in C
  uint64_t version;        // Py_Version; missing until 3.10

  static Symbols Of(const ExportedSymbols& exports);
};

// Every object's type is checked before it is used. Context: watchdog; not thread-safe.
class Objects {
 public:
  // `memory` and `layout` are borrowed.
  void Attach(Memory* memory, const Symbols& symbols, const PythonLayout* layout) {
    memory_ = memory;
    symbols_ = symbols;
    layout_ = layout;
  }
  Memory& memory() const { return *memory_; }
  const Symbols& symbols() const { return symbols_; }

  bool IsOfType(uint64_t object, uint64_t type);
  // Writes the end of a text as UTF-8 without control characters. Returns the size, cut to fit; 0 if it is no
  // text.
  size_t ReadText(uint64_t object, char* text, size_t size_bytes);
  // Whether `object` is that text, of ASCII, in one read.
  bool IsText(uint64_t object, std::string_view text);
  // The value of a small integer that is not negative; -1 if that is not one. Since 3.12.
  int64_t ReadNumber(uint64_t object);

  // The number of a dict's entries; -1 if that is not one.
  int64_t CountOf(uint64_t dict);
  // Shows the keys and values of a dict, until `visit` returns true. Returns whether it did.
  template <typename Visit>
  bool VisitDict(uint64_t dict, Visit visit);
  // The value of that key; 0 if there is none.
  uint64_t FindInDict(uint64_t dict, std::string_view key);

 private:
  static constexpr uint64_t kMostEntries = 1 << 13;
  static constexpr size_t kEntriesRead = 64;  // at once

  // A dict's entries: a hash, in some, a key and a value.
  struct Entries {
    uint64_t address;
    uint64_t count;
    size_t words;  // of an entry
  };
  bool FindEntries(uint64_t dict, Entries* entries);

  Memory* memory_ = nullptr;
  Symbols symbols_{};
  const PythonLayout* layout_ = nullptr;
};

template <typename Visit>
bool Objects::VisitDict(uint64_t dict, Visit visit) {
  Entries entries;
  if (!FindEntries(dict, &entries)) return false;
  uint64_t words[kEntriesRead * 3];
  const uint64_t entry_bytes = entries.words * sizeof words[0];
  for (uint64_t i = 0; i < entries.count; i += kEntriesRead) {
    const uint64_t count = entries.count - i < kEntriesRead ? entries.count - i : kEntriesRead;
    if (!memory_->Read(entries.address + i * entry_bytes, words, count * entry_bytes)) return false;
    for (uint64_t j = 0; j < count; ++j) {
      const uint64_t* end = words + (j + 1) * entries.words;
      if (end[-2] != 0 && end[-1] != 0 && visit(end[-2], end[-1])) return true;
    }
  }
  return false;
}

}  // namespace lagwatch::stack::python
