// SPDX-License-Identifier: Apache-2.0
// The sending half of the SDK, put together: spool, gate, local symbols, transport.
#pragma once

#include <lagwatch/c_types.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/process/program_caller.h"
#include "base/status.h"
#include "report/config/config_file_name.h"
#include "report/config/remote_config.h"
#include "report/upload/spool_sender.h"
#include "report/upload/transport/http_client.h"
#include "report/upload/transport/transport.h"
#include "report/upload/upload_policies.h"
#include "report/upload/uploader.h"
#include "sdk/config_keeper.h"
#include "sdk/monitor.h"
#include "sdk/process_monitor.h"

namespace lagwatch::sdk {

// Names frames from the symbol tables of the files on this machine, of the reports in `spool_directory`.
// Context: background.
std::unique_ptr<report::FrameNamer> CreateLocalFrameNamer(const std::string& spool_directory);

// The network, as the program reports it. Any thread; wait-free.
void SetNetwork(lw_network network);
bool MaySendNow(bool unmetered_only);

// The default policies of a program: the defaults of the table of options; no report that waited for a week;
// of the traces of a day 2 of one cause and 4 MiB in all.
report::UploadPolicies DefaultUploadPolicies();
// The collector's values take precedence over the program's.
report::UploadPolicies With(report::UploadPolicies policies, const report::RemoteConfig& config);

struct UploadServiceOptions {
  report::HttpOptions http = {};  // the endpoint may be file:///directory, too
  report::HostPost post = {};     // if there is one, it takes the endpoint's place
  report::UploadPolicies policies = {};
  bool unmetered_only = false;
  int most_failures_at_end = INT_MAX;  // see Uploader::SetMostFailuresAtEnd()
  // The key whose signature a remote config needs (64 hexadecimal digits), and the app and user that it is
  // requested for. Over HTTP only; empty: none.
  std::string config_key = {};
  report::ConfigAudience audience = {};
  std::string app_version = {};

  bool has_destination() const { return !http.endpoint.empty() || post != nullptr; }
};

// Context: background.
class UploadService final : public BackgroundUpload {
 public:
  // `keeper`: of a config that does not come over the options' way. Errors: kInvalid for options
  // that cannot be.
  static base::Result<std::unique_ptr<UploadService>> Create(const std::string& spool_directory,
                                                             UploadServiceOptions options,
                                                             std::unique_ptr<ConfigKeeper> keeper = nullptr);

  ~UploadService() override;

  // Sends from a thread of its own until Stop.
  base::Status Start() override { return uploader_->Start(); }
  bool TryStop(int64_t flush_timeout_ms) override;
  uint64_t reports_delivered() const override { return sender_->reports_delivered(); }
  report::LossCounts losses() const override { return sender_->losses(); }

  // The collector's config, as it was at the last poll. From any thread.
  std::optional<report::RemoteConfig> config() const {
    const std::lock_guard lock(config_mutex_);
    return config_;
  }
  // Fetches it within about a minute, also where it would be fetched hours later. From any thread.
  void FetchConfigSoon() { wants_config_.store(true, std::memory_order_relaxed); }  // a flag alone

  // Without Start(): the caller's thread sends.
  report::SpoolSender* sender() { return sender_.get(); }

 private:
  explicit UploadService(UploadServiceOptions options) : options_(std::move(options)) {}

  base::Status CreateTransport();
  base::Status CreateHostTransport();
  base::Status CreateKeeper(const std::string& spool_directory);
  // True when the collector's config is another one than before.
  bool PollConfig();
  report::UploadPolicies Policies() const;

  UploadServiceOptions options_;
  std::atomic<bool> wants_config_{false};
  std::unique_ptr<ConfigKeeper> keeper_;        // may be null; the uploader's thread's
  mutable std::mutex config_mutex_;             // of config_, which the uploader's thread alone writes
  std::optional<report::RemoteConfig> config_;  // as it was at the last poll
  std::unique_ptr<report::FrameNamer> namer_;
  std::shared_ptr<report::HttpClient> http_client_;
  std::unique_ptr<base::ProgramCaller> caller_;  // of the program's own function, if it has one
  std::unique_ptr<report::Transport> transport_;
  std::unique_ptr<report::SpoolSender> sender_;
  std::unique_ptr<report::Uploader> uploader_;
};

// Removes this program's data (by its app's name) from the spool directory: segments and set aside ones with
// records of it, its run records, its config, and the ledger's counts of it. Data that cannot be attributed
// to another program is removed, too: a segment at once, the ledger's with the last program that uses the
// directory. Left alone: files with other names, links, files that running processes are writing, the lock of
// the ledger, the ledger while another process sends, and everything in a directory that
// report::CheckSpoolDirectory() refuses. To be called when the monitor is stopped. Waits for half a second at
// most for another process.
void EraseWhatIsKept(const MonitorOptions& options);

}  // namespace lagwatch::sdk
