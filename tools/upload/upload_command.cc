// SPDX-License-Identifier: Apache-2.0
#include <poll.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/process/env.h"
#include "report/spool/spool_reader.h"
#include "sdk/run/default_paths.h"
#include "sdk/run/run_end.h"
#include "sdk/run/run_facts.h"
#include "sdk/upload_service.h"
#include "tools/commands.h"
#include "tools/fleet/fleet_prober.h"
#include "tools/log/hang_follower.h"
#include "tools/read/table.h"
#include "tools/run/watch_flags.h"

namespace lagwatch::tools {
namespace {

struct UploadOptions {
  std::string spool_directory = sdk::DefaultSpoolDirectory();
  report::HttpOptions http;
  // Of a program that runs; by hand, everything is sent.
  uint32_t user_rate_ppm = policies::UserSampling::kAllPpm;
  uint32_t reports_per_day = policies::QuotaLimits::kNoLimit;
  uint32_t reports_per_cause = policies::QuotaLimits::kNoLimit;
  uint32_t traces_per_day = policies::QuotaLimits::kNoLimit;
  uint32_t slow_reports_per_day = policies::QuotaLimits::kNoLimit;
  std::string config_key;
  report::ConfigAudience audience;
  std::string app_version;
  FleetFlags fleet;
  int timeout_s = 30;
  int followed_fd = -1;
  pid_t followed_run = 0;
};

// A collector that does not answer when the program has ended is tried once more; then the reports wait for
// the next run.
constexpr int kMostFailuresAtEnd = 2;

// Sends while another process runs, until its descriptor says that it has ended, and those that it started
// and that are followed, too.
void SendWhileRunning(sdk::UploadService* service, const UploadOptions& options) {
  constexpr auto kLookPeriod = std::chrono::milliseconds(500);
  if (!service->Start().ok()) return;
  pollfd followed{.fd = options.followed_fd, .events = POLLIN, .revents = 0};
  const auto start_ticks = sdk::ProcessStartTicks(static_cast<uint32_t>(options.followed_run));
  // Refuses what is asked for, too: the collector learns why.
  std::optional<FleetProber> prober;
  if (!options.config_key.empty())
    prober.emplace(FleetSettings{.list_file = options.fleet.list_file,
                                 .list_key = options.fleet.list_key,
                                 .spool_directory = options.spool_directory,
                                 .run_pid = options.followed_run,
                                 .app = options.audience.app,
                                 .app_version = options.app_version,
                                 .user = options.audience.user},
                   [service] { return service->config(); });
  // A probe needs attention; a reason to refuse one can wait.
  const int look_ms = options.fleet.list_file.empty() ? 2'000 : 500;
  while (poll(&followed, 1, prober ? look_ms : -1) <= 0) {
    if (prober) prober->Step();
    // A request that is withdrawn ends its probe.
    if (prober && prober->is_running()) service->FetchConfigSoon();
  }
  if (prober) prober->Finish();
  // Without a collision of numbers: the descriptor is of that process, and was opened by one that started it.
  const auto status = sdk::ReadExitStatus(options.followed_fd, options.followed_run);
  if (status && start_ticks)
    sdk::NoteExitStatus(options.spool_directory, options.followed_run, *start_ticks, *status);
  while (options.followed_run != 0 && !PidsOfRun(options.spool_directory, options.followed_run).empty())
    std::this_thread::sleep_for(kLookPeriod);
}

sdk::UploadServiceOptions ServiceOptions(const UploadOptions& options) {
  sdk::UploadServiceOptions service{.http = options.http};
  service.config_key = options.config_key;
  service.audience = options.audience;
  service.app_version = options.app_version;
  const bool is_by_hand = options.followed_fd < 0;
  if (!is_by_hand) service.most_failures_at_end = kMostFailuresAtEnd;
  service.policies = is_by_hand ? report::UploadPolicies{.losses_wait_ms = 0} : sdk::DefaultUploadPolicies();
  service.policies.sampling.rate_ppm = options.user_rate_ppm;
  service.policies.quota = {.per_day = options.reports_per_day, .per_cluster = options.reports_per_cause};
  service.policies.traces.per_day = options.traces_per_day;
  service.policies.slow.per_day = options.slow_reports_per_day;
  return service;
}

// Errors: kNotFound when there is no such directory, kIo.
base::Status CheckSpool(const std::string& directory) {
  return report::SpoolReader(&base::SystemEnv(), directory)
      .List(report::SpoolReader::Include::kFinished)
      .status();
}

int Upload(const UploadOptions& options) {
  signal(SIGPIPE, SIG_IGN);
  // The spool of a program that runs may be still to come.
  if (base::Status spool = CheckSpool(options.spool_directory); options.followed_fd < 0 && !spool.ok()) {
    std::cerr << "lagwatch: " << spool.message() << "\n";
    return 1;
  }
  auto service = sdk::UploadService::Create(options.spool_directory, ServiceOptions(options));
  if (!service.ok()) {
    std::cerr << "lagwatch: " << service.status().message() << "\n";
    return 2;
  }
  const int64_t timeout_ns = options.timeout_s * base::kNsPerSecond;
  if (options.followed_fd >= 0) {
    SendWhileRunning(service->get(), options);
    const bool is_stopped = (*service)->TryStop(timeout_ns / base::kNsPerMs);
    if (!is_stopped) static_cast<void>(service->release());
    return 0;
  }
  report::SpoolSender* sender = (*service)->sender();
  size_t left = report::DrainSpool(sender, base::SystemClock().MonoNs() + timeout_ns);
  const report::UploadStats stats = sender->stats();
  std::cout << "sent " << stats.reports_delivered << " reports from " << options.spool_directory << "\n";
  if (stats.records_rejected > 0) {
    std::cerr << "lagwatch: the collector refused " << stats.records_rejected << " records ("
              << Printable(stats.last_problem) << "); they are kept as .rejected files\n";
  }
  if (left > 0) {
    std::cerr << "lagwatch: " << left << " files are still unsent: " << Printable(stats.last_problem) << "\n";
  }
  return left > 0 || stats.records_rejected > 0 ? 1 : 0;
}

}  // namespace

void AddUploadCommand(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<UploadOptions>();
  CLI::App* upload = app->add_subcommand("upload", "Send the reports that wait in a spool directory");
  upload->add_option("--spool", options->spool_directory, "The spool directory")
      ->envname("LAGWATCH_SPOOL")
      ->capture_default_str();
  upload->add_option("--endpoint", options->http.endpoint, "The collector's URL, or sentry: and a DSN")
      ->envname("LAGWATCH_ENDPOINT")
      ->required();
  upload->add_option("--key", options->http.key, "The collector's project key")->envname("LAGWATCH_KEY");
  upload->add_option("--timeout-s", options->timeout_s, "Timeout in seconds; unsent reports stay")
      ->capture_default_str();
  upload
      ->add_option("--ca-file", options->http.ca_file,
                   "PEM: trust only collectors with a certificate signed by one of these")
      ->envname("LAGWATCH_CA_FILE");
  upload->add_option("--proxy", options->http.proxy, "A proxy's URL (default: from the environment)");
  upload->add_option("--user-rate-ppm", options->user_rate_ppm)->group("");
  upload->add_option("--reports-per-day", options->reports_per_day)->group("");
  upload->add_option("--reports-per-cause", options->reports_per_cause)->group("");
  upload->add_option("--slow-reports-per-day", options->slow_reports_per_day)->group("");
  upload->add_option("--traces-per-day", options->traces_per_day)->group("");
  upload->add_option("--config-key", options->config_key)->group("");
  upload->add_option("--app", options->audience.app)->group("");
  upload->add_option("--app-version", options->app_version)->group("");
  upload->add_option("--user", options->audience.user)->group("");
  upload->add_option("--user-proof", options->audience.user_proof)->group("")->envname("LAGWATCH_USER_PROOF");
  upload->add_option("--fleet-probes", options->fleet.list_file)->group("");
  upload->add_option("--fleet-probes-key", options->fleet.list_key)->group("");
  // Set by `lagwatch run`: the descriptor becomes readable when the watched program ends.
  upload->add_option("--follow-fd", options->followed_fd)->group("");
  upload->add_option("--follow-run", options->followed_run)->group("");
  upload->callback([options, exit_code] { *exit_code = Upload(*options); });
}

}  // namespace lagwatch::tools
