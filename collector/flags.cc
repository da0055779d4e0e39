// SPDX-License-Identifier: Apache-2.0
#include "collector/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <string>
#include <thread>

#include "collector/app_options.h"
#include "collector/store/clickhouse/clickhouse_url.h"

namespace lagwatch::collector {
namespace {

constexpr char kFooter[] = R"(
Files in DATA:
  collector.db  the reports       keys.json  digests of keys, and what they may
  key           the first project key, for programs       config.json  what clients are told (--config)
  admin-token   the first admin token, for people         signing-key, seal-key  secrets of this collector
  symbols/      symbol files that were uploaded           config-history/  what config.json was before
  audit.jsonl   who changed what                          clustering  by which rules reports have clusters
  deletions.json  what was deleted, and is to be          collector.lock  keeps a second one out
  clickhouse-spool  reports on their way to ClickHouse (--store)
  retention, retention-traces, retention-app-APP  up to which day old records are gone
  confirmed-clock   when a person said that the clock is right (retention confirm-clock)

Signals:
  SIGTERM, SIGINT  answer what has begun, for 10 s at most, and end
  SIGHUP           read the certificate again

Exit status: 0 when it was told to end, 1 when it could not go on, 2 for a wrong command line.

Examples:
  lagwatch-collector --data /var/lib/lagwatch
  lagwatch-collector --listen 0.0.0.0:443 --tls-cert chain.pem --tls-key key.pem
  lagwatch-collector backup --data /var/lib/lagwatch /backup/lagwatch-monday
  lagwatch-collector keys add --data /var/lib/lagwatch --name alice --access read --expires 90d

The HTTP API, keys and limits: collector/API.md.
)";

constexpr AppOption kAppRetention{.name = "--app-retention-days", .unit = "DAYS", .most = 36'500};
constexpr AppOption kAppQuota{.name = "--app-quota", .unit = "REPORTS", .most = 1'000'000'000};
constexpr double kLeastStoreGib = 0.0625;
constexpr double kMostStoreGib = 1 << 20;

// Options that only a store in SQLite has.
base::Status CheckStoreOptions(const Flags& flags) {
  using base::StatusCode;
  const auto retention = ParseAppOption(kAppRetention, flags.app_retention_days);
  if (!retention.ok()) return retention.status();
  if (flags.store_gib && !(*flags.store_gib >= kLeastStoreGib && *flags.store_gib <= kMostStoreGib))
    return {StatusCode::kInvalid,
            "--store-gib is a number from 0.0625 to 1048576; leave it out for a store without a limit"};
  if (!flags.HasClickHouse()) return {};
  if (!retention->empty())
    return {StatusCode::kInvalid,
            "--app-retention-days needs --store sqlite: a store in ClickHouse removes whole days of all "
            "programs"};
  if (flags.store_gib)
    return {StatusCode::kInvalid,
            "--store-gib needs --store sqlite: limit a ClickHouse by its own disks and --retention-days"};
  return {};
}

void DeclareQueries(Flags* flags, CLI::App* app) {
  app->add_option("--query-threads", flags->http.query_threads,
                  "Threads of their own for questions, so that these hold up no upload")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app->add_option_function<int64_t>(
         "--query-timeout-s",
         [flags](int64_t seconds) { flags->http.query_time = std::chrono::seconds(seconds); },
         "A question is ended when it has no answer after that time, or when its client has gone")
      ->check(CLI::Range(1, 3600))
      ->default_str("30");
}

void DeclareLimits(Flags* flags, CLI::App* app) {
  app->add_option("--max-body-bytes", flags->limits.body_bytes, "Limit of a request's body as it is sent")
      ->capture_default_str();
  app->add_option("--max-inflated-bytes", flags->limits.inflated_bytes, "Limit of a request's body, inflated")
      ->capture_default_str();
  app->add_option(
         "--max-bytes-in-flight", flags->http.bytes_in_flight,
         "Limit of all bodies that are being read or stored; one address has a quarter of it at most, "
         "and who would be over it is told to come back (503)")
      ->capture_default_str();
  app->add_option("--max-connections", flags->http.connections,
                  "Connections in all, as far as the limit of open files allows them")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_option(
         "--max-connections-per-peer", flags->http.connections_per_peer,
         "Connections of one address, or of one /64 of IPv6; 0 behind a proxy, where all have the same: "
         "then no address has a limit of its own")
      ->capture_default_str();
  app->add_option("--threads", flags->threads, "Threads that read, write and store")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  DeclareQueries(flags, app);
}

void DeclareDisk(Flags* flags, CLI::App* app) {
  app->add_option("--min-free-mib", flags->min_free_mib,
                  "Free space of DATA's file system, in MiB, below which nothing new is taken (503), so that "
                  "retention "
                  "has room to work; 0: take reports until the disk is full")
      ->check(CLI::Range(0, 1 << 30))
      ->capture_default_str();
  app->add_option(
      "--store-gib", flags->store_gib,
      "How large the database and its log may be, in GiB, from 0.0625: the oldest days are removed "
      "when it comes near, and reports refused (503) when that is not enough. Without it, as "
      "large as the disk allows");
}

void DeclareTraces(Flags* flags, CLI::App* app) {
  app->add_option("--max-trace-bytes", flags->traces.packed_bytes, "Limit of a trace as it is sent")
      ->capture_default_str();
  app->add_option("--max-trace-unpacked-bytes", flags->traces.unpacked_bytes, "Limit of a trace, unpacked")
      ->capture_default_str();
  app->add_option("--max-traces-a-day", flags->traces.traces_a_day,
                  "How many traces each project key may bring in a day (UTC); 0: none are taken")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app->add_option("--max-trace-bytes-a-day", flags->traces.bytes_a_day, "How large these may be together")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app->add_option("--trace-retention-days", flags->trace_retention_days,
                  "For how long traces are kept, though not longer than reports; 0: as long as these")
      ->check(CLI::Range(0, 36'500))
      ->capture_default_str();
}

}  // namespace

base::Status Check(const Flags& flags) {
  if (flags.HasClickHouse()) {
    if (const auto url = ClickHouseUrl::Parse(flags.store); !url.ok())
      return {base::StatusCode::kInvalid, "--store is sqlite or a URL; " + url.status().message()};
  }
  if (base::Status checked = CheckStoreOptions(flags); !checked.ok()) return checked;
  if (const auto quotas = ParseAppOption(kAppQuota, flags.app_quotas); !quotas.ok()) return quotas.status();
  const uint64_t part = flags.http.BytesOfAPeer();
  if (std::max(flags.limits.body_bytes, flags.limits.inflated_bytes) <= part) return {};
  return {base::StatusCode::kInvalid, "a body could be larger than what one address may have in flight (" +
                                          std::to_string(part) +
                                          " bytes); give a larger --max-bytes-in-flight"};
}

Retention Flags::ToRetention() const {
  Retention retention{.days = retention_days};
  if (auto own = ParseAppOption(kAppRetention, app_retention_days); own.ok())
    retention.days_of_apps = std::move(own).value();
  return retention;
}

std::map<std::string, int64_t, std::less<>> Flags::ToAppQuotas() const {
  auto quotas = ParseAppOption(kAppQuota, app_quotas);
  if (!quotas.ok()) return {};
  return std::move(quotas).value();
}

uint64_t Flags::MostStoreBytes() const {
  constexpr double kGiB = 1 << 30;
  return store_gib ? static_cast<uint64_t>(*store_gib * kGiB) : 0;
}

void DeclareCauses(Flags* flags, CLI::App* app) {
  static const std::map<std::string, policies::ClusterBy> kClusterBy = {
      {"raw", policies::ClusterBy::kRaw}, {"significant", policies::ClusterBy::kSignificant}};
  app->add_option(
      "--cluster-rules", flags->cluster_rules,
      "File, or directory of .txt files, with the rules that tell causes apart, instead of those built in");
  app->add_option("--cluster-by", flags->cluster_by,
                  "What tells causes apart: the significant frames, or the raw ones but the innermost waits")
      ->transform(CLI::CheckedTransformer(kClusterBy))
      ->default_str("significant");
  app->add_option("--symbols-dir", flags->symbol_directories,
                  "A directory with symbol files of this machine; may be given several times")
      ->allow_extra_args(false);
  app->add_option("--debuginfod", flags->debuginfod_urls,
                  "The URL of a debuginfod server to ask for symbol files; may be given several times")
      ->allow_extra_args(false);
  app->add_option("--symbols-gib", flags->symbols_gib, "How much uploaded symbol files may take, in GiB")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app->add_option("--debuginfod-gib", flags->debuginfod_gib,
                  "How much files from debuginfod servers may take, in GiB")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app->add_option("--retention-days", flags->retention_days, "For how long reports are kept; 0: for ever")
      ->check(CLI::Range(0, 36'500))
      ->capture_default_str();
  app->add_option(
         "--app-retention-days", flags->app_retention_days,
         "APP=DAYS: the same of one program's records, longer or shorter; may be given several times")
      ->allow_extra_args(false);
  app->add_option("--app-quota", flags->app_quotas,
                  "APP=REPORTS: how many reports of one program are stored in a day (UTC); more are rejected "
                  "alone; may be given several times")
      ->allow_extra_args(false);
}

void Declare(Flags* flags, CLI::App* app) {
  flags->threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  app->footer(kFooter);
  app->set_version_flag("--version", "lagwatch-collector " LAGWATCH_VERSION);
  app->add_option("--listen", flags->listen, "IP:PORT to listen on; port 0 takes a free one")
      ->capture_default_str();
  auto* certificate = app->add_option("--tls-cert", flags->tls.certificate,
                                      "PEM file with the server's certificate and those between it and the "
                                      "authority: HTTPS alone is spoken then. Read again on SIGHUP");
  auto* key = app->add_option("--tls-key", flags->tls.key, "PEM file with the certificate's key");
  certificate->needs(key);
  key->needs(certificate);
  app->add_option("--data", flags->data,
                  "Directory of the database and the keys; created when it is not there")
      ->capture_default_str();
  app->add_option(
         "--store", flags->store,
         "Where reports are kept: sqlite, in DATA, or a ClickHouse, "
         "clickhouse://USER:PASSWORD@HOST:PORT[,HOST:PORT...]/DATABASE?cluster=NAME, which any number of "
         "collectors may have; DATA then has what is on its way there")
      ->envname("LAGWATCH_STORE")
      ->capture_default_str();
  app->add_option(
         "--key", flags->keys,
         "A project key, which programs send reports with, besides those of DATA/keys.json; may be given "
         "several times. Without it, the first start makes one and writes it to DATA/key")
      ->envname("LAGWATCH_KEY")
      ->allow_extra_args(false);
  app->add_option("--admin-token", flags->admin_tokens,
                  "A key for everything, likewise. Without it, the first start makes one and writes it to "
                  "DATA/admin-token")
      ->envname("LAGWATCH_ADMIN_TOKEN")
      ->allow_extra_args(false);
  DeclareLimits(flags, app->add_option_group("Limits", "What a peer may have and take"));
  DeclareCauses(flags, app->add_option_group("Causes", "How reports become causes"));
  DeclareDisk(flags, app->add_option_group("Disk", "What is kept free"));
  DeclareTraces(flags, app->add_option_group("Traces", "What may come along with reports"));
  app->add_option("--config", flags->config,
                  "File with the config for clients; need not be there (default: DATA/config.json)");
  app->add_option("--log-format", flags->log_format, "How stderr is written: for people, or an object a line")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app->add_flag("--print-public-key", flags->prints_public_key,
                "Print the key that clients know the config's signature by, and end");
  app->add_flag("--print-seal-key", flags->prints_seal_key,
                "Print the key that clients seal reports with, and end");
}

}  // namespace lagwatch::collector
