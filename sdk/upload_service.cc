// SPDX-License-Identifier: Apache-2.0
#include "sdk/upload_service.h"

#include <atomic>
#include <exception>
#include <map>
#include <utility>
#include <vector>

#include "report/upload/transport/http_transport.h"
#include "report/upload/transport/transport.h"
#include "sdk/run/local_paths.h"
#include "stack/elf/local_symbols.h"

namespace lagwatch::sdk {
namespace {

constexpr int64_t kMsPerHour = 3'600'000;

class LocalFrameNamer final : public report::FrameNamer {
 public:
  explicit LocalFrameNamer(const std::string& spool_directory) : paths_(RootOfSpool(spool_directory)) {}

  std::optional<std::string> NameOf(const std::string& path, std::string_view build_id,
                                    uint64_t offset) override {
    return symbols_.NameOf(paths_.Of(path), build_id, offset);
  }

 private:
  stack::LocalSymbols symbols_;
  LocalPaths paths_;
};

std::atomic<lw_network> current_network{LW_NETWORK_UNMETERED};

}  // namespace

std::unique_ptr<report::FrameNamer> CreateLocalFrameNamer(const std::string& spool_directory) {
  return std::make_unique<LocalFrameNamer>(spool_directory);
}

void SetNetwork(lw_network network) { current_network.store(network, std::memory_order_relaxed); }

bool MaySendNow(bool unmetered_only) {
  const lw_network network = current_network.load(std::memory_order_relaxed);
  return network == LW_NETWORK_UNMETERED || (network == LW_NETWORK_METERED && !unmetered_only);
}

report::UploadPolicies DefaultUploadPolicies() {
  using policies::OptionTable;
  return {.sampling = {},
          .quota = {},
          .traces = {.per_day = OptionTable::traces_per_day.standard, .per_cause = 2, .kib_per_day = 4096},
          .slow = {.per_day = OptionTable::slow_reports_per_day.standard, .per_cause = 2},
          .retention = {}};
}

report::UploadPolicies With(report::UploadPolicies policies, const report::RemoteConfig& config) {
  if (config.user_rate_ppm) policies.sampling.rate_ppm = *config.user_rate_ppm;
  if (config.sampling_salt) policies.sampling.salt = *config.sampling_salt;
  if (config.reports_per_day) policies.quota.per_day = *config.reports_per_day;
  if (config.reports_per_cluster) policies.quota.per_cluster = *config.reports_per_cluster;
  if (config.slow_reports_per_day) policies.slow.per_day = *config.slow_reports_per_day;
  if (config.retention_hours) policies.retention.longest_ms = *config.retention_hours * kMsPerHour;
  if (config.retention_mib) policies.retention.total_bytes = uint64_t{*config.retention_mib} << 20;
  policies.is_forced = config.is_forced;
  policies.user = config.user;
  policies.is_turned_off = config.is_killed;
  return policies;
}

base::Result<std::unique_ptr<UploadService>> UploadService::Create(const std::string& spool_directory,
                                                                   UploadServiceOptions options,
                                                                   std::unique_ptr<ConfigKeeper> keeper) {
  std::unique_ptr<UploadService> service(new UploadService(std::move(options)));
  service->keeper_ = std::move(keeper);
  if (base::Status status = service->CreateTransport(); !status.ok()) return status;
  if (base::Status status = service->CreateKeeper(spool_directory); !status.ok()) return status;
  service->namer_ = CreateLocalFrameNamer(spool_directory);
  service->sender_ = std::make_unique<report::SpoolSender>(&base::SystemEnv(), spool_directory,
                                                           service->transport_.get(), service->namer_.get());
  service->uploader_ = std::make_unique<report::Uploader>(service->sender_.get(), service->transport_.get());
  service->uploader_->SetMostFailuresAtEnd(service->options_.most_failures_at_end);
  UploadService* const self = service.get();
  service->sender_->SetPolicies([self] { return self->Policies(); });
  service->uploader_->SetPoll([self] { return self->PollConfig(); });
  return service;
}

base::Status UploadService::CreateTransport() {
  if (options_.post != nullptr) return CreateHostTransport();
  if (options_.http.endpoint.starts_with(report::kFileScheme)) {
    auto transport = report::CreateFileTransport(&base::SystemEnv(), options_.http.endpoint);
    if (!transport.ok()) return transport.status();
    transport_ = std::move(transport).value();
    return {};
  }
  if (options_.http.endpoint.starts_with(report::kSentryScheme)) {
    auto transport = report::CreateSentryTransport(options_.http);
    if (!transport.ok()) return transport.status();
    transport_ = std::move(transport).value();
    return {};
  }
  auto client = report::HttpClient::Create(options_.http);
  if (!client.ok()) return client.status();
  http_client_ = std::move(client).value();
  transport_ = report::CreateHttpTransport(http_client_);
  return {};
}

// The program's function uses the program's descriptors, which the uploader's thread does not have.
base::Status UploadService::CreateHostTransport() {
  auto caller = base::ProgramCaller::Start("lagwatch-post");
  if (!caller.ok()) return caller.status();
  caller_ = std::move(caller).value();
  transport_ = report::CreateHostTransport([this](std::string_view gzip_body, std::string* answer) {
    int status = 0;
    caller_->Call([&] {
      try {
        status = options_.post(gzip_body, answer);
      } catch (const std::exception&) {  // no memory for the answer: as if there was none
        status = 0;
      }
    });
    return status;
  });
  return {};
}

UploadService::~UploadService() {
  constexpr int64_t kTimeoutNs = 3 * base::kNsPerSecond;
  uploader_.reset();
  if (caller_ != nullptr && !caller_->TryStop(kTimeoutNs)) static_cast<void>(caller_.release());
}

base::Status UploadService::CreateKeeper(const std::string& spool_directory) {
  if (options_.config_key.empty()) return {};
  auto key = report::ParsePublicKey(options_.config_key);
  if (!key.ok()) return key.status();
  if (keeper_ != nullptr) return {};
  std::unique_ptr<report::ConfigSource> source;
  if (http_client_ != nullptr)
    source = report::CreateHttpConfigSource(http_client_, options_.audience, options_.app_version);
  keeper_ = std::make_unique<ConfigKeeper>(
      std::move(source), report::ConfigStore(&base::SystemEnv(), spool_directory, *key, options_.audience),
      &base::SystemClock());
  return {};
}

bool UploadService::TryStop(int64_t flush_timeout_ms) {
  if (keeper_ != nullptr) keeper_->Abort();  // what is on disk matters more now
  bool is_stopped = uploader_->TryStop(flush_timeout_ms);
  // The program's own function must not be called once the program takes all for stopped.
  while (!is_stopped && options_.post != nullptr) is_stopped = uploader_->TryStop(0);
  return is_stopped;
}

bool UploadService::PollConfig() {
  if (keeper_ == nullptr) return false;
  if (const auto version = sender_->stats().config_version) keeper_->NoteVersion(*version);
  if (wants_config_.exchange(false, std::memory_order_relaxed)) keeper_->FetchSoon();
  keeper_->Poll(MaySendNow(options_.unmetered_only));
  std::optional<report::RemoteConfig> config = keeper_->config();
  const bool is_other =
      config.has_value() != config_.has_value() || (config && config_ && config->version != config_->version);
  const std::lock_guard lock(config_mutex_);
  config_ = std::move(config);
  return is_other;
}

report::UploadPolicies UploadService::Policies() const {
  report::UploadPolicies policies = config_ ? With(options_.policies, *config_) : options_.policies;
  policies.is_on_hold = !MaySendNow(options_.unmetered_only);
  return policies;
}

}  // namespace lagwatch::sdk
