// SPDX-License-Identifier: Apache-2.0
// Places of files, by their paths alone: a class, the part of a path that a report may have, and the folder
// that most of several paths are below. Context: watchdog; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace lagwatch::policies {

// A path without "." and ".." and empty names, below `folder` if it is relative. Stays relative where
// `folder` is not known, and if it begins with "*/". Cut. Symbolic links are not followed.
class ResolvedPath {
 public:
  ResolvedPath() = default;
  ResolvedPath(std::string_view folder, std::string_view path);
  std::string_view view() const { return {text_, size_}; }

 private:
  void AddNames(std::string_view path);

  size_t size_ = 0;
  char text_[256] = "";
};

// Whether it is the path of a file, and nothing else that a link of /proc/PID/fd may show: "socket:[1]".
bool IsPath(std::string_view path);

// The word for a path's class, as in reports: "home", "program", "temporary" and so on. `path` is a
// ResolvedPath's, or what a link of /proc/PID/fd shows; `home` is the user's, if known. Empty for an empty
// path.
std::string_view FileClassOf(std::string_view path, std::string_view home = {});

// A path as a report may have it, of a ResolvedPath. Only what lies in the system's own folders is shown as
// it is. Of all other paths the first folder stays below a home, a removable disk or such a root, what a dot
// begins with the next one, and the end of the file's name: "/home/jane/Documents/taxes/2026.ods" is
// "/home/jane/Documents/…/*.ods". Of relative ones only that end does.
class ShownPath {
 public:
  ShownPath() = default;
  explicit ShownPath(std::string_view path, std::string_view home = {});
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
