// SPDX-License-Identifier: Apache-2.0
// Names frames by files of this machine, with the collector's reader of symbol files. Context: background.
// Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "collector/symbols/file_symbolizer.h"
#include "collector/symbols/files/symbol_source.h"
#include "collector/symbols/names/symbolizer.h"
#include "collector/symbols/worker/worker_pool.h"
#include "tools/local_symbols/local_modules.h"

namespace lagwatch::tools {

struct LocalSymbolizerOptions {
  // A program that runs a symbol worker when its argument is kLocalWorkerArgument.
  std::string worker_program = "/proc/self/exe";
  // See sdk::RootOfSpool().
  std::string root = {};
  // Also asks the servers in DEBUGINFOD_URLS, which learn the modules' build ids.
  bool asks_debuginfod = false;
};

// The servers in DEBUGINFOD_URLS, with their files kept in this user's cache. To be called before other
// threads exist. Errors: kInvalid if the variable names none.
base::Result<std::unique_ptr<collector::DebuginfodServers>> ConnectToDebuginfod();

class LocalSymbolizer final : public collector::Symbolizer {
 public:
  // With `asks_debuginfod` to be called before other threads exist, and after all that inherits the
  // environment was started. Errors: those of ConnectToDebuginfod().
  static base::Result<std::unique_ptr<LocalSymbolizer>> Create(const LocalSymbolizerOptions& options = {});

  base::Result<collector::SymbolizedFrames> Symbolize(std::string_view build_id,
                                                      std::span<const collector::CodePlace> places) override;
  void NoteModule(std::string_view build_id, const std::string& path) override;
  // Says of files that they lack something, for a person: "/opt/app: inlined calls are not shown: …". Each is
  // returned once.
  std::vector<std::string> TakeNotes();
  void OnNewFile(std::function<void(std::string_view build_id)> callback) override;

 private:
  LocalSymbolizer(const LocalSymbolizerOptions& options,
                  std::unique_ptr<collector::DebuginfodServers> debuginfod);

  collector::WorkerPool pool_;
  LocalModules modules_;
  std::unique_ptr<collector::DebuginfodServers> debuginfod_;  // may be null
  collector::FileSymbolizer symbolizer_;
  std::mutex mutex_;
  std::set<std::string> known_notes_;   // guarded by mutex_
  std::vector<std::string> new_notes_;  // likewise
};

}  // namespace lagwatch::tools
