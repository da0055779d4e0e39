// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "tools/commands.h"
#include "tools/read/output.h"
#include "tools/read/screen.h"
#include "tools/symbols/symbol_scan.h"
#include "tools/symbols/symbols_client.h"
#include "tools/symbols/symbols_text.h"
#include "tools/symbols/symbols_upload.h"

namespace lagwatch::tools {
namespace {

struct Flags {
  Endpoint endpoint;
  std::vector<std::string> paths;
  MappingOwner owner;
  bool is_verbose = false;
  bool json = false;
  ScreenOptions screen;
};

void PrintSkipped(const Flags& flags, const SymbolScan& scan) {
  for (const SkippedFile& file : scan.skipped) {
    if (flags.is_verbose) std::printf("skipped %s: %s\n", file.path.c_str(), file.why.c_str());
  }
}

// Files that are of less use than they look.
void PrintNotes(const SymbolScan& scan) {
  for (const LocalSymbolFile& file : scan.files) {
    if (!file.note.empty()) Fail(file.path + ": " + file.note);
  }
}

UploadTotals UploadWithProgress(const Endpoint& endpoint, const std::vector<LocalSymbolFile>& files) {
  Progress progress;
  UploadState state{.total_files = files.size()};
  for (const LocalSymbolFile& file : files) state.total_bytes += file.size_bytes;
  const auto start = std::chrono::steady_clock::now();
  return UploadSymbols(endpoint, files, [&](const UploadTotals& now) {
    state.bytes = now.bytes;
    state.files = now.files;
    state.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    progress.Say(ProgressLine(state));
  });
}

int UploadAll(const Flags& flags) {
  signal(SIGPIPE, SIG_IGN);
  auto scan = ScanForSymbols(flags.paths, flags.owner);
  if (!scan.ok()) return Fail(scan.status().message());
  PrintSkipped(flags, *scan);
  if (scan->files.empty()) {
    return Fail("no file has symbols and a build id, and none is a mapping (" +
                std::to_string(scan->skipped.size()) + " files were skipped; -v says why)");
  }
  const UploadTotals totals = UploadWithProgress(flags.endpoint, scan->files);
  PrintNotes(*scan);
  for (const std::string& note : totals.notes) Fail(note);
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
  return ShowAnswer([&] {
    if (files->empty()) Fail("the collector has no symbol files");
    if (flags.json) return PrintOnScreen(files->dump(2) + "\n", flags.screen);
    return files->empty() ? 0
                          : PrintOnScreen(SymbolTable(*files, TerminalWidth()), flags.screen, PaintTables);
  });
}

}  // namespace

void AddSymbolsCommand(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* symbols = app->add_subcommand("symbols", "Manage the collector's symbol files");
  symbols->require_subcommand(1);
  CLI::App* upload = symbols->add_subcommand(
      "upload", "Upload programs, libraries, .debug files and mapping.txt, or all files below a directory");
  upload->add_option("PATH", flags->paths, "A file, or a directory with files")->required();
  AddAdminEndpoint(upload, &flags->endpoint);
  upload->add_option("--app", flags->owner.app, "The app of a mapping, as in its reports");
  upload->add_option("--app-version", flags->owner.app_version, "Its version");
  upload->add_flag("-v,--verbose", flags->is_verbose, "List skipped files, with reasons");
  upload->callback([flags, exit_code] { *exit_code = UploadAll(*flags); });

  CLI::App* list = symbols->add_subcommand("list", "List the collector's symbol files");
  AddAdminEndpoint(list, &flags->endpoint);
  list->add_flag("--json", flags->json, "Print the collector's answer");
  AddScreenFlags(list, &flags->screen);
  list->callback([flags, exit_code] { *exit_code = List(*flags); });
}

}  // namespace lagwatch::tools
