// SPDX-License-Identifier: Apache-2.0
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
  const auto config = sdk::StoredConfigFor(monitor, *key);
  if (!config) return true;
  options->threshold_ms = config->threshold_ms.value_or(options->threshold_ms);
  options->anr_threshold_ms = config->anr_threshold_ms.value_or(options->anr_threshold_ms);
  DetectionOptions& detection = options->detection;
  detection.check_period_ms = config->check_period_ms.value_or(detection.check_period_ms);
  detection.sample_interval_ms = config->sample_interval_ms.value_or(detection.sample_interval_ms);
  return !config->is_killed;
}

}  // namespace lagwatch::tools
