// SPDX-License-Identifier: Apache-2.0
#include "collector/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <thread>

#include "collector/settings_file.h"
#include "collector/store/clickhouse/server/clickhouse_url.h"

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
  damaged/      databases that were set aside (repair)
  clickhouse-spool  reports on their way to ClickHouse (--store)
  retention, retention-traces, retention-app-APP  up to which day old records are gone
  confirmed-clock   when a person said that the clock is right (retention confirm-clock)

Signals:
  SIGTERM, SIGINT  answer what has begun, for 10 s at most, and end
  SIGHUP           read the certificate again

Exit status: 0 when it was told to end, 1 when it could not go on, 2 for a wrong command line.

Examples:
  lagwatch-collector --data /var/lib/lagwatch-collector
  lagwatch-collector --settings /etc/lagwatch/collector.toml
  lagwatch-collector --listen 0.0.0.0:443 --tls-cert chain.pem --tls-key key.pem
  lagwatch-collector backup --data /var/lib/lagwatch-collector /backup/lagwatch-monday
  lagwatch-collector repair --data /var/lib/lagwatch-collector
  lagwatch-collector keys add --data /var/lib/lagwatch-collector --name alice --access read --expires 90d

The HTTP API, keys and limits: collector/API.md.
)";

// An option that gives programs a number each: APP=NUMBER, several times.
struct AppOption {
  const char* name;  // of the option
  const char* unit;  // of the number, as the help calls it
  int64_t most;      // 1 is the least
};

// A file of the data directory may be named after a program.
constexpr size_t kMostAppBytes = 64;

std::optional<int64_t> NumberIn(const std::string& text) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

// Numbers by program. Errors: kInvalid, for a person.
base::Result<std::map<std::string, int64_t, std::less<>>> ParseAppOption(
    const AppOption& option, const std::vector<std::string>& texts) {
  std::map<std::string, int64_t, std::less<>> numbers;
  const std::string unit = option.unit;
  const auto wrong = [&](const std::string& text, const std::string& why) {
    return Status(StatusCode::kInvalid, std::string(option.name) + " '" + text + "': " + why);
  };
  for (const std::string& text : texts) {
    const size_t mark = text.rfind('=');
    if (mark == std::string::npos || mark == 0)
      return wrong(text, "give it as APP=" + unit + ", such as editor=30");
    const std::string app = text.substr(0, mark);
    const auto number = NumberIn(text.substr(mark + 1));
    if (app.size() > kMostAppBytes)
      return wrong(text, "APP has at most " + std::to_string(kMostAppBytes) + " bytes");
    if (!number || *number < 1 || *number > option.most)
      return wrong(text, unit + " is a number from 1 to " + std::to_string(option.most));
    if (!numbers.emplace(app, *number).second)
      return wrong(text, "the program " + app + " has a number already");
  }
  return numbers;
}

constexpr AppOption kAppRetention{.name = "--app-retention-days", .unit = "DAYS", .most = 36'500};
constexpr AppOption kAppQuota{.name = "--app-quota", .unit = "REPORTS", .most = 1'000'000'000};
constexpr double kLeastStoreGib = 0.0625;
constexpr double kMostStoreGib = 1 << 20;

// Options that only a store in SQLite has.
base::Status CheckStoreOptions(const Flags& flags) {
  using base::StatusCode;
  const auto retention = LAGWATCH_TRY(ParseAppOption(kAppRetention, flags.app_retention_days));
  if (flags.store_gib && !(*flags.store_gib >= kLeastStoreGib && *flags.store_gib <= kMostStoreGib))
    return {StatusCode::kInvalid,
            "--store-gib is a number from 0.0625 to 1048576; leave it out for a store without a limit"};
  if (!flags.HasClickHouse()) return {};
  if (!retention.empty())
    return {StatusCode::kInvalid,
            "--app-retention-days needs --store sqlite: a store in ClickHouse removes whole days of all "
            "programs"};
  if (flags.store_gib)
    return {StatusCode::kInvalid,
            "--store-gib needs --store sqlite: limit a ClickHouse by its own disks and --retention-days"};
  return {};
}

base::Status CheckProxies(const Flags& flags) {
  if (const auto proxies = TrustedProxies::Parse(flags.trusted_proxies); !proxies.ok())
    return {base::StatusCode::kInvalid, "--trusted-proxy " + proxies.status().message()};
  if (flags.has_proxy_header && flags.trusted_proxies.empty())
    return {base::StatusCode::kInvalid, "--proxy-protocol needs the proxy's address: give --trusted-proxy"};
  return {};
}

void DeclareProxies(Flags* flags, CLI::App* app) {
  app->add_option(
         "--trusted-proxy", flags->trusted_proxies,
         "ADDRESS or ADDRESS/BITS of a proxy whose X-Forwarded-For or Forwarded names the client; limits "
         "per address then count clients; may be given several times")
      ->allow_extra_args(false);
  app->add_flag("--proxy-protocol", flags->has_proxy_header,
                "Trusted proxies begin each connection with a header of the PROXY protocol, version 1 or 2");
}

void DeclareQueries(Flags* flags, CLI::App* app) {
  app->add_option("--query-threads", flags->http.query_threads,
                  "Threads for queries, separate from those for uploads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app->add_option_function<int64_t>(
         "--query-timeout-s",
         [flags](int64_t seconds) { flags->http.query_time = std::chrono::seconds(seconds); },
         "Timeout of a query; it also ends when its client disconnects")
      ->check(CLI::Range(1, 3600))
      ->default_str("30");
}

void DeclareLimits(Flags* flags, CLI::App* app) {
  app->add_option("--max-body-bytes", flags->limits.body_bytes, "Limit of a request's body, as sent")
      ->capture_default_str();
  app->add_option("--max-inflated-bytes", flags->limits.inflated_bytes, "Limit of a request's body, inflated")
      ->capture_default_str();
  app->add_option(
         "--max-bytes-in-flight", flags->http.bytes_in_flight,
         "Limit of all bodies that are being read or stored; one address has a quarter of it at most, "
         "and requests beyond it are answered with 503")
      ->capture_default_str();
  app->add_option_function<int64_t>(
         "--body-timeout-s",
         [flags](int64_t seconds) { flags->http.body_time = std::chrono::seconds(seconds); },
         "Timeout of a request's whole body, at any pace")
      ->check(CLI::Range(1, 3600))
      ->default_str("120");
  app->add_option("--max-connections", flags->http.connections,
                  "Limit of all connections; the limit of open files also applies")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_option("--max-connections-per-peer", flags->http.connections_per_peer,
                  "Connections per address, or per /64 of IPv6; 0: no limit per address. Those of a "
                  "trusted proxy count in the sum alone")
      ->capture_default_str();
  app->add_option("--threads", flags->threads, "Threads for connections and uploads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  DeclareQueries(flags, app);
}

void DeclareDisk(Flags* flags, CLI::App* app) {
  app->add_option("--min-free-mib", flags->min_free_mib,
                  "Free space of DATA's file system, in MiB, below which uploads are refused (503), so that "
                  "retention has room to work; 0: no limit")
      ->check(CLI::Range(0, 1 << 30))
      ->capture_default_str();
  app->add_option("--store-gib", flags->store_gib,
                  "Limit of the database and its log, in GiB, from 0.0625: near it the oldest days are "
                  "removed, and reports are refused (503) if that is not enough (default: none)");
}

void DeclareTraces(Flags* flags, CLI::App* app) {
  app->add_option("--max-trace-bytes", flags->traces.packed_bytes, "Limit of a trace, as sent")
      ->capture_default_str();
  app->add_option("--max-trace-unpacked-bytes", flags->traces.unpacked_bytes, "Limit of a trace, unpacked")
      ->capture_default_str();
  app->add_option("--max-traces-a-day", flags->traces.traces_a_day,
                  "Traces per project key and day (UTC); 0: none are accepted")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app->add_option("--max-trace-bytes-a-day", flags->traces.bytes_a_day, "Total size of these traces")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app->add_option("--trace-retention-days", flags->trace_retention_days,
                  "Days that traces are kept, at most as long as reports; 0: as long as reports")
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
  if (base::Status checked = CheckProxies(flags); !checked.ok()) return checked;
  if (const auto sources = ParseSources(flags.sources, flags.source_roots); !sources.ok())
    return sources.status();
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

SourceTemplates Flags::ToSources() const {
  auto parsed = ParseSources(sources, source_roots);
  return parsed.ok() ? std::move(parsed).value() : SourceTemplates();
}

TrustedProxies Flags::ToTrustedProxies() const {
  auto proxies = TrustedProxies::Parse(trusted_proxies);
  return proxies.ok() ? std::move(proxies).value() : TrustedProxies();
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
      "File, or directory of .txt files, with rules for clustering, instead of the built-in ones");
  app->add_option("--cluster-by", flags->cluster_by,
                  "Frames to cluster by: the significant ones, or all except the innermost waits")
      ->transform(CLI::CheckedTransformer(kClusterBy))
      ->default_str("significant");
  app->add_option("--symbols-dir", flags->symbol_directories,
                  "A directory with symbol files of this machine; may be given several times")
      ->allow_extra_args(false);
  app->add_option("--debuginfod", flags->debuginfod_urls,
                  "The URL of a debuginfod server for symbol files; may be given several times")
      ->allow_extra_args(false);
  app->add_option(
         "--source", flags->sources,
         "APP=URL: the address of one program's sources, with {file}, {line} and {version}, that frames "
         "lead to; may be given several times")
      ->allow_extra_args(false);
  app->add_option("--source-root", flags->source_roots,
                  "APP=DIRECTORY that the paths of these files begin with where the program is built; may be "
                  "given several times")
      ->allow_extra_args(false);
  app->add_option("--symbols-gib", flags->symbols_gib, "Limit of uploaded symbol files, in GiB")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app->add_option("--debuginfod-gib", flags->debuginfod_gib, "Limit of files from debuginfod servers, in GiB")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app->add_option("--retention-days", flags->retention_days, "Days that reports are kept; 0: for ever")
      ->check(CLI::Range(0, 36'500))
      ->capture_default_str();
  app->add_option(
         "--app-retention-days", flags->app_retention_days,
         "APP=DAYS: the same for one program's records, longer or shorter; may be given several times")
      ->allow_extra_args(false);
  app->add_option(
         "--least-user-rate-ppm", flags->weights.least_user_rate_ppm,
         "A report counts for a million divided by that many users at most; a lower user_rate_ppm of the "
         "config holds as well")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app->add_option("--app-quota", flags->app_quotas,
                  "APP=REPORTS: reports of one program to store per day (UTC); further ones are rejected; "
                  "may be given several times")
      ->allow_extra_args(false);
}

void Declare(Flags* flags, CLI::App* app) {
  flags->threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  flags->http.parser_threads = std::max(1, flags->threads / 2);
  app->footer(kFooter);
  app->set_version_flag("--version", "lagwatch-collector " LAGWATCH_VERSION);
  app->add_option("--listen", flags->listen, "IP:PORT to listen on; port 0 selects a free one")
      ->capture_default_str();
  auto* certificate = app->add_option("--tls-cert", flags->tls.certificate,
                                      "PEM file with the server's certificate and its intermediate ones; "
                                      "enables HTTPS only. Read again on SIGHUP");
  auto* key = app->add_option("--tls-key", flags->tls.key, "PEM file with the certificate's key");
  certificate->needs(key);
  key->needs(certificate);
  DeclareProxies(flags, app);
  app->add_option("--data", flags->data,
                  "Directory of the database and the keys; created if it does not exist")
      ->capture_default_str();
  app->add_option(
         "--store", flags->store,
         "Where reports are kept: sqlite, in DATA, or a ClickHouse, "
         "clickhouse://USER:PASSWORD@HOST:PORT[,HOST:PORT...]/DATABASE?cluster=NAME, which any number of "
         "collectors may have; DATA then has what is on its way there")
      ->envname("LAGWATCH_STORE")
      ->capture_default_str();
  app->add_option("--key", flags->keys,
                  "A project key, with which programs send reports, besides those of DATA/keys.json; may be "
                  "given several times. Without it, the first start creates one in DATA/key")
      ->envname("LAGWATCH_KEY")
      ->allow_extra_args(false);
  app->add_option("--admin-token", flags->admin_tokens,
                  "An admin key, likewise. Without it, the first start creates one in DATA/admin-token")
      ->envname("LAGWATCH_ADMIN_TOKEN")
      ->allow_extra_args(false);
  DeclareLimits(flags, app->add_option_group("Limits", "Limits of clients"));
  DeclareCauses(flags, app->add_option_group("Causes", "Clustering"));
  DeclareDisk(flags, app->add_option_group("Disk", "Disk space"));
  DeclareTraces(flags, app->add_option_group("Traces", "Traces"));
  app->add_option("--config", flags->config,
                  "File with the config for clients; optional (default: DATA/config.json)");
  app->add_option("--log-format", flags->log_format,
                  "Format of the log on stderr: text, or one JSON object per line")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app->add_flag("--print-public-key", flags->prints_public_key,
                "Print the public key of the config's signature, and exit")
      ->configurable(false);
  app->add_flag("--print-seal-key", flags->prints_seal_key,
                "Print the key that clients seal reports with, and exit")
      ->configurable(false);
  DeclareSettingsFile(app);
}

}  // namespace lagwatch::collector
