// SPDX-License-Identifier: Apache-2.0
#include "collector/settings_file.h"

#include <toml++/toml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <istream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace lagwatch::collector {
namespace {

// A value as it is given on a command line; none for a table or a list.
std::optional<std::string> TextOf(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  const auto* number = node.as_floating_point();
  if (number == nullptr) return std::nullopt;
  std::ostringstream text;
  text << number->get();
  return text.str();
}

class TomlSettings : public CLI::Config {
 public:
  explicit TomlSettings(const CLI::App* app) : app_(app) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    std::vector<CLI::ConfigItem> settings;
    try {
      for (const auto& [key, node] : toml::parse(input))
        settings.push_back(ItemOf(std::string(key.str()), node));
    } catch (const toml::parse_error& error) {
      throw At(error.source(), std::string(error.description()));
    }
    return settings;
  }
  std::string to_config(const CLI::App*, bool, bool, std::string) const override { return {}; }

 private:
  CLI::ConfigError At(const toml::source_region& place, const std::string& problem) const {
    const std::string file = app_->get_config_ptr()->as<std::string>();
    return {file + ": line " + std::to_string(place.begin.line) + ": " + problem,
            CLI::ExitCodes::ConfigError};
  }

  CLI::ConfigItem ItemOf(const std::string& key, const toml::node& node) const {
    CLI::ConfigItem item;
    item.name = key;
    std::ranges::replace(item.name, '_', '-');
    const CLI::Option* flag = app_->get_option_no_throw("--" + item.name);
    // One spelling: a key with - would be a second one.
    if (flag == nullptr || !flag->get_configurable() || key.find('-') != std::string::npos)
      throw At(node.source(),
               "there is no setting '" + key + "'; they are the flags of --help, with _ for -");
    if (const auto text = TextOf(node)) {
      item.inputs.push_back(*text);
    } else if (const auto* list = node.as_array()) {
      for (const toml::node& each : *list) {
        const auto element = TextOf(each);
        if (!element) throw At(each.source(), "the list '" + key + "' has texts and numbers only");
        item.inputs.push_back(*element);
      }
    } else {
      throw At(node.source(), "'" + key + "' is a text, a number or a list of them");
    }
    if (item.inputs.size() != 1 && flag->get_items_expected_max() == 1)
      throw At(node.source(), "'" + key + "' has one value");
    return item;
  }

  const CLI::App* app_;
};

}  // namespace

void DeclareSettingsFile(CLI::App* app) {
  app->set_config("--settings", "",
                  "TOML file with these flags: retention_days = 30. The command line overrides it")
      ->type_name("FILE");
  app->config_formatter(std::make_shared<TomlSettings>(app));
  app->allow_config_extras(CLI::config_extras_mode::error);
}

}  // namespace lagwatch::collector
