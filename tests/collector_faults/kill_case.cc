// SPDX-License-Identifier: Apache-2.0
#include "tests/collector_faults/kill_case.h"

#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "collector/store/records.h"
#include "collector/store/sqlite/database/database.h"
#include "collector/store/sqlite/schema.h"
#include "tests/collector_faults/kill_client.h"
#include "tests/collector_faults/kill_templates.h"
#include "tests/collector_faults/store_check.h"
#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::faults {
namespace {

namespace fs = std::filesystem;
using collector::Database;
using collector::Statement;
using testing::Process;
using Clock = std::chrono::steady_clock;

constexpr int kClients = 3;
constexpr int64_t kLongestUs = 400'000;
constexpr int64_t kBackupUs = 150'000;

// One program that serves a directory.
class Collector {
 public:
  Collector(const std::string& program, const std::string& data, int64_t retention_days)
      : process_({program, "--listen", "127.0.0.1:0", "--data", data, "--key", kKey, "--admin-token",
                  "a_kills", "--retention-days", std::to_string(retention_days)}) {}

  // 0 until it listens.
  uint16_t Port() const {
    const std::string line = process_.Output();
    const size_t colon = line.rfind(':');
    return line.ends_with('\n') ? static_cast<uint16_t>(std::atoi(line.c_str() + colon + 1)) : 0;
  }
  bool HasEnded() {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(process_.pid()), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid != 0;
  }
  void Kill() {
    process_.Signal(SIGKILL);
    static_cast<void>(process_.Wait());
  }
  int Stop() {
    process_.Signal(SIGTERM);
    return process_.Wait();
  }
  std::string Errors() const { return process_.Errors(); }

 private:
  Process process_;
};

int64_t NumberOf(const std::string& database, const char* sql) {
  Database copy(database);
  Statement row = copy.Use(sql);
  return row.Step() ? row.Int(0) : -1;
}

}  // namespace

const char* NameOf(KillKind kind) {
  constexpr const char* kNames[] = {"ingest", "retention", "migration", "backup"};
  return kNames[static_cast<int>(kind)];
}

namespace {

class KillCase {
 public:
  KillCase(const std::string& program, const KillTemplates& templates, uint64_t seed, KillTotals* totals)
      : program_(program),
        templates_(templates),
        random_(seed),
        totals_(totals),
        kind_(static_cast<KillKind>(random_.Below(kKillKinds))) {}

  std::string Play(int most_kills, Damage damage);

 private:
  struct Backup {
    std::string directory;
    std::set<Id> must_have;
  };

  void Prepare();
  std::string KillOnce();
  std::string KillInBackup();
  std::string Settle();
  std::string CheckAll(Damage damage);
  std::string CheckBackups();

  // Starts the collector, and passes its port to the clients as soon as it has one, until `us` have passed,
  // or, if there is no such time, until it listens.
  std::string Serve(std::optional<int64_t> us);
  void Kill();
  bool IsMidway() const;
  std::set<Id> AcknowledgedSoFar() const;
  Expected ExpectedOfAll() const;
  std::string At(const char* name) const { return directory_ / name; }
  int64_t retention_days() const { return kind_ == KillKind::kRetention ? KillTemplates::kRetentionDays : 0; }

  const std::string& program_;
  const KillTemplates& templates_;
  Random random_;
  KillTotals* totals_;
  const KillKind kind_;
  testing::ScopedTempDirectory directory_;
  const std::string data_ = directory_ / "data";
  const std::string database_ = data_ + "/collector.db";
  std::atomic<uint16_t> port_ = 0;
  std::unique_ptr<Collector> collector_;
  std::vector<std::unique_ptr<KillClient>> clients_;
  std::vector<Backup> backups_;
};

void KillCase::Prepare() {
  fs::create_directories(data_);
  if (kind_ == KillKind::kRetention || kind_ == KillKind::kBackup)
    fs::copy_file(templates_.current(), database_);
  if (kind_ == KillKind::kMigration) fs::copy_file(templates_.older(), database_);
  for (int i = 0; i < kClients; ++i) {
    clients_.push_back(std::make_unique<KillClient>(random_.Next(), base::SystemClock().WallMs(), &port_));
  }
}

std::string KillCase::Serve(std::optional<int64_t> us) {
  const auto begin = Clock::now();
  const auto end = begin + (us ? std::chrono::microseconds(*us) : std::chrono::microseconds(60'000'000));
  if (!collector_) collector_ = std::make_unique<Collector>(program_, data_, retention_days());
  while (Clock::now() < end) {
    if (port_ == 0) port_ = collector_->Port();
    if (port_ != 0 && !us) return "";
    if (collector_->HasEnded()) return "the collector ended by itself: " + collector_->Errors();
    std::this_thread::sleep_for(
        std::min(std::chrono::duration_cast<std::chrono::microseconds>(end - Clock::now()),
                 std::chrono::microseconds(1000)));
  }
  return us ? "" : "the collector does not listen: " + collector_->Errors();
}

void KillCase::Kill() {
  collector_->Kill();
  ++totals_->kills;
  ++totals_->of_kind[kind_];
  if (IsMidway()) ++totals_->midway[kind_];
  port_ = 0;
  collector_.reset();
}

// Looks at a copy: the restarted collector is to find the files as they were left.
bool KillCase::IsMidway() const {
  if (kind_ == KillKind::kIngest) return port_ != 0;
  if (kind_ == KillKind::kBackup) return fs::exists(At("backup.part"));
  const std::string copy = At("copy.db");
  const bool has_log = fs::exists(database_ + "-wal");
  fs::copy_file(database_, copy, fs::copy_options::overwrite_existing);
  if (has_log) fs::copy_file(database_ + "-wal", copy + "-wal", fs::copy_options::overwrite_existing);
  bool is_midway = false;
  if (kind_ == KillKind::kMigration) {
    is_midway = has_log && NumberOf(copy, "PRAGMA user_version") < collector::kSchemaVersion;
  } else {
    Database database(copy);
    Statement left = database.Use("SELECT count(*) FROM reports WHERE id < ?");
    const base::Uuid end = collector::FirstIdOf(templates_.expired_day() + 1);
    left.Bind(collector::Blob{end.as_bytes()});
    const int64_t count = left.Step() ? left.Int(0) : 0;
    is_midway = count > 0 && count < static_cast<int64_t>(templates_.expired().reports.size());
  }
  for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(copy + suffix);
  return is_midway;
}

std::string KillCase::KillOnce() {
  if (kind_ == KillKind::kBackup) return KillInBackup();
  const int64_t longest_us =
      kind_ == KillKind::kMigration ? templates_.migration_us() * 3 / 2 + 30'000 : kLongestUs;
  const std::string problem = Serve(random_.Between(0, longest_us));
  if (problem.empty()) Kill();
  return problem;
}

std::string KillCase::KillInBackup() {
  if (std::string problem = Serve(std::nullopt); !problem.empty()) return problem;
  const std::string directory = At("backup");
  std::set<Id> acknowledged = AcknowledgedSoFar();
  Process backup({program_, "backup", "--data", data_, directory});
  std::this_thread::sleep_for(std::chrono::microseconds(random_.Between(0, kBackupUs)));
  const bool kills_backup = random_.Chance(60);
  if (kills_backup) backup.Signal(SIGKILL);
  Kill();
  const int code = backup.Wait();
  if (!kills_backup && code != 0) return "the backup failed: " + backup.Errors();
  if (!fs::exists(directory)) return "";
  // It is complete, although the process was killed.
  const std::string finished = At("backup-") + std::to_string(backups_.size());
  fs::rename(directory, finished);
  backups_.push_back({finished, std::move(acknowledged)});
  return "";
}

// Ends with all clients' records acknowledged, and with the collector's own end.
std::string KillCase::Settle() {
  if (std::string problem = Serve(std::nullopt); !problem.empty()) return problem;
  std::string problem;
  for (auto& client : clients_) {
    const std::string seen = client->Finish();
    if (problem.empty()) problem = seen;
    totals_->unanswered += client->unanswered();
  }
  if (!problem.empty()) return problem;
  if (kind_ == KillKind::kBackup) {
    std::set<Id> acknowledged = AcknowledgedSoFar();
    Process backup({program_, "backup", "--data", data_, At("backup")});
    if (backup.Wait() != 0) return "the backup after the kills failed: " + backup.Errors();
    backups_.push_back({At("backup"), std::move(acknowledged)});
  }
  const int code = collector_->Stop();
  return code == 0 ? "" : "the collector ended with " + std::to_string(code) + ": " + collector_->Errors();
}

std::set<Id> KillCase::AcknowledgedSoFar() const {
  std::set<Id> all;
  for (const auto& client : clients_) all.merge(client->Acknowledged());
  return all;
}

Expected KillCase::ExpectedOfAll() const {
  Expected all;
  for (const auto& client : clients_) all.Add(client->expected());
  if (kind_ != KillKind::kIngest) all.Add(templates_.kept());
  if (kind_ == KillKind::kMigration || kind_ == KillKind::kBackup) all.Add(templates_.expired());
  return all;
}

std::string KillCase::CheckBackups() {
  const std::set<Id> sent = ExpectedOfAll().reports;
  for (Backup& backup : backups_) {
    for (const Expected* filled : {&templates_.kept(), &templates_.expired()})
      backup.must_have.insert(filled->reports.begin(), filled->reports.end());
    const std::string problem =
        CheckStore(backup.directory + "/collector.db", {.must_have = backup.must_have, .may_have = sent});
    if (!problem.empty()) return "in a backup: " + problem;
  }
  return "";
}

void Spoil(const std::string& path, Damage damage) {
  Database database(path);
  if (damage == Damage::kLostReport) {
    database.Execute("DELETE FROM payloads WHERE row = (SELECT max(row) FROM reports)");
    database.Execute("DELETE FROM reports WHERE row = (SELECT max(row) FROM reports)");
  } else if (damage == Damage::kWrongSum) {
    database.Execute("UPDATE cluster_sums SET lags = lags + 1 WHERE cluster = 0 AND segment = 0 AND day = 0");
  }
}

std::string KillCase::CheckAll(Damage damage) {
  Spoil(database_, damage);
  const Expected all = ExpectedOfAll();
  StoreCheck check{.must_have = all.reports, .may_have = {}, .all = &all};
  if (kind_ == KillKind::kRetention) {
    check.may_have = templates_.expired().reports;
    check.last_expired_day = templates_.expired_day();
  }
  totals_->reports += all.reports.size();
  if (std::string problem = CheckStore(database_, check); !problem.empty()) return problem;
  return CheckBackups();
}

std::string KillCase::Play(int most_kills, Damage damage) {
  Prepare();
  std::string problem;
  const int64_t kills = random_.Between(1, std::max(1, std::min(3, most_kills)));
  for (int64_t i = 0; i < kills && problem.empty(); ++i) problem = KillOnce();
  if (problem.empty()) problem = Settle();
  if (problem.empty()) problem = CheckAll(damage);
  return problem.empty() ? "" : std::string(NameOf(kind_)) + ": " + problem;
}

}  // namespace

KillSuite::KillSuite(std::string program)
    : program_(std::move(program)), templates_(std::make_unique<KillTemplates>()) {}

KillSuite::~KillSuite() = default;

std::string KillSuite::Play(uint64_t seed, int most_kills, Damage damage, KillTotals* totals) {
  return KillCase(program_, *templates_, seed, totals).Play(most_kills, damage);
}

}  // namespace lagwatch::faults
