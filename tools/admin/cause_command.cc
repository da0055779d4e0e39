// SPDX-License-Identifier: Apache-2.0
#include "tools/admin/cause_command.h"

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include "tools/admin/admin_client.h"
#include "tools/read/table.h"

namespace lagwatch::tools {
namespace {

struct CauseFlags {
  Endpoint endpoint;
  std::string key;
  std::string title, link, state, fixed_in;
  bool json = false;
};

struct CauseOption {
  const char* flag;
  const char* name;  // of the API
  std::string CauseFlags::*text;
  const char* description;
};
constexpr std::array<CauseOption, 4> kCauseOptions = {
    {{"--title", "title", &CauseFlags::title, "The cause's title; empty: its functions"},
     {"--link", "link", &CauseFlags::link, "The address of its ticket: https://…; empty: none"},
     {"--state", "state", &CauseFlags::state, "new, known, fixed or ignored"},
     {"--fixed-in", "fixed_in", &CauseFlags::fixed_in, "The version that fixes it"}}};

int FailCause(const std::string& message) {
  std::fprintf(stderr, "lagwatch: %s\n", Printable(message).c_str());
  return 1;
}

int PrintCause(const CauseFlags& flags, const Json& note) {
  if (flags.json) {
    std::printf("%s\n", note.dump(2).c_str());
  } else {
    for (const CauseOption& option : kCauseOptions) {
      const Json& text = note.at(option.name);
      if (text.is_string()) std::printf("%-9s %s\n", option.name, Printable(text.get<std::string>()).c_str());
    }
  }
  return std::fflush(stdout) == 0 ? 0 : FailCause("cannot write to stdout");
}

// Changes the cause as it was read; fails if it was changed in the meantime.
int ChangeCause(const CauseFlags& flags, const Json& changes) {
  AdminClient client(flags.endpoint);
  const std::string path = "/v1/admin/clusters/" + flags.key;
  try {
    auto reply = client.Send("GET", path);
    if (reply.ok() && !changes.empty()) reply = client.Send("PATCH", path, changes, reply->etag);
    return reply.ok() ? PrintCause(flags, reply->json) : FailCause(reply.status().message());
  } catch (const nlohmann::json::exception& error) {
    return FailCause(std::string("the collector's answer has an unknown format; update lagwatch: ") +
                     error.what());
  }
}

// As CLI11 expects: an error message, or an empty text.
std::string CheckKey(const std::string& key) {
  const bool is_good = !key.empty() && key.find_first_not_of("0123456789abcdef") == std::string::npos;
  return is_good ? "" : "'" + key + "' is not a cluster key; `lagwatch clusters` lists them";
}

}  // namespace

void AddCauseCommand(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<CauseFlags>();
  CLI::App* command = app->add_subcommand("cause", "Show or change a cause's title, ticket and state");
  command->add_option("KEY", flags->key, "The cluster's key")->required()->check(&CheckKey);
  for (const CauseOption& option : kCauseOptions)
    command->add_option(option.flag, (*flags).*option.text, option.description);
  AddAdminEndpoint(command, &flags->endpoint);
  command->add_flag("--json", flags->json, "Print the collector's answer");
  command->callback([flags, command, exit_code] {
    Json changes = Json::object();
    for (const CauseOption& option : kCauseOptions) {
      if (command->count(option.flag) > 0) changes[option.name] = (*flags).*option.text;
    }
    *exit_code = ChangeCause(*flags, changes);
  });
}

}  // namespace lagwatch::tools
