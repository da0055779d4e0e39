// SPDX-License-Identifier: Apache-2.0
// The process that sends a watched program's reports, beside it: the program itself carries no HTTP client,
// and its reports are sent even if it was killed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/status.h"

namespace lagwatch::tools {

struct SidecarOptions {
  std::string spool_directory;
  std::string endpoint;
  std::string key;
  std::string ca_file;
  std::string config_key;  // empty: no remote config
  std::string app;
  std::string app_version;
  std::string user;
  uint32_t user_rate_ppm = 1'000'000;
  uint32_t reports_per_day = 20;
  uint32_t reports_per_cause = 3;
  uint32_t traces_per_day = 5;
  uint32_t slow_reports_per_day = 5;
};

// Starts `own_program upload …` as a process that is no child of the caller and shares neither its
// terminal nor its files. It lives until the caller's process, whatever program that becomes, and those
// that are followed have ended and the spool is sent (or a while has passed). Context: background; the
// caller has no other threads.
base::Status StartSidecar(const std::filesystem::path& own_program, const SidecarOptions& options);

}  // namespace lagwatch::tools
