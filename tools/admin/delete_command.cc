// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "tools/commands.h"
#include "tools/read/endpoint.h"
#include "tools/read/output.h"
#include "tools/read/table.h"

namespace lagwatch::tools {
namespace {

constexpr char kPath[] = "/v1/admin/deletions";

struct DeleteFlags {
  Endpoint endpoint;
  std::string kind;
  std::string subject;
  bool is_confirmed = false;
  bool is_not_awaited = false;
  bool json = false;
};

bool IsConfirmed(const DeleteFlags& flags) {
  if (flags.is_confirmed) return true;
  return IsAnsweredYes("Delete all data of the " + flags.kind + " '" + Printable(flags.subject) + "' on " +
                       Printable(flags.endpoint.url) + "? It cannot be restored.");
}

int PrintDeletion(const DeleteFlags& flags, const Json& deletion) {
  if (flags.json) return Print(deletion.dump(2) + "\n");
  const auto count = [&](const char* key) { return std::to_string(deletion.at(key).get<long long>()); };
  const bool is_done = !deletion.at("ended_wall_ms").is_null();
  return Print((is_done ? "deleted: " : "being deleted: ") + count("reports") + " reports, " +
               count("traces") + " traces, " + count("others") + " other records\n");
}

// Asks until it is done, more and more seldom.
base::Result<Json> WaitForEnd(EndpointClient* client, const Json& begun) {
  auto pause = std::chrono::milliseconds(100);
  for (;;) {
    auto reply = LAGWATCH_TRY(client->AskJson("GET", kPath));
    const auto found =
        std::ranges::find_if(reply.json, [&](const Json& each) { return each.at("id") == begun.at("id"); });
    if (found == reply.json.end()) return begun;
    if (!found->at("ended_wall_ms").is_null()) return *found;
    if (found->at("error").is_string()) Fail("not yet: " + found->at("error").get<std::string>());
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(2000));
  }
}

int Delete(const DeleteFlags& flags) {
  if (!IsConfirmed(flags)) return Fail("nothing was deleted; --yes deletes without confirmation");
  EndpointClient client(flags.endpoint);
  return ShowAnswer([&] {
    auto begun = client.AskJson("POST", kPath, {{"kind", flags.kind}, {"subject", flags.subject}});
    if (!begun.ok()) return Fail(begun.status().message());
    if (flags.is_not_awaited) return PrintDeletion(flags, begun->json);
    auto ended = WaitForEnd(&client, begun->json);
    if (!ended.ok()) return Fail(ended.status().message() + "; the collector continues");
    if (ended->at("error").is_string()) return Fail(ended->at("error").get<std::string>());
    return PrintDeletion(flags, *ended);
  });
}

}  // namespace

void AddDeleteCommand(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<DeleteFlags>();
  CLI::App* command = app->add_subcommand(
      "delete", "Delete a collector's data of a user, a cause, a key or a program, or one report");
  command->add_option("KIND", flags->kind, "user, report, cluster, key or app")
      ->required()
      ->check(CLI::IsMember({"user", "report", "cluster", "key", "app"}));
  command
      ->add_option("SUBJECT", flags->subject,
                   "The user, the report's id, the cluster's key, the key's name, or the program's name")
      ->required();
  AddAdminEndpoint(command, &flags->endpoint);
  command->add_flag("--yes", flags->is_confirmed, "Delete without confirmation");
  command->add_flag("--no-wait", flags->is_not_awaited, "Do not wait for the end of the deletion");
  command->add_flag("--json", flags->json, "Print the collector's answer");
  command->footer(
      "Reports go with their traces; a user's, a key's or a program's usage, losses, frames and ends of "
      "runs\n"
      "go, too. Backups keep what they have.");
  command->callback([flags, exit_code] { *exit_code = Delete(*flags); });
}

}  // namespace lagwatch::tools
