// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/preload_config.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace lagwatch::sdk {
namespace {

constexpr std::pair<std::string_view, uint32_t PreloadConfig::*> kNumbers[] = {
    {"threshold_ms", &PreloadConfig::threshold_ms},
    {"anr_threshold_ms", &PreloadConfig::anr_threshold_ms},
    {"check_period_ms", &PreloadConfig::check_period_ms},
    {"sample_interval_ms", &PreloadConfig::sample_interval_ms},
    {"dump_signal", &PreloadConfig::dump_signal},
    {"is_sent", &PreloadConfig::is_sent},
};

}  // namespace

std::string PreloadConfig::ToText() const {
  std::string text;
  auto add = [&](std::string_view name, std::string_view value) {
    text.append(name).append("=").append(value).append("\n");
  };
  add("app", app);
  add("app_version", app_version);
  add("user", user);
  add("spool", spool_directory);
  add("threads", threads);
  for (const auto& [name, member] : kNumbers) add(name, std::to_string(this->*member));
  if (had_preload) add("preload", previous_preload);
  return text;
}

PreloadConfig PreloadConfig::Parse(std::string_view text) {
  PreloadConfig config;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    std::string_view name = line.substr(0, equals);
    std::string value(line.substr(equals + 1));
    if (name == "app") config.app = value;
    if (name == "app_version") config.app_version = value;
    if (name == "user") config.user = value;
    if (name == "spool") config.spool_directory = value;
    if (name == "threads") config.threads = value;
    for (const auto& [number_name, member] : kNumbers) {
      if (name == number_name)
        config.*member = static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    }
    if (name == "preload") {
      config.had_preload = true;
      config.previous_preload = value;
    }
  }
  return config;
}

}  // namespace lagwatch::sdk
