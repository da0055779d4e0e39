// SPDX-License-Identifier: Apache-2.0
// Distinguishes a program's own libraries from those of the system that they are installed among.
// Context: background; pure.
#pragma once

#include <string>
#include <string_view>

namespace lagwatch::policies {

class ProgramFiles {
 public:
  // `path` is the program's file; empty when it is not known: then no library is its own.
  explicit ProgramFiles(std::string_view path);

  // Whether the file at `path`, below a system's folder of libraries, is part of the program: it is in the
  // folder of the program's package (`/usr/lib/firefox/`), or named after it (`libgimpwidgets-2.0.so.0` of
  // `gimp-2.10`).
  bool Has(std::string_view path) const;
  bool IsProgram(std::string_view path) const { return !path_.empty() && path == path_; }

 private:
  std::string path_;
  std::string_view name_;  // without its version; empty if it says too little
};

}  // namespace lagwatch::policies
