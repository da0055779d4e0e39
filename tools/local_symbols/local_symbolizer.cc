// SPDX-License-Identifier: Apache-2.0
#include "tools/local_symbols/local_symbolizer.h"

#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

namespace lagwatch::tools {
namespace {

// More than a collector's limit: a person waits for the names, and has large files on purpose.
constexpr std::chrono::seconds kMostForNames{60};

std::string VariableOr(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

std::vector<collector::SymbolSource*> Sources(LocalModules* modules,
                                              collector::DebuginfodServers* debuginfod) {
  std::vector<collector::SymbolSource*> sources = {modules};
  if (debuginfod != nullptr) sources.push_back(debuginfod);
  return sources;
}

}  // namespace

base::Result<std::unique_ptr<collector::DebuginfodServers>> ConnectToDebuginfod() {
  const std::string urls = VariableOr("DEBUGINFOD_URLS", "");
  if (urls.empty()) {
    return base::Status(base::StatusCode::kInvalid,
                        "no debuginfod server is known: DEBUGINFOD_URLS must have the URLs of some");
  }
  const std::string cache =
      VariableOr("XDG_CACHE_HOME", VariableOr("HOME", "/tmp") + "/.cache") + "/lagwatch/debuginfod";
  std::error_code ignored;  // libdebuginfod says so when it cannot keep files
  std::filesystem::create_directories(cache, ignored);
  return collector::DebuginfodServers::Create(urls, cache);
}

base::Result<std::unique_ptr<LocalSymbolizer>> LocalSymbolizer::Create(
    const LocalSymbolizerOptions& options) {
  std::unique_ptr<collector::DebuginfodServers> debuginfod;
  if (options.asks_debuginfod) debuginfod = LAGWATCH_TRY(ConnectToDebuginfod());
  return std::unique_ptr<LocalSymbolizer>(new LocalSymbolizer(options, std::move(debuginfod)));
}

LocalSymbolizer::LocalSymbolizer(const LocalSymbolizerOptions& options,
                                 std::unique_ptr<collector::DebuginfodServers> debuginfod)
    : pool_({.program = options.worker_program,
             .argument = collector::kLocalWorkerArgument,
             .workers = 1,
             .batch_timeout = kMostForNames,
             .inspect_timeout = kMostForNames}),
      modules_(options.root),
      debuginfod_(std::move(debuginfod)),
      symbolizer_(Sources(&modules_, debuginfod_.get()), &pool_) {
  symbolizer_.OnNote([this](const collector::BuildId& build_id, const std::string& note) {
    const std::lock_guard lock(mutex_);
    std::string text = modules_.PathOf(build_id) + ": " + note;
    if (known_notes_.insert(text).second) new_notes_.push_back(std::move(text));
  });
}

base::Result<collector::SymbolizedFrames> LocalSymbolizer::Symbolize(
    std::string_view build_id, std::span<const collector::CodePlace> places) {
  return symbolizer_.Symbolize(build_id, places);
}

void LocalSymbolizer::NoteModule(std::string_view build_id, const std::string& path) {
  const auto id = collector::BuildId::FromBytes(build_id);
  if (id && modules_.Add(*id, path)) symbolizer_.NoteNewFile(*id);
}

std::vector<std::string> LocalSymbolizer::TakeNotes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(new_notes_, {});
}

void LocalSymbolizer::OnNewFile(std::function<void(std::string_view build_id)> callback) {
  symbolizer_.OnNewFile(std::move(callback));
}

}  // namespace lagwatch::tools
