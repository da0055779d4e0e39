// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "sdk/run/default_paths.h"
#include "tools/commands.h"
#include "tools/open/own_collector.h"
#include "tools/open/spool_copy.h"
#include "tools/read/output.h"
#include "tools/read/table.h"
#include "tools/run/checks.h"
#include "tools/temporary_directory.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

struct OpenCommandOptions {
  std::string subject;  // a spool directory, or a report's id; empty: neither
  std::string spool_directory = sdk::DefaultSpoolDirectory();
  bool has_no_browser = false;
};

bool IsReportId(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEF-") == std::string::npos;
}

// Blocked, so that they end the wait for them and not this process.
sigset_t BlockClosingSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// Has the desktop show the page, if there is one and a person has asked for it.
void ShowInBrowser(std::string url) {
  const bool has_display = std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr;
  const auto program = FindProgram("xdg-open");
  // A browser of root's is more than was asked for.
  if (!has_display || isatty(STDOUT_FILENO) == 0 || geteuid() == 0 || !program.ok()) return;
  std::string name = "xdg-open";
  char* const arguments[] = {name.data(), url.data(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&files, descriptor, "/dev/null", O_RDWR, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t browser = 0;
  posix_spawn(&browser, program->c_str(), &files, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
}

// Returns the exit code, when a signal has come or the collector has ended.
int AwaitClosing(const sigset_t& signals, OwnCollector* collector) {
  while (true) {
    const int number = sigwaitinfo(&signals, nullptr);
    if (number < 0 && errno == EINTR) continue;
    if (number != SIGCHLD) return 0;
    if (collector->HasEnded()) return Fail("the collector has ended unexpectedly");
  }
}

// Errors: kNotFound for a report that is not there, kUnavailable for a collector without a page.
base::Status CheckPage(OwnCollector* collector, const std::string& report_id) {
  if (!report_id.empty()) {
    const EndpointReply report = LAGWATCH_TRY(collector->Get("/v1/reports/" + report_id));
    if (const auto answer = ReadAnswer(report.http_status, report.body); !answer.ok()) return answer.status();
  }
  const EndpointReply page = LAGWATCH_TRY(collector->Get("/"));
  if (page.http_status == 200) return {};
  return ReadAnswer(page.http_status, page.body).status();
}

int RunOpen(const OpenCommandOptions& options) {
  constexpr int kUsage = 2;
  std::error_code error;
  const bool is_spool = fs::is_directory(options.subject, error);
  const std::string report_id = is_spool ? "" : options.subject;
  if (!report_id.empty() && !IsReportId(report_id)) {
    Fail("open: '" + report_id +
         "' is neither a spool directory nor a report's id; `lagwatch reports` lists ids");
    return kUsage;
  }
  const std::string spool = is_spool ? options.subject : options.spool_directory;
  const std::string program = FindCollectorProgram();
  if (program.empty())
    return Fail(
        "open: lagwatch-collector is neither beside this program nor in PATH: install it "
        "(the package lagwatch-collector); `lagwatch reports` needs none");
  const sigset_t signals = BlockClosingSignals();
  const TemporaryDirectory directory("lagwatch-open");
  if (directory.path().empty()) return Fail("open: cannot create a temporary directory (see TMPDIR)");
  const auto copy = CopySpool(spool, directory.path());
  if (!copy.ok()) return Fail("open: " + copy.status().message());
  const auto collector = OwnCollector::Start(program, directory.path());
  if (!collector.ok()) return Fail("open: " + collector.status().message());
  base::Status status = (*collector)->Store(copy->batch);
  if (status.ok()) status = CheckPage(collector->get(), report_id);
  if (!status.ok()) return Fail("open: " + status.message());
  const std::string place = report_id.empty() ? "/" : "/reports/" + report_id;
  const std::string url = (*collector)->url() + place + "#token=" + (*collector)->token();
  std::cout << copy->reports << (copy->reports == 1 ? " report of " : " reports of ") << Printable(spool)
            << ", until Ctrl-C, at\n"
            << url << std::endl;
  if (!options.has_no_browser) ShowInBrowser(url);
  return AwaitClosing(signals, collector->get());
}

}  // namespace

void AddOpenCommand(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<OpenCommandOptions>();
  CLI::App* open =
      app->add_subcommand("open", "Show the reports of a spool on the collector's page, in a browser");
  open->footer(
      "Starts a collector with a copy of the spool, on this machine alone, and prints the address of its "
      "page.\n"
      "Ctrl-C ends it, and nothing is left. The spool is not changed. On a terminal with a display, the page "
      "is\n"
      "opened by xdg-open.\n\n"
      "  lagwatch open\n"
      "  lagwatch open /var/lib/lagwatchd");
  open->add_option("SPOOL|ID", options->subject, "A spool directory, or a report of the default one");
  open->add_option("--spool", options->spool_directory, "The spool directory of a report")
      ->envname("LAGWATCH_SPOOL")
      ->capture_default_str();
  open->add_flag("--no-browser", options->has_no_browser, "Only print the address");
  open->callback([options, exit_code] { *exit_code = RunOpen(*options); });
}

}  // namespace lagwatch::tools
