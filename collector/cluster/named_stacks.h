// SPDX-License-Identifier: Apache-2.0
// Names a report's stacks for clustering. Context: background. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "collector/symbols/names/frame_names.h"
#include "policies/cluster/cluster_key.h"
#include "policies/cluster/program_files.h"
#include "report/format/report.h"

namespace lagwatch::collector {

// Of a readable name (symbols/function_name.h), what stays the same from build to build and from compiler
// to compiler: without template arguments and the symbol's version (`@GLIBC_2.2.5`, `@plt`). A lambda, a
// closure and what std::function calls one by are the function that they are written in, because compilers
// number lambdas as they like and inline them. A method of a Rust trait is the type's: `<Index as
// Handler>::handle` is `Index::handle`.
std::string CauseName(std::string_view readable);

// Of a file's name, what stays the same from version to version: `libfoo.so.1.2` and
// `libfoo-1.2.so` are `libfoo.so`.
std::string CauseModule(std::string_view file_name);

class NamedStacks {
 public:
  // Borrows all three.
  NamedStacks(const report::Report& report, const FrameNamer& namer, const policies::ClusterRules& rules);

  // The significant names of the hang, innermost first: of its expensive stack those that its samples
  // agree on. Of a hang whose expensive stack has none, because it could not be unwound far enough, those
  // of its samples.
  std::vector<std::string> CauseNames() const;
  // The names of the stack of the thread that holds the lock at the end of the chain that the watched thread
  // waits in; of a deadlock, the first holder. Empty if it is unknown.
  std::vector<std::string> HolderNames() const;

  // A stack's position for people: its innermost function of a script; else the one that is neither a wait
  // nor a library's inside, of a loop in a synchronous call the caller; of a stack of only these, its
  // innermost function. Empty without a stack.
  std::string PlaceOf(const report::Stack& stack) const;

  // The functions of a frame, those that were inlined into it first.
  struct FrameFunction {
    bool is_own;          // of the program itself: no wait, loop, library, interpreter or system
    std::string package;  // the file of its code, or of a script its package: "libfoo.so", "express"
  };
  std::vector<FrameFunction> DescribeFrame(const report::Frame& frame) const;

  // When no name of `cause` is a symbol's, the innermost of the hang's own callers that has one, as people
  // read it; else empty.
  std::string FindVia(const std::vector<std::string>& cause) const;

 private:
  struct NamedFunction {
    std::string name;  // normalized for clustering
    std::string readable;
    bool is_symbol;
    bool is_inside_library;  // where in a library is not known
    bool is_script;
    policies::FrameRole role;
  };

  // The functions of a frame.
  struct FrameFunctions {
    std::string_view file;
    std::vector<NamedFunction> innermost_first;  // inlined ones included
  };

  const FrameFunctions& FunctionsOf(const report::Frame& frame) const;
  bool IsOfLibrary(std::string_view path) const;
  bool IsOfGo() const;
  NamedFunction ToFunction(NamedFrame named, std::string_view path) const;
  std::vector<policies::ClusterFunction> FramesOf(const report::Stack& stack) const;
  // Of a stack whose innermost function runs a loop: the function that waits by that; none if nothing does.
  std::optional<std::string> CallerOfLoop(const report::Stack& stack) const;
  // These borrow from `named_`.
  std::vector<std::string_view> SignificantNamesOf(const report::Stack& stack) const;
  // Of all samples, oldest first. For names of the program's `own`, those that could not be unwound up to
  // such have none.
  std::vector<policies::SeenNames> SampleNames(bool are_own) const;
  // Of the stack seen most, of those that have functions of the program's own, else of those that have names;
  // and whether they are its own.
  std::pair<std::vector<std::string_view>, bool> MostSeenNames() const;

  const report::Report& report_;
  const FrameNamer& namer_;
  const policies::ClusterRules& rules_;
  const policies::ProgramFiles program_files_;
  mutable std::optional<bool> is_of_go_;  // once it was asked
  // By module, offset and function, which all give the name: most frames are in all of a hang's samples.
  mutable std::map<std::tuple<uint32_t, uint64_t, uint64_t>, FrameFunctions> named_;
};

}  // namespace lagwatch::collector
