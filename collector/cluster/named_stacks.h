// SPDX-License-Identifier: Apache-2.0
// Names a report's stacks for clustering. Context: background. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collector/symbols/names/frame_names.h"
#include "policies/cluster/cluster_key.h"
#include "report/format/report.h"

namespace lagwatch::collector {

class NamedStacks {
 public:
  // Borrows all three.
  NamedStacks(const report::Report& report, const FrameNamer& namer, const policies::ClusterRules& rules)
      : report_(report), namer_(namer), rules_(rules) {}

  // The significant names of the hang, innermost first: of its expensive stack those that its samples
  // agree on. Of a hang whose expensive stack has none, because it could not be unwound far enough, those
  // of its samples.
  std::vector<std::string> CauseNames() const;
  // The names of the stack of the thread that holds the lock at the end of the chain that the watched thread
  // waits in; of a deadlock, the first holder. Empty if it is unknown.
  std::vector<std::string> HolderNames() const;

  // A stack's position for people: its innermost function of a script; else the one that is neither a wait
  // nor a library's inside; of a stack of only these, its innermost function. Empty without a stack.
  std::string PlaceOf(const report::Stack& stack) const;

  // When no name of `cause` is a symbol's, the innermost of the hang's own callers that has one, as people
  // read it; else empty.
  std::string FindVia(const std::vector<std::string>& cause) const;

 private:
  struct Function {
    std::string name;  // normalized for clustering
    std::string readable;
    bool is_symbol;
    bool is_inside_library;  // where in a library is not known
    bool is_script;
    policies::FrameRole role;
  };

  // The functions of a frame.
  struct Functions {
    std::string_view file;
    std::vector<Function> innermost_first;  // inlined ones included
  };

  const Functions& FunctionsOf(const report::Frame& frame) const;
  Function ToFunction(NamedFrame named, std::string_view file) const;
  std::vector<policies::ClusterFunction> FramesOf(const report::Stack& stack) const;
  // These borrow from `named_`.
  std::vector<std::string_view> SignificantNamesOf(const report::Stack& stack) const;
  // Of all samples, oldest first.
  std::vector<policies::SeenNames> SampleNames() const;
  // Of the stack seen most, of those that have any.
  std::vector<std::string_view> MostSeenNames() const;

  const report::Report& report_;
  const FrameNamer& namer_;
  const policies::ClusterRules& rules_;
  // By module and offset: most frames are in all of a hang's samples.
  mutable std::map<std::pair<uint32_t, uint64_t>, Functions> named_;
};

}  // namespace lagwatch::collector
