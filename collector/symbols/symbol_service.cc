// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/symbol_service.h"

#include "collector/symbols/mapping/mapping_id.h"

namespace lagwatch::collector {

base::Result<std::unique_ptr<SymbolService>> SymbolService::Open(const SymbolOptions& options) {
  std::unique_ptr<SymbolService> service(new SymbolService(options.workers));
  if (Status opened = service->OpenFiles(options); !opened.ok()) return opened;
  if (Status opened = service->OpenSources(options); !opened.ok()) return opened;
  std::vector<SymbolSource*> sources;
  for (const auto& source : service->sources_) sources.push_back(source.get());
  service->symbolizer_ = std::make_unique<FileSymbolizer>(std::move(sources), &service->pool_);
  FileSymbolizer* symbolizer = service->symbolizer_.get();
  service->reader_symbolizer_ = std::make_unique<BackgroundSymbolizer>(symbolizer);
  service->files_->OnNewFile([symbolizer](const BuildId& build_id) { symbolizer->NoteNewFile(build_id); });
  return service;
}

Status SymbolService::OpenFiles(const SymbolOptions& options) {
  auto files = SymbolFiles::Open(options.data_directory + "/symbols", options.limits,
                                 [this](int fd, const BuildId& build_id) { return CheckFile(fd, build_id); });
  if (!files.ok()) return files.status();
  files_ = std::move(*files);
  sources_.push_back(std::make_unique<UploadedSymbols>(files_.get()));
  return {};
}

Status SymbolService::OpenSources(const SymbolOptions& options) {
  for (const std::string& path : options.directories) {
    sources_.push_back(LAGWATCH_TRY(SymbolDirectory::Open(path, &pool_)));
  }
  if (options.debuginfod_urls.empty()) return {};
  std::string urls;
  for (const std::string& url : options.debuginfod_urls) urls += url + " ";
  auto servers = LAGWATCH_TRY(
      DebuginfodServers::Create(urls, options.data_directory + "/debuginfod", options.debuginfod_limits));
  debuginfod_ = servers.get();
  sources_.push_back(std::move(servers));
  return {};
}

void SymbolService::Stop() {
  if (debuginfod_ != nullptr) debuginfod_->Stop();
}

base::Result<std::string> SymbolService::CheckFile(int fd, const BuildId& build_id) {
  if (IsMappingId(build_id.bytes())) return CheckMapping(fd, build_id);
  auto facts = LAGWATCH_TRY(pool_.Inspect(fd));
  auto own = BuildId::FromBytes(facts.build_id);
  if (own != build_id) {
    return Status(StatusCode::kInvalid,
                  "the file's own build id is " + (own ? own->hex() : "none") + ", not " + build_id.hex());
  }
  if (!facts.has_symbols) return Status(StatusCode::kInvalid, facts.note);
  return facts.note;
}

base::Result<std::string> SymbolService::CheckMapping(int fd, const BuildId& build_id) {
  auto facts = LAGWATCH_TRY(pool_.Inspect(fd, /*is_mapping=*/true));
  if (!IsMappingIdOfMapId(build_id.bytes()) || facts.build_id == build_id.bytes()) return std::string();
  return Status(StatusCode::kInvalid, "the mapping's own id (# pg_map_id) is another one");
}

}  // namespace lagwatch::collector
