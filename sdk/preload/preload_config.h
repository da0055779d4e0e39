// SPDX-License-Identifier: Apache-2.0
// What `lagwatch run` tells the preloaded library, in one environment variable that the library removes
// before the program's main() runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lagwatch::sdk {

inline constexpr char kPreloadConfigVariable[] = "LAGWATCH_PRELOAD_CONFIG";

// Strings must not hold line ends.
struct PreloadConfig {
  static constexpr uint32_t kUnset = UINT32_MAX;  // as the library has it

  std::string app;
  std::string app_version;
  std::string user;
  std::string spool_directory;
  std::string threads = "main";  // "main", "all", or the name of the threads to watch
  uint32_t threshold_ms = 2000;
  uint32_t anr_threshold_ms = kUnset;
  uint32_t check_period_ms = kUnset;
  uint32_t sample_interval_ms = kUnset;
  uint32_t dump_signal = 0;  // 0: none
  uint32_t is_sent = 0;      // 1: MonitorOptions::is_sent
  bool had_preload = false;  // whether LD_PRELOAD was set before, and to what
  std::string previous_preload;

  // One "name=value" a line. Names that Parse does not know are skipped.
  std::string ToText() const;
  static PreloadConfig Parse(std::string_view text);
};

}  // namespace lagwatch::sdk
