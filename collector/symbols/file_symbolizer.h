// SPDX-License-Identifier: Apache-2.0
// Symbolizes by files from several places, read by workers. Context: background. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "collector/symbols/answer_cache.h"
#include "collector/symbols/files/symbol_source.h"
#include "collector/symbols/names/symbolizer.h"
#include "collector/symbols/worker/worker_pool.h"

namespace lagwatch::collector {

struct FileSymbolizerLimits {
  size_t cache_bytes = 64 << 20;
  int64_t bad_file_s = 60 * 60;      // how long a file that broke its reader is left alone
  int64_t missing_file_s = 10 * 60;  // time until a missing file is requested again
};

class FileSymbolizer final : public Symbolizer {
 public:
  // Borrows all of them. Earlier sources come first; the debug file counts more than the executable.
  FileSymbolizer(std::vector<SymbolSource*> sources, WorkerPool* pool, FileSymbolizerLimits limits = {});

  base::Result<SymbolizedFrames> Symbolize(std::string_view build_id,
                                           std::span<const CodePlace> places) override;
  // Answers from memory; nothing if files have to be read.
  std::optional<base::Result<SymbolizedFrames>> TryFind(std::string_view build_id,
                                                        std::span<const CodePlace> places);
  void OnNewFile(std::function<void(std::string_view build_id)> callback) override;

  // `callback` is called with a build id and what its files lack for the places that were asked for, for a
  // person. To be set before other threads use this.
  void OnNote(std::function<void(const BuildId&, const std::string& note)> callback) {
    on_note_ = std::move(callback);
  }

  // A file has become known: earlier errors of its build id are forgotten.
  void NoteNewFile(const BuildId& build_id);

 private:
  struct Problem {
    base::Status status;
    int64_t until_mono_ns;
  };
  struct ModuleFiles {
    std::vector<base::OwnedFd> files;
    base::OwnedFd alt;
  };

  // The answers that the cache has, and the places that it lacks.
  std::vector<CodePlace> FindKnown(const BuildId& build_id, std::span<const CodePlace> places,
                                   std::map<CodePlace, std::vector<NamedFrame>>* frames);
  base::Result<SymbolizedFrames> Ask(const BuildId& build_id, const std::vector<CodePlace>& places);
  base::Result<WorkerAnswer> AskPool(const BuildId& build_id, const ModuleFiles& files,
                                     std::span<const CodePlace> places);
  ModuleFiles FindFiles(const BuildId& build_id);
  // The known problem of a build id.
  base::Status KnownProblem(const BuildId& build_id);
  base::Status Remember(const BuildId& build_id, base::Status status, int64_t time_s);

  const std::vector<SymbolSource*> sources_;
  WorkerPool* const pool_;
  const FileSymbolizerLimits limits_;
  std::function<void(std::string_view)> on_new_file_;
  std::function<void(const BuildId&, const std::string&)> on_note_;

  std::mutex mutex_;
  AnswerCache cache_;                    // guarded by mutex_
  std::map<BuildId, Problem> problems_;  // guarded by mutex_
  uint64_t new_files_ = 0;               // guarded by mutex_: answers older than a file are not kept
};

}  // namespace lagwatch::collector
