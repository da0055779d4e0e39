// SPDX-License-Identifier: Apache-2.0
// Finds the original names of frames in a mapping (mapping.txt) of R8 or ProGuard. The format is that of
// ProGuard's manual and of R8's doc/retrace.md. It parses untrusted files: outside of tests it runs in the
// worker only (collector/symbols/worker). Context: background. Not thread-safe.
//
//   org.shop.Cart -> a.b:                            the class a.b was org.shop.Cart
//   # {"id":"sourceFile","fileName":"Cart.kt"}       its file
//       int items -> a                               a field
//       1:4:int total():40:43 -> a                   lines 1 to 4 of a() are lines 40 to 43 of total()
//       5:5:void org.shop.Tax.add(int):7:7 -> a      line 5 is line 7 of a function that was inlined …
//       5:5:int total():44 -> a                      … at line 44 of total()
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "collector/symbols/elf/named_frame.h"
#include "collector/symbols/mapping/member_line.h"

namespace lagwatch::collector {

class MappingReader {
 public:
  // Maps the file into memory and finds its classes. Errors: kInvalid if it is no mapping, with the line.
  static base::Result<std::unique_ptr<MappingReader>> Open(int fd);
  ~MappingReader();
  MappingReader(const MappingReader&) = delete;
  MappingReader& operator=(const MappingReader&) = delete;

  // The id that R8 gave it ("# pg_map_id: ID"); empty without one.
  std::string_view map_id() const { return map_id_; }

  // The frames at a line (0: not known) of a function, "PACKAGE.CLASS.METHOD" as the program has it;
  // innermost first. None if the class is not in the mapping; one without a name if its compiler made the
  // frame up. A file is named only where the mapping has it. Several methods that may
  // be meant share a frame, "PACKAGE.CLASS.LOAD|SAVE".
  std::vector<NamedFrame> FramesAt(std::string_view function, uint64_t line) const;

 private:
  struct Class {
    std::string_view original;
    std::string_view renamed;
    std::string_view body;  // the lines up to the next class
  };
  using Group = std::span<const MemberLine>;

  MappingReader(std::string_view text) : text_(text) {}

  base::Status FindClasses();
  const Class* FindRenamed(std::string_view name) const;
  std::string_view SourceFileOf(std::string_view original) const;
  NamedFrame FrameOf(const Class& owner, const MemberLine& member, uint64_t line) const;
  std::vector<NamedFrame> FramesOfGroup(const Class& owner, Group group, uint64_t line) const;
  std::vector<NamedFrame> Alternatives(const Class& owner, const std::vector<const MemberLine*>& members,
                                       uint64_t line) const;

  std::string_view text_;
  std::string_view map_id_;
  std::vector<Class> classes_;             // by renamed
  std::vector<const Class*> by_original_;  // of classes_
};

}  // namespace lagwatch::collector
