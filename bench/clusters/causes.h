// SPDX-License-Identifier: Apache-2.0
// Causes of hangs, described as a program's author would: by the calls and by the functions that
// take the time.
//
// A file of causes has these lines, and comments after a first `#`; a path is functions joined by " >
// ", outermost first:
//   base NAME = PATH              a beginning that other paths name
//   cause NAME VERDICT            NAME begins with the program's, up to its first dot
//     path PATH                   one of the ways that lead there; each is taken as often as the others
//     leaf WEIGHT [PATH]          where a sample may find it below the path; without PATH in its last
//     function tail WEIGHT LIBRARY         … in what the standard library does for it: a tail of tails.txt
//     owner PATH                  for locks: the owner; then ownerleaf, ownertail likewise
// A function is `name` (C), `ns::Name` (C++, `(anon)` being the anonymous namespace), `ns::Name<T>` (with
// changing template arguments), `ns::Name.actor` (a coroutine), `rust:crate::name` or `@NUMBER` (without
// a name). Before it may stand its module (`libgtk-3.so.0:gtk_main`), after it `~` if compilers may
// inline it, `#NUMBER` for a lambda in it, called through std::function, and `*NUMBER` if it calls itself
// up to so often.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "policies/verdict.h"

namespace lagwatch::clusters {

struct Function {
  std::string module;  // empty: the program
  std::string name;
  bool is_small = false;
  bool is_rust = false;
  int lambda = 0;
  int depth = 1;
};
using Path = std::vector<Function>;  // outermost first

struct Ending {
  int weight = 0;
  std::string library;  // empty: `path`
  Path path;
};

// A thread that is where it is again and again, now here and now there below.
struct Place {
  std::vector<Path> paths;
  std::vector<Ending> endings;  // none: in the paths' last function
};

struct Cause {
  std::string name;
  policies::VerdictWord verdict = policies::VerdictWord::kUnknown;
  Place place;
  Place owner;  // of a lock; no path: none

  std::string program() const { return name.substr(0, name.find('.')); }
};

base::Result<std::vector<Cause>> ReadCauses(const std::string& file);

// Recorded from gdb: what the standard libraries' functions look like below a program's own, innermost first.
// tails.txt: `symbol NAME` numbers names from 0; `tail LIBRARY FLAVOUR NUMBER…` is one recorded stack.
class Tails {
 public:
  using Symbols = std::vector<std::string>;

  static base::Result<Tails> Read(const std::string& file);
  // Those of `library` in code of that `flavour` ("gcc-O2"); not empty.
  const std::vector<Symbols>& Of(const std::string& library, const std::string& flavour) const;

 private:
  std::map<std::pair<std::string, std::string>, std::vector<Symbols>> tails_;
};

}  // namespace lagwatch::clusters
