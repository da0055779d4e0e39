// SPDX-License-Identifier: Apache-2.0
// The collector's work with symbols: docs/symbols.md. Context: background.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collector/symbols/background_symbolizer.h"
#include "collector/symbols/file_symbolizer.h"
#include "collector/symbols/files/symbol_files.h"
#include "collector/symbols/files/symbol_source.h"
#include "collector/symbols/worker/worker_pool.h"

namespace lagwatch::collector {

struct SymbolOptions {
  std::string data_directory = {};            // DATA: files come into DATA/symbols
  std::vector<std::string> directories = {};  // with files of this machine
  std::vector<std::string> debuginfod_urls = {};
  SymbolFileLimits limits = {};
  CacheLimits debuginfod_limits = {};
  WorkerOptions workers = {};
};

class SymbolService {
 public:
  // To be called before there are other threads (see DebuginfodServers). Errors: kIo, kUnavailable,
  // kInternal.
  static base::Result<std::unique_ptr<SymbolService>> Open(const SymbolOptions& options);

  // For uploads of files; SymbolsApi answers them.
  SymbolFiles* files() { return files_.get(); }
  // Ends downloads, so that what works in the background can end. Thread-safe.
  void Stop();
  // For what works in the background: it waits for files, processes and servers.
  Symbolizer* symbolizer() { return symbolizer_.get(); }
  // For what answers people: it never waits.
  BackgroundSymbolizer* reader_symbolizer() { return reader_symbolizer_.get(); }

 private:
  explicit SymbolService(const WorkerOptions& workers) : pool_(workers) {}

  base::Status OpenFiles(const SymbolOptions& options);
  base::Status OpenSources(const SymbolOptions& options);
  base::Result<std::string> CheckFile(int fd, const BuildId& build_id);
  base::Result<std::string> CheckMapping(int fd, const BuildId& build_id);

  WorkerPool pool_;
  std::unique_ptr<SymbolFiles> files_;
  std::vector<std::unique_ptr<SymbolSource>> sources_;
  DebuginfodServers* debuginfod_ = nullptr;  // one of them, or null
  std::unique_ptr<FileSymbolizer> symbolizer_;
  std::unique_ptr<BackgroundSymbolizer> reader_symbolizer_;
};

}  // namespace lagwatch::collector
