// SPDX-License-Identifier: Apache-2.0
// The symbol files of this machine: modules where reports say that they are, and their debug files, where
// debuggers look for those. Context: background. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/owned_fd.h"
#include "collector/symbols/files/symbol_source.h"
#include "sdk/run/local_paths.h"

namespace lagwatch::tools {

class LocalModules final : public collector::SymbolSource {
 public:
  // `root`: see sdk::RootOfSpool().
  explicit LocalModules(std::string root = {}, std::string debug_root = "/usr/lib/debug")
      : debug_root_(std::move(debug_root)), local_paths_(std::move(root)) {}

  // The module of this build id may be at `path`. A file there with another build id is not used. Returns
  // whether that was not known.
  bool Add(const collector::BuildId& build_id, const std::string& path);

  // A path that was given for it; empty: none was.
  std::string PathOf(const collector::BuildId& build_id);

  // The debug file is the module itself if it has debug information; else ROOT/.build-id/ab/cdef….debug, or
  // the file that its .gnu_debuglink names: beside it, in .debug there, or below ROOT.
  base::OwnedFd OpenFile(const collector::BuildId& build_id, collector::SymbolKind kind) override;

 private:
  struct File {
    base::OwnedFd fd;
    bool has_dwarf = false;
    std::string debug_link = {};  // the name of its debug file; may be empty
  };

  static std::optional<File> Open(const std::string& path, const collector::BuildId& build_id);
  // That has debug information.
  base::OwnedFd OpenDebugFile(const collector::BuildId& build_id, const std::string& path,
                              const std::string& debug_link) const;

  const std::string debug_root_;
  std::mutex mutex_;
  sdk::LocalPaths local_paths_;                                // guarded by mutex_
  std::map<collector::BuildId, std::set<std::string>> paths_;  // likewise
};

}  // namespace lagwatch::tools
