// SPDX-License-Identifier: Apache-2.0
// lagwatch-collector: takes reports over HTTP, keeps them in one directory and answers what froze.
#include <spdlog/formatter.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/process/env.h"
#include "base/text.h"
#include "collector/commands/commands.h"
#include "collector/config/config_service.h"
#include "collector/files/data_lock.h"
#include "collector/files/disk_space.h"
#include "collector/flags.h"
#include "collector/http/endpoints.h"
#include "collector/http/server/http_server.h"
#include "collector/http/server/log_redaction.h"
#include "collector/keys/key_file.h"
#include "collector/keys/secret_file.h"
#include "collector/maintenance/app_retention_job.h"
#include "collector/maintenance/damage_job.h"
#include "collector/maintenance/maintenance.h"
#include "collector/maintenance/retention_job.h"
#include "collector/maintenance/store_quota.h"
#include "collector/maintenance/symbolize_job.h"
#include "collector/query/json/json_text.h"
#include "collector/query/symbols_api.h"
#include "collector/sharing/settings_sync.h"
#include "collector/sharing/shared_config.h"
#include "collector/sharing/shared_keys.h"
#include "collector/store/clickhouse/clickhouse_store.h"
#include "collector/store/query_limit.h"
#include "collector/store/sqlite/damage/set_aside.h"
#include "collector/store/sqlite/sqlite_store.h"
#include "collector/symbols/symbol_service.h"
#include "collector/symbols/worker/symbol_worker.h"
#include "collector/web/page_files.h"
#include "report/seal/seal_key.h"

namespace lagwatch::collector {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
// New reports wait for so long, at most, for names from symbol files.
constexpr std::chrono::seconds kMaintenancePause{10};
// A collector knows for so long, at most, nothing of what was changed at another one; and the time of a step.
constexpr std::chrono::seconds kSharingPause{2};
// Uploads are refused for so long, at most, before a damaged database is set aside.
constexpr std::chrono::seconds kDamagePause{1};

std::string TimeText(spdlog::log_clock::time_point time) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  char text[8];
  std::snprintf(text, sizeof text, ".%03dZ", static_cast<int>(ms % 1000));
  return base::UtcText(ms, "%Y-%m-%dT%H:%M:%S") + text;
}

// Only those that are known.
void AddFacts(const LogFacts& facts, Json* object) {
  if (!facts.key.empty()) (*object)["key"] = facts.key;
  if (!facts.peer.empty()) (*object)["peer"] = facts.peer;
  if (facts.status != 0) (*object)["status"] = facts.status;
  if (facts.duration_ms) (*object)["duration_ms"] = std::round(*facts.duration_ms * 1000) / 1000;
}

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& line) override {
    const auto level = spdlog::level::to_string_view(message.level);
    Json object = {{"time", TimeText(message.time)},
                   {"level", std::string(level.data(), level.size())},
                   {"message", std::string(message.payload.data(), message.payload.size())}};
    if (const LogFacts* facts = LogFacts::OfThisLine(); facts != nullptr) AddFacts(*facts, &object);
    const std::string text = JsonText(object) + "\n";
    line.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<JsonFormatter>(); }
};

// To stderr, from now on: lines for people, or an object a line, {"time", "level", "message"} and, of
// requests, {"key", "peer", "status", "duration_ms"}; without secrets.
void SetUpLog(bool is_json, std::vector<std::string> secrets = {}) {
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  auto logger = std::make_shared<spdlog::logger>("collector", std::move(sink));
  std::unique_ptr<spdlog::formatter> formatter = std::make_unique<spdlog::pattern_formatter>();
  if (is_json) formatter = std::make_unique<JsonFormatter>();
  logger->set_formatter(CreateRedactingFormatter(std::move(formatter), std::move(secrets)));
  spdlog::set_default_logger(std::move(logger));
}

Status CreateDataDirectory(const Flags& flags) {
  if (int error = base::SystemEnv().CreateDirectories(flags.data)) {
    return base::IoError("cannot create the data directory " + flags.data + " (give another with --data)",
                         error);
  }
  return {};
}

// Prints the public half of a secret in `path`.
template <typename Key>
Status PrintPublicHalf(const Flags& flags, const std::string& path) {
  if (Status created = CreateDataDirectory(flags); !created.ok()) return created;
  auto key = LAGWATCH_TRY(LoadOrCreateKey<Key>(path));
  auto public_key = LAGWATCH_TRY(key.ToPublicKey());
  std::printf("%s\n", base::ToHex(public_key).c_str());
  return {};
}

// Keys that were given are not logged; of those that were not, their files are.
Status PrepareKeys(const Flags& flags, const KeyFile& file) {
  std::vector<FirstKey> wanted;
  if (flags.keys.empty()) wanted.push_back({Access::kProject, flags.data + "/key"});
  if (flags.admin_tokens.empty()) wanted.push_back({Access::kAdmin, flags.data + "/admin-token"});
  return CreateFirstKeys(file, wanted);
}

// Without it the collector starts, too: a part of the store may be away.
void ShareNow(SettingsSync* sync) {
  if (const auto shared = sync->Step(); !shared.ok())
    spdlog::error("{}: {}", sync->name(), shared.status().message());
}

std::vector<GivenKey> GivenKeys(const Flags& flags) {
  std::vector<GivenKey> given;
  for (const std::string& key : flags.keys) given.push_back({key, Access::kProject});
  for (const std::string& token : flags.admin_tokens) given.push_back({token, Access::kAdmin});
  return given;
}

// The signals that this program waits for, blocked in this thread and in all that it starts.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// Renews the certificate at each SIGHUP. Returns the signal that ends the program.
int WaitForStop(const sigset_t& signals, HttpServer* server) {
  for (int number = 0;;) {
    sigwait(&signals, &number);
    if (number != SIGHUP) return number;
    const Status reloaded = server->ReloadCertificate();
    if (reloaded.ok()) {
      spdlog::info("read the certificate again");
    } else {
      spdlog::error("{}; the previous one stays in use", reloaded.message());
    }
  }
}

// For an upload, which waits for it.
Result<std::optional<ReportRow>> FindRowSoon(Store* store, const base::Uuid& id) {
  const QueryLimit limit(std::chrono::seconds(1));
  const QueryLimit::Scope scope(&limit);
  auto found = LAGWATCH_TRY(store->FindReport(id));
  return found ? std::optional(std::move(found->row)) : std::nullopt;
}

// Of jobs that are tried again soon: an error is logged when it is another one than that of the step before.
class RepeatedErrors {
 public:
  void Log(const std::string& job, const Status& error) {
    if (std::exchange(said_[job], error.message()) != error.message())
      spdlog::error("{}: {}", job, error.message());
  }
  void NoteStep(const std::string& job, bool is_ok) {
    if (is_ok) said_.erase(job);
  }

 private:
  std::map<std::string, std::string> said_;  // by job
};

void NoteSetAside(const std::string& folder, const Status& damage) {
  if (Status kept = KeepReason(folder, damage); !kept.ok()) spdlog::warn("{}", kept.message());
  spdlog::error(
      "{}; it is set aside in {}, and a new one takes reports: stop the collector and run "
      "`lagwatch-collector repair`",
      damage.message(), folder);
}

// A warning for operators; empty: none.
std::string AsideWarning(const std::string& data) {
  for (const AsideDatabase& aside : ListAside(data)) {
    if (!aside.is_salvaged)
      return "a damaged database is set aside: lists have only what came since; run `lagwatch-collector "
             "repair`";
  }
  return "";
}

// The databases that are set aside and not repaired. Readers need no key: their places are left out.
Json ListUnrepaired(const std::string& data) {
  Json list = Json::array();
  for (const AsideDatabase& aside : ListAside(data)) {
    if (aside.is_salvaged) continue;
    list.push_back({{"at_ms", aside.at_ms == 0 ? Json() : Json(aside.at_ms)},
                    {"reason", aside.reason.empty() ? Json() : Json(aside.reason)}});
  }
  return list;
}

struct OpenedStore {
  std::unique_ptr<Store> store;
  SqliteStore* sqlite = nullptr;      // the same; null: it is elsewhere
  SettingsStore* settings = nullptr;  // the same; null: it is this collector's alone
};

base::Result<OpenedStore> OpenStore(const Flags& flags) {
  if (flags.HasClickHouse()) {
    auto store = ClickHouseStore::Open(flags.store, flags.data + "/clickhouse-spool",
                                       [](const std::string& line) { spdlog::error("{}", line); });
    if (!store.ok()) return store.status();
    ClickHouseStore* const opened = store->get();
    return OpenedStore{.store = std::move(store).value(), .settings = opened};
  }
  const std::string path = flags.data + "/collector.db";
  if (Status finished = FinishMove(path); !finished.ok()) return finished;
  auto sqlite = SqliteStore::Open(path);
  if (!sqlite.ok() && sqlite.status().code() == base::StatusCode::kInternal) {
    const std::string folder = NewAsideFolder(flags.data);
    if (Status moved = MoveDatabase(path, folder); !moved.ok()) return moved;
    NoteSetAside(folder, sqlite.status());
    sqlite = SqliteStore::Open(path);
  }
  if (!sqlite.ok()) return sqlite.status();
  SqliteStore* const opened = sqlite->get();
  return OpenedStore{.store = std::move(sqlite).value(), .sqlite = opened};
}

// Asks the store what costs it nothing. `sqlite` is the same, or null.
Status CheckStore(StoredReports* store, const SqliteStore* sqlite) {
  if (sqlite != nullptr) {
    if (Status damage = sqlite->Damage(); !damage.ok()) return damage;
  }
  return store->FindIds(base::Uuid{}, base::Uuid{}, 1).status();
}

void MeasureStore(const Flags& flags, const SqliteStore* sqlite, Metrics* metrics) {
  if (sqlite == nullptr) return;
  metrics->SetStoreSize(sqlite->Size(), flags.MostStoreBytes());
  metrics->SetDamaged(
      !sqlite->Damage().ok(),
      static_cast<uint64_t>(std::ranges::count_if(
          ListAside(flags.data), [](const AsideDatabase& aside) { return !aside.is_salvaged; })));
}

// Databases that were set aside have records that a deletion does not reach.
Status CheckNoneAside(const std::string& data) {
  if (ListAside(data).empty()) return {};
  return {base::StatusCode::kUnavailable,
          "DATA/damaged has damaged databases with records: run `lagwatch-collector repair --remove`"};
}

// Removes a user's name from the files beside the store.
Status EraseName(const std::string& user, ConfigAdmin* config, AuditLog* audit) {
  if (Status erased = config->EraseUser(user, "deletion"); !erased.ok()) return erased;
  return audit->EraseUser(user);
}

TimeRule TimesToTake(const Flags& flags) {
  const base::Clock& clock = base::SystemClock();
  const int64_t start_ms = clock.WallMs() - clock.BootNs() / base::kNsPerMs;
  return {.wall_ms = [&clock] { return clock.WallMs(); },
          .steady_wall_ms = [&clock, start_ms] { return start_ms + clock.BootNs() / base::kNsPerMs; },
          .retention_days = flags.retention_days,
          .days_of_apps = flags.ToRetention().days_of_apps};
}

// A store's retention: of all programs alike, or with programs that have one of their own.
struct RetentionOfStore {
  std::unique_ptr<MaintenanceJob> job;
  std::function<RetentionState()> state;
};

RetentionOfStore CreateRetention(const Flags& flags, StoreMaintenance* store) {
  const auto wall_ms = [] { return base::SystemClock().WallMs(); };
  const RetentionOptions options{.state_path = flags.data + "/retention",
                                 .confirmed_path = flags.ConfirmedClockPath()};
  const auto with_state = [](auto job) -> RetentionOfStore {
    auto state = [made = job.get()] { return made->state(); };
    return {std::move(job), std::move(state)};
  };
  if (!flags.app_retention_days.empty())
    return with_state(std::make_unique<AppRetentionJob>(store, flags.ToRetention(), wall_ms, options));
  return with_state(std::make_unique<RetentionJob>(store, flags.retention_days, wall_ms, options));
}

void LogRemovedDay(int64_t day, int64_t reports, const SqliteStore& store) {
  const StoreSize size = store.Size();
  spdlog::warn("store quota: removed the records of {}, {} reports among them; the store's size is {} MiB",
               base::UtcText(day * kMsPerDay, "%Y-%m-%d"), reports, (size.used_bytes + size.log_bytes) >> 20);
}

// Nothing when the store may be as large as it likes.
base::Result<std::unique_ptr<StoreQuota>> CreateStoreQuota(const Flags& flags, SqliteStore* sqlite,
                                                           Metrics* metrics) {
  if (flags.MostStoreBytes() == 0 || sqlite == nullptr) return std::unique_ptr<StoreQuota>();
  if (Status bounded = sqlite->SetMostBytes(flags.MostStoreBytes()); !bounded.ok()) return bounded;
  return std::make_unique<StoreQuota>(
      sqlite, flags.MostStoreBytes(),
      StoreQuotaOptions{.on_removed = [sqlite, metrics](int64_t day, int64_t reports) {
        metrics->CountQuotaRemoval(reports);
        LogRemovedDay(day, reports, *sqlite);
      }});
}

Status Serve(const Flags& flags, const ListenAddress& listen) {
  const sigset_t signals = BlockSignals();
  if (Status created = CreateDataDirectory(flags); !created.ok()) return created;
  const auto data_lock = LAGWATCH_TRY(DataLock::Take(flags.data));
  auto clusterer = LAGWATCH_TRY(Clusterer::Create(flags.cluster_rules, flags.cluster_by));
  const auto opened = LAGWATCH_TRY(OpenStore(flags));
  Store* const store = opened.store.get();
  const KeyFile key_file(flags.KeyFilePath());
  SharedKeys shared_keys(key_file);
  SettingsSync key_sync(std::string(kKeyPrefix), opened.settings, &shared_keys, flags.data + "/shared-keys");
  // The others may have the first keys; if not, those that are made here are theirs, too.
  if (opened.settings != nullptr) ShareNow(&key_sync);
  if (Status prepared = PrepareKeys(flags, key_file); !prepared.ok()) return prepared;
  if (opened.settings != nullptr) ShareNow(&key_sync);
  KeyRing keys(GivenKeys(flags), key_file);
  auto signing_key = LAGWATCH_TRY(LoadOrCreateKey<report::SigningKey>(flags.SigningKeyPath()));
  auto seal_key = LAGWATCH_TRY(LoadOrCreateKey<report::SealKey>(flags.SealKeyPath()));
  const report::RecordOpener opener(seal_key);
  ConfigService config(flags.ConfigPath(), flags.data + "/config-version", signing_key);
  auto symbols =
      LAGWATCH_TRY(SymbolService::Open({.data_directory = flags.data,
                                        .directories = flags.symbol_directories,
                                        .debuginfod_urls = flags.debuginfod_urls,
                                        .limits = {.total_bytes = flags.symbols_gib << 30},
                                        .debuginfod_limits = {.total_bytes = flags.debuginfod_gib << 30}}));
  SymbolsApi symbols_api(symbols->files());
  AuditLog audit(flags.AuditPath());
  ConfigAdmin config_admin(flags.ConfigPath(), flags.data + "/config-history", &config, &audit);
  const AnnotatedCauses causes(store);
  Metrics metrics;
  metrics.SetBuild(LAGWATCH_VERSION);
  AppQuota app_quota(flags.ToAppQuotas());
  const SourceLookup source_of = [&config, given = flags.ToSources()](std::string_view app) {
    if (auto source = config.SourceOf(app)) return source;
    const auto found = given.find(app);
    return found == given.end() ? std::nullopt : std::optional(found->second);
  };
  QueryApi query_api(store, clusterer.rules(), symbols->reader_symbolizer(), &app_quota, source_of);
  SymbolizeJob symbolize(store, clusterer, symbols->symbolizer());
  ReclusterJob recluster(store, clusterer, symbols->symbolizer(), flags.data + "/clustering");
  const auto wall_ms = [] { return base::SystemClock().WallMs(); };
  const RetentionOfStore retention = CreateRetention(flags, store);
  const auto store_quota = LAGWATCH_TRY(CreateStoreQuota(flags, opened.sqlite, &metrics));
  RetentionJob trace_retention(
      store, flags.trace_retention_days, wall_ms,
      {.state_path = flags.data + "/retention-traces", .confirmed_path = flags.ConfirmedClockPath()},
      RetentionJob::Of::kTracesOnly);
  Deletions deletions(
      store, flags.data + "/deletions.json",
      [&](const std::string& user) { return EraseName(user, &config_admin, &audit); },
      [&] { return CheckNoneAside(flags.data); });
  StepJob unused_names = CreateUnusedNamesJob(store);
  StepJob repair = CreateRepairJob(store);
  StepJob compact = CreateCompactJob(store);
  const auto count_step = [&metrics](const std::string& job, bool is_ok, std::chrono::nanoseconds taken) {
    metrics.CountStep(job, is_ok, taken);
  };
  const auto log_error = [](const auto& job, const Status& error) {
    spdlog::error("{}: {}", job, error.message());
  };
  std::vector<MaintenanceJob*> jobs = {retention.job.get(), &trace_retention, &deletions,
                                       &unused_names,       &repair,          &compact};
  if (store_quota) jobs.push_back(store_quota.get());
  Maintenance maintenance(std::move(jobs), kMaintenancePause, log_error, count_step);
  // Apart: servers of symbols may be slow.
  Maintenance naming({&recluster, &symbolize}, kMaintenancePause, log_error, count_step);
  symbols->symbolizer()->OnNewFile([&](std::string_view) { naming.Wake(); });
  Ingest ingest(store, std::move(clusterer), &opener, {}, flags.traces, TimesToTake(flags), {}, &app_quota);
  WeightLimits weights(
      flags.weights, [&config] { return config.LeastUserRatePpm(); },
      [store](const base::Uuid& id) { return FindRowSoon(store, id); });
  ingest.BoundBy(
      [&config](const auto& program, const auto& version) { return config.HasVersion(program, version); },
      &weights);
  SharedConfig shared_config(&config_admin);
  SettingsSync config_sync(std::string(kConfigPrefix), opened.settings, &shared_config,
                           flags.data + "/shared-config");
  RepeatedErrors sharing_errors;
  Maintenance sharing(
      opened.settings != nullptr ? std::vector<MaintenanceJob*>{&key_sync, &config_sync}
                                 : std::vector<MaintenanceJob*>{},
      kSharingPause, [&](const auto& job, const Status& error) { sharing_errors.Log(job, error); },
      [&](const std::string& job, bool is_ok, std::chrono::nanoseconds taken) {
        sharing_errors.NoteStep(job, is_ok);
        count_step(job, is_ok, taken);
      });
  ReportFeed feed;
  HangCounts hang_counts;
  GroupCommit commits(
      store,
      [&feed, &maintenance, &hang_counts, quota = store_quota.get()](auto records, auto outcomes) {
        feed.Publish(records, outcomes);
        hang_counts.Add(records, outcomes, base::SystemClock().WallMs());
        if (quota != nullptr && quota->IsDue()) maintenance.Wake();
      },
      [&metrics](std::string_view part, std::chrono::nanoseconds taken) {
        metrics.CountCommit(part, taken);
      });
  std::unique_ptr<DamageJob> damage;
  if (opened.sqlite != nullptr) {
    damage = std::make_unique<DamageJob>(
        opened.sqlite,
        DamageJob::Options{
            .data = flags.data, .commits = [&] { return commits.commits(); }, .on_set_aside = NoteSetAside});
  }
  Maintenance checks(damage ? std::vector<MaintenanceJob*>{damage.get()} : std::vector<MaintenanceJob*>{},
                     kDamagePause, log_error, count_step);
  const DiskSpace disk(flags.data, flags.min_free_mib << 20);
  const Router router(
      CollectorEndpoints({.ingest = &ingest,
                          .commits = &commits,
                          .query_api = &query_api,
                          .keys = &keys,
                          .config = &config,
                          .key_file = &key_file,
                          .feed = &feed,
                          .causes = &causes,
                          .config_admin = &config_admin,
                          .audit = &audit,
                          .recluster = &recluster,
                          .store = store,
                          .deletions = &deletions,
                          .wake_maintenance = [&] { maintenance.Wake(); },
                          .retention = retention.state,
                          .symbols = &symbols_api,
                          .metrics = &metrics,
                          .disk = &disk,
                          .store_quota = store_quota.get(),
                          .app_quota = &app_quota,
                          .weights = &weights,
                          .check_store = [&] { return CheckStore(store, opened.sqlite); },
                          .hang_counts = &hang_counts,
                          .measure = [&](Metrics* all) { MeasureStore(flags, opened.sqlite, all); },
                          .warning = [&] { return AsideWarning(flags.data); },
                          .set_aside = [&] { return ListUnrepaired(flags.data); },
                          .page = PageFiles()},
                         flags.limits),
      &keys);
  auto server = LAGWATCH_TRY(HttpServer::Start({.listen = listen,
                                                .threads = flags.threads,
                                                .limits = flags.http,
                                                .tls = flags.tls,
                                                .proxies = flags.ToTrustedProxies(),
                                                .has_proxy_header = flags.has_proxy_header,
                                                .metrics = &metrics},
                                               &router));

  ListenAddress bound{listen.ip, server->port()};
  const bool is_tls = !flags.tls.certificate.empty();
  std::printf("lagwatch-collector listening on %s://%s\n", is_tls ? "https" : "http", bound.ToText().c_str());
  std::fflush(stdout);
  if (!is_tls && !listen.IsLoopback())
    spdlog::warn("keys and reports cross the network unencrypted: use --tls-cert, or a proxy with TLS");
  spdlog::info("stopping on signal {}", WaitForStop(signals, server.get()));
  server->Stop();
  symbols->Stop();
  return {};
}

// Without arguments nothing is created in whatever directory this is.
void PrintHelp(const CLI::App& app) {
  const Flags flags;
  std::printf(
      "%s\nNothing was started. `lagwatch-collector --data %s` would create that directory, with a database, "
      "a\n"
      "project key and an admin token, and serve reports and the page at http://%s until it is stopped.\n",
      app.help().c_str(), flags.data.c_str(), flags.listen.c_str());
}

int Main(int argc, char** argv) {
  umask(077);
  SetUpLog(/*is_json=*/false);
  Flags flags;
  CLI::App app("Collects lagwatch's reports and groups them into causes.", "lagwatch-collector");
  Declare(&flags, &app);
  int command_exit_code = -1;
  AddKeysCommand(
      &app, [&flags] { return flags.KeyFilePath(); }, [&flags] { return flags.AuditPath(); },
      &command_exit_code);
  AddBackupCommands(
      &app, [&flags] { return flags.data; }, &command_exit_code);
  AddRepairCommand(
      &app, [&flags] { return flags.data; },
      [&flags] { return Clusterer::Create(flags.cluster_rules, flags.cluster_by); }, &command_exit_code);
  AddRetentionCommand(
      &app, [&flags] { return flags.ConfirmedClockPath(); }, &command_exit_code);
  AddHelpCommand(&app, &command_exit_code);
  if (argc == 1) {
    PrintHelp(app);
    return 0;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  if (command_exit_code >= 0) return command_exit_code;
  std::vector<std::string> secrets = flags.keys;
  secrets.insert(secrets.end(), flags.admin_tokens.begin(), flags.admin_tokens.end());
  SetUpLog(flags.log_format == "json", std::move(secrets));
  auto listen = ListenAddress::Parse(flags.listen);
  if (!listen.ok()) {
    std::fprintf(stderr, "lagwatch-collector: --listen: %s\n", listen.status().message().c_str());
    return kUsage;
  }
  if (Status flags_status = Check(flags); !flags_status.ok()) {
    std::fprintf(stderr, "lagwatch-collector: %s\n", flags_status.message().c_str());
    return kUsage;
  }
  Status served = flags.prints_public_key ? PrintPublicHalf<report::SigningKey>(flags, flags.SigningKeyPath())
                  : flags.prints_seal_key ? PrintPublicHalf<report::SealKey>(flags, flags.SealKeyPath())
                                          : Serve(flags, *listen);
  if (!served.ok()) std::fprintf(stderr, "lagwatch-collector: %s\n", served.message().c_str());
  return served.ok() ? 0 : kFailed;
}

}  // namespace
}  // namespace lagwatch::collector

int main(int argc, char** argv) {
  using namespace lagwatch::collector;
  const bool is_worker = argc == 2 && std::string_view(argv[1]) == kWorkerArgument;
  return is_worker ? RunSymbolWorker(kWorkerSocket) : Main(argc, argv);
}
