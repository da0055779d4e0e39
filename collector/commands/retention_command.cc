// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/clock.h"
#include "base/text.h"
#include "collector/commands/commands.h"
#include "collector/maintenance/retention_guard.h"

namespace lagwatch::collector {
namespace {

int Confirm(const std::string& path) {
  const int64_t now_ms = base::SystemClock().WallMs();
  if (Status confirmed = ConfirmClock(path, now_ms); !confirmed.ok()) return Fail(confirmed);
  std::printf("clock confirmed: it is %s; records that are too old by it are removed now\n",
              base::UtcText(now_ms, "%Y-%m-%d %H:%MZ").c_str());
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
