// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "report/config/signed_document.h"
#include "sdk/config_keeper.h"
#include "sdk/monitor.h"
#include "tools/commands.h"

namespace lagwatch::tools {

base::Result<bool> ApplyStoredRunConfig(const std::string& app, Options* options) {
  auto key = report::ParsePublicKey(options->upload.config_key);
  if (!key.ok()) return key.status();
  sdk::MonitorOptions monitor = sdk::ToMonitorOptions(*options);
  monitor.app = app;
  const bool is_wanted = sdk::ApplyStoredConfig(*key, &monitor);
  auto to_ms = [](int64_t ns) { return static_cast<uint32_t>(ns / base::kNsPerMs); };
  options->threshold_ms = to_ms(monitor.watch.threshold_ns);
  options->anr_threshold_ms = to_ms(monitor.watch.anr_threshold_ns);
  options->detection.check_period_ms = to_ms(monitor.watch.check_period_ns);
  options->detection.sample_interval_ms = to_ms(monitor.watch.sample_interval_ns);
  return is_wanted;
}

}  // namespace lagwatch::tools
