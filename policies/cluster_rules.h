// SPDX-License-Identifier: Apache-2.0
// Classifies functions as significant or not, by rule files (policies/cluster_rules/).
// Context: background; pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace lagwatch::policies {

// Beginnings of texts, of which none begins with another.
class PrefixSet {
 public:
  void Add(std::string_view prefix);
  bool HasPrefixOf(std::string_view text) const;

 private:
  std::vector<std::string> prefixes_;  // sorted
};

// Ends of texts, of which none ends with another.
class SuffixSet {
 public:
  void Add(std::string_view suffix);
  bool HasSuffixOf(std::string_view text) const;

 private:
  std::vector<std::string> suffixes_;  // sorted as if read backwards
};

// Names of functions or files. `*` matches any text where it stands, once in a name.
class FrameList {
 public:
  void Add(std::string_view pattern);
  bool Contains(std::string_view name) const;

 private:
  std::vector<std::string> names_;  // sorted
  PrefixSet prefixes_;
  SuffixSet suffixes_;
  struct Ends {
    std::string prefix;
    std::string suffix;
  };
  std::vector<Ends> ends_;  // of the patterns with `*` inside
};

// Functions that only wait.
using WaitFrames = FrameList;

enum class FrameRole {
  kSignificant,
  kLibrary,  // of a library that many programs have: counts where no function of the program's own does
  kSkipped,  // the same whatever froze: a wait, a library's inside, the way a callback is called
  kSignal,   // a signal interrupted the thread there: frames further out only happened to run
  kLoop,     // of an event loop: an end, and where a loop in a call has nothing to do, a wait of its caller
  kEnd,      // what a loop is called by: further out there is nothing of the cause
};

// Whether functions of that role may name a cause.
constexpr bool IsNameable(FrameRole role) {
  return role == FrameRole::kSignificant || role == FrameRole::kLibrary;
}

// A rule file has a name a line under one of these headings; `#` begins a comment:
//   [waits]      functions that only wait; they are skipped, and dropped from the inner end in raw mode
//   [skipped]    functions that are skipped
//   [modules]    files, of scripts too, all of whose functions are skipped
//   [libraries]  files, by name or path, and functions of libraries that count only where nothing of the
//                program's own does
//   [packages]   the same of Go's packages, whose names mean something else in other languages: only in a
//                program of Go
//   [signals]    functions that the kernel returns to from a signal's handler
//   [interpreters]  programs whose functions are skipped where a script called them
//   [ends]       functions that end a stack
//   [loops]      functions of event loops, which end a stack, too; a call that runs a loop until its answer
//                comes waits there
class ClusterRules {
 public:
  // Adds the rules of one file's text. Error: kInvalid with the line's number.
  base::Status Add(std::string_view text);

  // `function` is the readable or the normalized name; `module` the name of its file.
  FrameRole RoleOf(std::string_view function, std::string_view module) const;
  // Whether a file's name or path, or a function, is that of a library.
  bool IsLibrary(std::string_view name) const { return libraries_.Contains(name); }
  bool IsPackage(std::string_view function) const { return packages_.Contains(function); }
  bool IsInterpreter(std::string_view module) const { return interpreters_.Contains(module); }
  const WaitFrames& waits() const { return waits_; }

 private:
  base::Result<FrameList*> ListOf(std::string_view heading);

  WaitFrames waits_;
  FrameList skipped_;
  FrameList modules_;
  FrameList libraries_;
  FrameList packages_;
  FrameList signals_;
  FrameList interpreters_;
  FrameList ends_;
  FrameList loops_;
};

}  // namespace lagwatch::policies
