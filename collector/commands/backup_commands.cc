// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "collector/commands/commands.h"

namespace lagwatch::collector {
namespace {

int Finish(const Status& status, const std::string& done) {
  if (!status.ok()) return Fail(status);
  std::printf("%s\n", done.c_str());
  return 0;
}

}  // namespace

int Fail(const Status& status) {
  std::fprintf(stderr, "lagwatch-collector: %s\n", status.message().c_str());
  return 1;
}

void AddBackupCommands(CLI::App* app, const std::function<std::string()>& data, int* exit_code) {
  struct Given {
    std::string directory;
    bool leaves_symbols_out = false;
  };
  auto given = std::make_shared<Given>();
  CLI::App* backup =
      app->add_subcommand("backup", "Copy the whole data directory, also while a collector serves it");
  backup->fallthrough();
  backup->add_option("DIRECTORY", given->directory, "The new directory; must not exist yet")->required();
  backup->add_flag("--without-symbols", given->leaves_symbols_out,
                   "Leave out uploaded symbol files: they can be uploaded again");
  backup->callback([=] {
    *exit_code = Finish(BackUp(data(), given->directory, {.has_symbols = !given->leaves_symbols_out}),
                        "backed up " + data() + " to " + given->directory);
  });
  CLI::App* restore = app->add_subcommand("restore", "Create the data directory from a backup");
  restore->fallthrough();
  restore->add_option("DIRECTORY", given->directory, "The backup")->required();
  restore->callback([=] {
    *exit_code = Finish(Restore(given->directory, data()), "restored " + given->directory + " to " + data());
  });
}

}  // namespace lagwatch::collector
