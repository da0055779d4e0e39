// SPDX-License-Identifier: Apache-2.0
#include "sdk/config_keeper.h"

#include <random>
#include <utility>

#include "base/process/env.h"
#include "sdk/report/writing_switch.h"

namespace lagwatch::sdk {

ConfigKeeper::ConfigKeeper(std::unique_ptr<report::ConfigSource> source, report::ConfigStore store,
                           const base::Clock* clock)
    : source_(std::move(source)), store_(std::move(store)), fetcher_(source_.get(), &store_), clock_(clock) {}

void ConfigKeeper::Poll(bool may_fetch) {
  if (may_fetch && source_ != nullptr) {
    std::random_device device;
    const uint64_t random = uint64_t{device()} << 32 | device();
    fetcher_.Poll(clock_->MonoNs() / base::kNsPerMs, clock_->WallMs(), random);
  }
  process_writing.SetKilled(is_killed());
}

bool ConfigKeeper::is_killed() {
  const auto in_force = config();
  return in_force && in_force->is_killed;
}

std::optional<report::RemoteConfig> StoredConfigFor(const MonitorOptions& options,
                                                    const report::PublicKey& key) {
  const MonitorOptions normal = options.Normalized();
  report::ConfigStore store(&base::SystemEnv(), normal.spool_directory, key, {normal.app, normal.user});
  return store.Current(base::SystemClock().WallMs());
}

bool ApplyStoredConfig(const report::PublicKey& key, MonitorOptions* options) {
  const auto config = StoredConfigFor(*options, key);
  if (!config) return true;
  auto take = [](const std::optional<uint32_t>& value_ms, int64_t* option_ns) {
    if (value_ms) *option_ns = *value_ms * base::kNsPerMs;
  };
  take(config->threshold_ms, &options->watch.threshold_ns);
  take(config->anr_threshold_ms, &options->watch.anr_threshold_ns);
  take(config->check_period_ms, &options->watch.check_period_ns);
  take(config->sample_interval_ms, &options->watch.sample_interval_ns);
  take(config->io_watch_ms, &options->watch.io.limit_ns);
  const std::string app_version = options->Normalized().app_version;
  for (const report::CaptureRequest& request : config->capture_requests) {
    const bool is_ours = request.app_version.empty() || request.app_version == app_version;
    if (is_ours) options->trace.requests.push_back({request.cluster, request.interval_us * int64_t{1'000}});
  }
  return !config->is_killed;
}

}  // namespace lagwatch::sdk
