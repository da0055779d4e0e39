// SPDX-License-Identifier: Apache-2.0
#include "sdk/upload_service.h"

#include <atomic>
#include <utility>

#include "base/env.h"
#include "report/upload/file_transport.h"
#include "report/upload/http_transport.h"
#include "stack/local_symbols.h"

namespace lagwatch::sdk {
namespace {

constexpr int64_t kMsPerHour = 3'600'000;

class LocalFrameNamer final : public report::FrameNamer {
 public:
  std::optional<std::string> NameOf(const std::string& path, std::string_view build_id,
                                    uint64_t offset) override {
    return symbols_.NameOf(path, build_id, offset);
  }

 private:
  stack::LocalSymbols symbols_;
};

std::atomic<Network> current_network{Network::kUnmetered};

}  // namespace

std::unique_ptr<report::FrameNamer> CreateLocalFrameNamer() { return std::make_unique<LocalFrameNamer>(); }

void SetNetwork(Network network) { current_network.store(network, std::memory_order_relaxed); }

bool MaySendNow(bool unmetered_only) {
  const Network network = current_network.load(std::memory_order_relaxed);
  return network == Network::kUnmetered || (network == Network::kMetered && !unmetered_only);
}

report::UploadPolicies DefaultUploadPolicies() {
  return {.sampling = {}, .quota = {}, .longest_ms = 7 * 24 * kMsPerHour};
}

report::UploadPolicies With(report::UploadPolicies policies, const report::RemoteConfig& config) {
  if (config.user_rate_ppm) policies.sampling.rate_ppm = *config.user_rate_ppm;
  if (config.sampling_salt) policies.sampling.salt = *config.sampling_salt;
  if (config.reports_per_day) policies.quota.per_day = *config.reports_per_day;
  if (config.reports_per_cluster) policies.quota.per_cluster = *config.reports_per_cluster;
  if (config.retention_hours) policies.longest_ms = *config.retention_hours * kMsPerHour;
  policies.is_forced = config.is_forced;
  policies.is_turned_off = config.is_killed;
  return policies;
}

base::Result<std::unique_ptr<UploadService>> UploadService::Create(const std::string& spool_directory,
                                                                   UploadServiceOptions options) {
  std::unique_ptr<UploadService> service(new UploadService(std::move(options)));
  if (base::Status status = service->CreateTransport(); !status.ok()) return status;
  service->namer_ = CreateLocalFrameNamer();
  service->sender_ = std::make_unique<report::SpoolSender>(&base::SystemEnv(), spool_directory,
                                                           service->transport_.get(), service->namer_.get());
  service->uploader_ = std::make_unique<report::Uploader>(service->sender_.get(), service->transport_.get());
  UploadService* const self = service.get();
  service->sender_->SetPolicies([self] { return self->Policies(); });
  service->uploader_->SetPoll([self] { return self->PollConfig(); });
  return service;
}

base::Status UploadService::CreateTransport() {
  if (options_.post != nullptr) {
    transport_ = report::CreateHostTransport(options_.post);
    return {};
  }
  if (options_.http.endpoint.starts_with(report::kFileScheme)) {
    auto transport = report::CreateFileTransport(&base::SystemEnv(), options_.http.endpoint);
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

bool UploadService::PollConfig() {
  if (!options_.remote_config) return false;
  std::optional<report::RemoteConfig> config = options_.remote_config();
  const bool is_other =
      config.has_value() != config_.has_value() || (config && config_ && config->version != config_->version);
  config_ = std::move(config);
  return is_other;
}

report::UploadPolicies UploadService::Policies() const {
  report::UploadPolicies policies = config_ ? With(options_.policies, *config_) : options_.policies;
  policies.is_on_hold = !MaySendNow(options_.unmetered_only);
  return policies;
}

}  // namespace lagwatch::sdk
