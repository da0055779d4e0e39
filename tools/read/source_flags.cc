// SPDX-License-Identifier: Apache-2.0
#include "tools/read/source_flags.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <utility>

#include "sdk/run/local_paths.h"

namespace lagwatch::tools {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string DefaultSpool() {
  std::string state = Environment("XDG_STATE_HOME");
  if (state.empty()) state = Environment("HOME") + "/.local/state";
  return state + "/lagwatch/spool";
}

}  // namespace

void AddSourceFlags(CLI::App* command, SourceFlags* flags) {
  auto* endpoint = command->add_option("--endpoint", flags->endpoint,
                                       "The collector's URL (env:LAGWATCH_ENDPOINT), http://127.0.0.1:8790");
  command
      ->add_option("--token", flags->token, "One of the collector's read or admin tokens (DATA/admin-token)")
      ->envname("LAGWATCH_TOKEN");
  command
      ->add_option("--ca-file", flags->ca_file,
                   "PEM: trust only a collector with a certificate signed by one of these")
      ->envname("LAGWATCH_CA_FILE");
  command
      ->add_option("--spool", flags->spool,
                   "Read the unsent reports in this directory, without a collector (env:LAGWATCH_SPOOL); "
                   "without --endpoint the default, ~/.local/state/lagwatch/spool")
      ->excludes(endpoint);
}

void AddDebuginfodFlag(CLI::App* command, SourceFlags* flags) {
  command
      ->add_flag(
          "--debuginfod", flags->debuginfod,
          "Also ask the servers in DEBUGINFOD_URLS for symbols of a spool's reports; they learn the build "
          "ids of the modules")
      ->excludes(command->get_option("--endpoint"));
}

std::string EndpointOf(const SourceFlags& flags) {
  const bool is_given = !flags.endpoint.empty() || !flags.spool.empty();
  return is_given ? flags.endpoint : Environment("LAGWATCH_ENDPOINT");
}

std::string SpoolOf(const SourceFlags& flags) {
  std::string spool = flags.spool.empty() ? Environment("LAGWATCH_SPOOL") : flags.spool;
  return spool.empty() ? DefaultSpool() : spool;
}

base::Result<std::unique_ptr<ReportSource>> OpenSource(const SourceFlags& flags) {
  const std::string endpoint = EndpointOf(flags);
  if (!endpoint.empty())
    return OpenEndpoint({.url = endpoint, .token = flags.token, .ca_file = flags.ca_file});
  const std::string spool = SpoolOf(flags);
  std::unique_ptr<LocalSymbolizer> symbolizer;
  if (!flags.symbol_worker.empty()) {
    symbolizer = LAGWATCH_TRY(LocalSymbolizer::Create({.worker_program = flags.symbol_worker,
                                                       .root = sdk::RootOfSpool(spool),
                                                       .asks_debuginfod = flags.debuginfod}));
  }
  // The default directory comes with the first run: until then nothing was reported.
  const bool is_default = flags.spool.empty() && Environment("LAGWATCH_SPOOL").empty();
  const auto load = [&](const std::string& directory) -> base::Result<std::string> {
    auto records = flags.load_records(directory);
    const bool is_missing = !records.ok() && records.status().code() == base::StatusCode::kNotFound;
    return is_default && is_missing ? base::Result<std::string>(std::string()) : records;
  };
  return OpenSpool(spool, load, std::move(symbolizer));
}

}  // namespace lagwatch::tools
