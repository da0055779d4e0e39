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
  std::printf("clock confirmed: it is %s; records that are too old by it are removed now\n", text);
  return 0;
}

}  // namespace

void AddRetentionCommand(CLI::App* app, const std::function<std::string()>& path, int* exit_code) {
  CLI::App* retention = app->add_subcommand("retention", "Retention that waits for an operator");
  retention->fallthrough()->require_subcommand(1);
  retention
      ->add_subcommand("confirm-clock",
                       "Confirm this machine's clock: all records that are too old by it are removed at "
                       "once, on this day and the next")
      ->fallthrough()
      ->callback([=] { *exit_code = Confirm(path()); });
}

}  // namespace lagwatch::collector
