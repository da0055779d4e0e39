// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <string>

#include "tools/commands.h"
#include "tools/read/endpoint.h"
#include "tools/read/output.h"
#include "tools/read/report_parts.h"
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

int PrintCause(const CauseFlags& flags, const Json& note) {
  if (flags.json) return Print(note.dump(2) + "\n");
  std::string text;
  for (const CauseOption& option : kCauseOptions) {
    const Json& value = note.at(option.name);
    if (value.is_string()) text += Format("%-9s ", option.name) + Printable(value.get<std::string>()) + "\n";
  }
  return Print(text);
}

// Changes the cause as it was read; fails if it was changed in the meantime.
int ChangeCause(const CauseFlags& flags, const Json& changes) {
  EndpointClient client(flags.endpoint);
  const std::string path = "/v1/admin/clusters/" + flags.key;
  return ShowAnswer([&] {
    auto reply = client.AskJson("GET", path);
    if (reply.ok() && !changes.empty()) reply = client.AskJson("PATCH", path, changes, reply->etag);
    return reply.ok() ? PrintCause(flags, reply->json) : Fail(reply.status().message());
  });
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
