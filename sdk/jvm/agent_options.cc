// SPDX-License-Identifier: Apache-2.0
#include "sdk/jvm/agent_options.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace lagwatch::sdk::jvm {

std::string ParseAgentOptions(const char* text, AgentOptions* options) {
  lw_options_init(&options->options);
  std::string error;
  std::string_view rest = text == nullptr ? "" : text;
  std::vector<std::string>& texts = options->texts;
  while (!rest.empty()) {
    const std::string_view option = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(option.size() + 1, rest.size()));
    if (option.empty()) continue;
    const size_t equals = option.find('=');
    texts.emplace_back(option.substr(0, equals));
    texts.emplace_back(equals == option.npos ? "" : option.substr(equals + 1));
  }
  // All are there: the options borrow them, and they do not move any more.
  for (size_t i = 0; i < texts.size(); i += 2) {
    if (texts[i] == "strict") {
      options->is_strict = texts[i + 1] != "0";
    } else if (texts[i] == "children") {
      options->watches_children = texts[i + 1] != "0";
    } else if (texts[i] == "stop") {
      options->is_stop = texts[i + 1] != "0";
    } else if (texts[i] == "probes") {
      options->opens_probes = true;
      options->probe_directory = texts[i + 1];
    } else if (texts[i] == "probe_pid") {
      options->probe_pid = std::atoi(texts[i + 1].c_str());
    } else if (texts[i] == "no_probes") {
      options->forbids_probes = texts[i + 1] != "0";
    } else if (texts[i] == "watched") {
      options->is_watched = texts[i + 1] != "0";
    } else if (texts[i] == "answer") {
      options->answer_file = texts[i + 1];
    } else if (lw_options_set(&options->options, texts[i].c_str(), texts[i + 1].c_str()) == 0 &&
               error.empty()) {
      error = "invalid option '" + texts[i] + "=" + texts[i + 1] + "'";
    }
  }
  return error;
}

}  // namespace lagwatch::sdk::jvm
