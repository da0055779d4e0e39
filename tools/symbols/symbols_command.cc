// SPDX-License-Identifier: Apache-2.0
#include "tools/symbols/symbols_command.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>

#include "tools/symbols/symbol_scan.h"
#include "tools/symbols/symbols_client.h"
#include "tools/symbols/symbols_text.h"
#include "tools/symbols/symbols_upload.h"

namespace lagwatch::tools {
namespace {

struct Flags {
  Endpoint endpoint;
  std::vector<std::string> paths;
  bool is_verbose = false;
  bool json = false;
};

int Fail(const std::string& message) {
  std::fprintf(stderr, "lagwatch: %s\n", message.c_str());
  return 1;
}

// A line that is written over and over, on a terminal alone.
class ProgressBar {
 public:
  explicit ProgressBar(const std::vector<LocalSymbolFile>& files) {
    state_.total_files = files.size();
    for (const LocalSymbolFile& file : files) state_.total_bytes += file.size_bytes;
  }

  void Show(const UploadTotals& totals) {
    if (!is_terminal_) return;
    state_.bytes = totals.bytes;
    state_.files = totals.files;
    state_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    std::fprintf(stderr, "\r\033[K%s", ProgressLine(state_).c_str());
  }
  ~ProgressBar() {
    if (is_terminal_) std::fputs("\r\033[K", stderr);
  }

 private:
  const bool is_terminal_ = isatty(STDERR_FILENO) == 1;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  UploadState state_;
};

void PrintSkipped(const Flags& flags, const SymbolScan& scan) {
  for (const SkippedFile& file : scan.skipped) {
    if (flags.is_verbose) std::printf("skipped %s: %s\n", file.path.c_str(), file.why.c_str());
  }
}

int UploadAll(const Flags& flags) {
  signal(SIGPIPE, SIG_IGN);
  auto scan = ScanForSymbols(flags.paths);
  if (!scan.ok()) return Fail(scan.status().message());
  PrintSkipped(flags, *scan);
  if (scan->files.empty()) {
    return Fail("no file has symbols and a build id (" + std::to_string(scan->skipped.size()) +
                " ELF files were skipped; -v says why)");
  }
  UploadTotals totals;
  {
    ProgressBar bar(scan->files);
    totals = UploadSymbols(flags.endpoint, scan->files, [&bar](const UploadTotals& now) { bar.Show(now); });
  }
  for (const std::string& problem : totals.problems) Fail(problem);
  const uint64_t failed = totals.problems.size();
  std::printf("%llu files sent (%s), %llu already uploaded, %zu skipped\n",
              static_cast<unsigned long long>(totals.sent_files), ShortSize(totals.sent_bytes).c_str(),
              static_cast<unsigned long long>(totals.files - totals.sent_files - failed),
              scan->skipped.size());
  return failed == 0 ? 0 : 1;
}

int List(const Flags& flags) {
  auto files = SymbolsClient(flags.endpoint).List();
  if (!files.ok()) return Fail(files.status().message());
  winsize size{};
  const size_t width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
  try {
    if (files->empty()) std::fputs("lagwatch: the collector has no symbol files\n", stderr);
    const std::string text = flags.json       ? files->dump(2) + "\n"
                             : files->empty() ? ""
                                              : SymbolTable(*files, width);
    std::fputs(text.c_str(), stdout);
    return std::fflush(stdout) == 0 ? 0 : Fail("cannot write to stdout");
  } catch (const nlohmann::json::exception& error) {
    return Fail(std::string("the collector's answer has an unknown format; update lagwatch: ") +
                error.what());
  }
}

void AddEndpoint(CLI::App* command, Endpoint* endpoint) {
  command->add_option("--endpoint", endpoint->url, "The collector's URL")
      ->envname("LAGWATCH_ENDPOINT")
      ->required();
  command->add_option("--token", endpoint->token, "One of the collector's admin tokens (DATA/admin-token)")
      ->envname("LAGWATCH_TOKEN");
  command
      ->add_option("--ca-file", endpoint->ca_file,
                   "PEM: trust only collectors with a certificate signed by one of these")
      ->envname("LAGWATCH_CA_FILE");
}

}  // namespace

void AddSymbolsCommand(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* symbols = app->add_subcommand("symbols", "Manage the collector's symbol files");
  symbols->require_subcommand(1);
  CLI::App* upload = symbols->add_subcommand(
      "upload", "Upload programs, libraries and .debug files, or all files below a directory");
  upload->add_option("PATH", flags->paths, "A file, or a directory with files")->required();
  AddEndpoint(upload, &flags->endpoint);
  upload->add_flag("-v,--verbose", flags->is_verbose, "List skipped files, with reasons");
  upload->callback([flags, exit_code] { *exit_code = UploadAll(*flags); });

  CLI::App* list = symbols->add_subcommand("list", "List the collector's symbol files");
  AddEndpoint(list, &flags->endpoint);
  list->add_flag("--json", flags->json, "Print the collector's answer");
  list->callback([flags, exit_code] { *exit_code = List(*flags); });
}

}  // namespace lagwatch::tools
