// SPDX-License-Identifier: Apache-2.0
#include "collector/maintenance/retention_command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>

#include "base/clock.h"
#include "collector/maintenance/retention_guard.h"

namespace lagwatch::collector {
namespace {

int Confirm(const std::string& path) {
  const int64_t now_ms = base::SystemClock().WallMs();
  if (base::Status confirmed = ConfirmClock(path, now_ms); !confirmed.ok()) {
    std::fprintf(stderr, "lagwatch-collector: %s\n", confirmed.message().c_str());
    return 1;
  }
  const std::time_t seconds = now_ms / 1000;
  std::tm utc{};
  char text[32] = "";
  gmtime_r(&seconds, &utc);
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%MZ", &utc);
  std::printf("the clock is right: it is %s; what is too old by it goes now\n", text);
  return 0;
}

}  // namespace

void AddRetentionCommand(CLI::App* app, const std::function<std::string()>& path, int* exit_code) {
  CLI::App* retention = app->add_subcommand("retention", "Retention that waits for a person, and end");
  retention->fallthrough()->require_subcommand(1);
  retention
      ->add_subcommand("confirm-clock",
                       "Say that this machine's clock is right: all that is too old by it goes at once, on "
                       "this day and the next")
      ->fallthrough()
      ->callback([=] { *exit_code = Confirm(path()); });
}

}  // namespace lagwatch::collector
