// SPDX-License-Identifier: Apache-2.0
// Places of files, by their paths alone: a class, the part of a path that a report may have, and the folder
// that most of several paths are below. Context: watchdog; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace lagwatch::policies {

// The word for a path's class, as in reports: "home", "program", "temporary" and so on. `path` may also be
// what a link of /proc/PID/fd shows: "socket:[1]". Empty for an empty path.
std::string_view FileClassOf(std::string_view path);

// A path as a report may have it. The names of a user's own files are left out: below a home or a removable
// disk only the first folder stays, what a dot begins with the next one, and the end of the file's name:
// "/home/jane/Documents/taxes/2026.ods" is "/home/jane/Documents/…/*.ods".
class ShownPath {
 public:
  explicit ShownPath(std::string_view path);
  const char* c_str() const { return text_; }

 private:
  void Append(std::string_view part);

  static constexpr size_t kMaxBytes = 160;
  size_t size_ = 0;
  char text_[kMaxBytes] = "";
};

struct CommonFolder {
  std::string_view folder;  // with its last slash, of one of the paths; empty: there is none
  int32_t percent = 0;      // of the paths that are below it
};
// The innermost folder that three quarters of the paths are below.
CommonFolder FindCommonFolder(std::span<const std::string_view> paths);

}  // namespace lagwatch::policies
