// SPDX-License-Identifier: Apache-2.0
// `lagwatch probe-list`: makes and shows the signed list of scripts that a collector may ask for.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "base/process/env.h"
#include "base/text.h"
#include "probe/language/parser.h"
#include "report/config/secret_key.h"
#include "report/probes/script_allowlist.h"
#include "tools/commands.h"
#include "tools/fleet/fleet_run.h"
#include "tools/read/output.h"
#include "tools/read/table.h"

namespace lagwatch::tools {
namespace {

struct SignedListOptions {
  std::vector<std::string> files;
  std::string new_key_file;
  std::string signing_key_file;
  std::string public_key;
};

int RefuseList(const std::string& message) {
  std::cerr << "lagwatch: probe-list: " << Printable(message) << "\n";
  return 2;
}

base::Result<std::string> ReadWhole(const std::string& file) {
  std::string text;
  if (const int error = base::SystemEnv().ReadAll(file, &text); error != 0)
    return base::IoError("cannot read " + file, error);
  return text;
}

base::Status PrintPublicKey(const report::SigningKey& key) {
  const auto public_key = LAGWATCH_TRY(key.ToPublicKey());
  std::cout << base::ToHex(public_key) << "\n";
  return {};
}

// Never over a key that is there.
base::Status CreateKey(const std::string& file) {
  const auto key = LAGWATCH_TRY(report::SigningKey::Create());
  const base::OwnedFd fd(open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!fd) return base::IoError("cannot create " + file, errno);
  const std::string text = key.ToText() + "\n";
  const ssize_t written = write(fd.get(), text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size())) return base::IoError("cannot write " + file, errno);
  return PrintPublicKey(key);
}

base::Result<report::AllowedScript> ReadScriptFile(const std::string& file) {
  report::AllowedScript script{.name = std::filesystem::path(file).stem(),
                               .text = LAGWATCH_TRY(ReadWhole(file))};
  if (const auto parsed = probe::ParseScript(script.text); !parsed.ok())
    return base::Status(parsed.status().code(), file + ":" + parsed.status().message());
  else if (base::Status status = CheckCountsOnly(*parsed); !status.ok())
    return base::Status(status.code(), file + ": " + status.message());
  return script;
}

base::Status Sign(const SignedListOptions& options) {
  std::string secret = LAGWATCH_TRY(ReadWhole(options.signing_key_file));
  const auto key = LAGWATCH_TRY(report::SigningKey::Parse(base::Trimmed(secret)));
  std::vector<report::AllowedScript> scripts;
  for (const std::string& file : options.files) scripts.push_back(LAGWATCH_TRY(ReadScriptFile(file)));
  const std::string document = LAGWATCH_TRY(report::ScriptAllowlist::DocumentOf(scripts));
  const std::string envelope = LAGWATCH_TRY(key.Seal(document));
  // A list that no client can open is none.
  const auto public_key = LAGWATCH_TRY(key.ToPublicKey());
  if (const auto list = report::ScriptAllowlist::Open(envelope, public_key); !list.ok()) return list.status();
  std::cout << envelope << "\n";
  return {};
}

base::Status Show(const SignedListOptions& options) {
  if (options.files.size() != 1)
    return {base::StatusCode::kInvalid, "give one list, or --sign KEYFILE and scripts"};
  const auto key = LAGWATCH_TRY(report::ParsePublicKey(options.public_key));
  const std::string envelope = LAGWATCH_TRY(ReadWhole(options.files.front()));
  const auto list = LAGWATCH_TRY(report::ScriptAllowlist::Open(envelope, key));
  Table table({{"script", Table::Align::kLeft}, {"sha256", Table::Align::kLeft}});
  for (const report::AllowedScript& script : list.scripts()) table.AddRow({script.name, script.hash});
  std::cout << table.ToText(TerminalWidth());
  return {};
}

int RunList(const SignedListOptions& options) {
  base::Status status;
  if (!options.new_key_file.empty())
    status = CreateKey(options.new_key_file);
  else if (!options.signing_key_file.empty())
    status = Sign(options);
  else
    status = Show(options);
  return status.ok() ? 0 : RefuseList(status.message());
}

}  // namespace

void AddProbeListCommand(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<SignedListOptions>();
  CLI::App* list = app->add_subcommand(
      "probe-list", "Make and show the signed list of probe scripts that a collector may ask for");
  list->footer(
      "  lagwatch probe-list --new-key signer.key\n"
      "  lagwatch probe-list --sign signer.key slow-queries.lwp > probes.json\n"
      "  lagwatch probe-list probes.json --key PUBLIC-KEY\n"
      "  lagwatch run --fleet-probes probes.json --fleet-probes-key PUBLIC-KEY … -- PROGRAM");
  list->add_option("files", options->files, "The list to show, or the scripts to sign");
  list->add_option("--new-key", options->new_key_file,
                   "Create a secret key in this file, which does not exist yet, and print its public key");
  list->add_option("--sign", options->signing_key_file,
                   "Print a list of the scripts, signed with the secret key in this file");
  list->add_option("--key", options->public_key, "The public key that the list to show is signed with");
  list->callback([options, exit_code] { *exit_code = RunList(*options); });
}

}  // namespace lagwatch::tools
