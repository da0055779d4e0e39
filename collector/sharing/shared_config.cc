// SPDX-License-Identifier: Apache-2.0
#include "collector/sharing/shared_config.h"

#include <charconv>
#include <optional>
#include <string>

namespace lagwatch::collector {
namespace {

// "VERSION\nCONTENT".
std::string TextOf(const VersionedConfig& config) {
  return std::to_string(config.version) + "\n" + config.content;
}

std::optional<VersionedConfig> ConfigOf(const std::string& text) {
  VersionedConfig config;
  const size_t line_end = text.find('\n');
  if (line_end == std::string::npos) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + line_end, config.version);
  if (error != std::errc() || end != text.data() + line_end) return std::nullopt;
  config.content = text.substr(line_end + 1);
  return config;
}

}  // namespace

base::Status SharedConfig::Update(const Change& change) {
  const std::string name(kConfigPrefix);
  return admin_->Exchange(
      [&](const std::optional<VersionedConfig>& here) -> Result<std::optional<VersionedConfig>> {
        Settings settings;
        if (here) settings[name] = TextOf(*here);
        const Settings merged = change(settings);
        const auto found = merged.find(name);
        if (found == merged.end()) return std::optional<VersionedConfig>();
        auto config = ConfigOf(found->second);
        if (!config) return Status(StatusCode::kInvalid, "the shared config has no version");
        return config;
      });
}

}  // namespace lagwatch::collector
