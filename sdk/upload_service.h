// SPDX-License-Identifier: Apache-2.0
// The sending half of the SDK, put together: spool, local symbols, HTTP.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "report/upload/http_transport.h"
#include "report/upload/spool_sender.h"
#include "report/upload/uploader.h"
#include "sdk/config_keeper.h"
#include "sdk/process_monitor.h"

namespace lagwatch::sdk {

// Names frames from the symbol tables of the files on this machine. Context: background.
std::unique_ptr<report::FrameNamer> CreateLocalFrameNamer();

// Context: background.
class UploadService final : public BackgroundUpload {
 public:
  // `keeper` may be null: then there is no remote config. Errors: kInvalid for an endpoint that is no URL.
  static base::Result<std::unique_ptr<UploadService>> Create(const std::string& spool_directory,
                                                             const report::HttpTransportOptions& options,
                                                             std::unique_ptr<ConfigKeeper> keeper = nullptr);

  // Sends from a thread of its own until Stop.
  base::Status Start() override { return uploader_->Start(); }
  void Stop(int64_t flush_timeout_ms) override {
    if (keeper_ != nullptr) keeper_->Abort();  // what is on disk matters more now
    uploader_->Stop(flush_timeout_ms);
  }
  uint64_t records_delivered() const override { return sender_->stats().records_delivered; }

  // Without Start(): the caller's thread sends.
  report::SpoolSender* sender() { return sender_.get(); }

 private:
  UploadService() = default;

  std::unique_ptr<ConfigKeeper> keeper_;  // may be null; the uploader's thread's
  std::unique_ptr<report::FrameNamer> namer_;
  std::unique_ptr<report::Transport> transport_;
  std::unique_ptr<report::SpoolSender> sender_;
  std::unique_ptr<report::Uploader> uploader_;
};

}  // namespace lagwatch::sdk
