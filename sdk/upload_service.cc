// SPDX-License-Identifier: Apache-2.0
#include "sdk/upload_service.h"

#include "base/env.h"
#include "stack/local_symbols.h"

namespace lagwatch::sdk {
namespace {

class LocalFrameNamer final : public report::FrameNamer {
 public:
  std::optional<std::string> NameOf(const std::string& path, std::string_view build_id,
                                    uint64_t offset) override {
    return symbols_.NameOf(path, build_id, offset);
  }

 private:
  stack::LocalSymbols symbols_;
};

}  // namespace

std::unique_ptr<report::FrameNamer> CreateLocalFrameNamer() { return std::make_unique<LocalFrameNamer>(); }

base::Result<std::unique_ptr<UploadService>> UploadService::Create(
    const std::string& spool_directory, const report::HttpTransportOptions& options) {
  auto transport = report::CreateHttpTransport(options);
  if (!transport.ok()) return transport.status();
  std::unique_ptr<UploadService> service(new UploadService);
  service->namer_ = CreateLocalFrameNamer();
  service->transport_ = std::move(transport).value();
  service->sender_ = std::make_unique<report::SpoolSender>(&base::SystemEnv(), spool_directory,
                                                           service->transport_.get(), service->namer_.get());
  service->uploader_ = std::make_unique<report::Uploader>(service->sender_.get(), service->transport_.get());
  return service;
}

}  // namespace lagwatch::sdk
