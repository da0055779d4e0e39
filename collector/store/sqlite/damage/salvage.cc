// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/damage/salvage.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "collector/store/sqlite/damage/key_walk.h"
#include "collector/store/sqlite/damage/page_scan.h"
#include "collector/store/sqlite/report_writer.h"
#include "collector/store/sqlite/schema.h"
#include "collector/store/sqlite/sqlite_store.h"
#include "collector/store/sqlite/sums_writer.h"
#include "collector/store/sqlite/tables/record_tables.h"
#include "collector/symbols/names/symbol_namer.h"

namespace lagwatch::collector {
namespace {

// Tables whose rows are copied as they are. The database that is read is `old`.
struct PlainTable {
  const char* name;
  const char* title;  // null: not a kind of its own
  const char* key;
  TableKey keys;
};

// Before the reports: their ends are looked up when they come.
constexpr PlainTable kPlainTables[] = {
    {"run_ends",
     "ends of runs",
     "session_id",
     {"SELECT session_id FROM old.run_ends WHERE session_id >= ? ORDER BY session_id", KeyKind::kId}},
    {"early_ends",
     nullptr,
     "report_id",
     {"SELECT report_id FROM old.early_ends WHERE report_id >= ? ORDER BY report_id", KeyKind::kId}},
    {"frame_slices",
     "frames",
     "id",
     {"SELECT id FROM old.frame_slices WHERE id >= ? ORDER BY id", KeyKind::kId}},
    {"losses",
     "losses",
     "id",
     {"SELECT DISTINCT id FROM old.losses WHERE id >= ? ORDER BY id", KeyKind::kId}},
    {"usage",
     "usage",
     "rowid",
     {"SELECT rowid FROM old.usage WHERE rowid >= ? ORDER BY rowid", KeyKind::kNumber}},
    {"unknown_records",
     "records of unknown types",
     "rowid",
     {"SELECT rowid FROM old.unknown_records WHERE rowid >= ? ORDER BY rowid", KeyKind::kNumber}},
    {"traces", "traces", "row", {"SELECT row FROM old.traces WHERE row >= ? ORDER BY row", KeyKind::kNumber}},
};

constexpr TableKey kPayloadKeys = {"SELECT row FROM payloads WHERE row >= ? ORDER BY row", KeyKind::kNumber};
constexpr TableKey kReportKeys = {"SELECT row FROM reports WHERE row >= ? ORDER BY row", KeyKind::kNumber};
constexpr TableKey kSenderKeys = {"SELECT id FROM old.senders WHERE id >= ? ORDER BY id", KeyKind::kNumber};

constexpr size_t kReportsAtOnce = 500;

std::string QuotedName(std::string_view path) {
  std::string quoted = "'";
  for (const char c : path) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

// The tables whose records have no sums, or sums that are made of the table.
class TableCopier {
 public:
  TableCopier(const std::string& damaged, const std::string& path) : database_(path) {
    database_.Execute(("ATTACH " + QuotedName(damaged) + " AS old").c_str());
    database_.Execute("CREATE TEMP TABLE new_senders (old INTEGER PRIMARY KEY, id INTEGER NOT NULL)");
  }

  std::vector<SalvagedKind> Run() {
    Transaction transaction(&database_);
    CopySenders();
    std::vector<SalvagedKind> kinds;
    for (const PlainTable& table : kPlainTables) {
      SalvagedKind kind = Copy(table);
      if (table.title != nullptr) kinds.push_back(std::move(kind));
    }
    kinds.push_back(CopyNotes());
    transaction.Commit();
    return kinds;
  }

 private:
  void CopySenders() {
    WalkKeys(&database_, kSenderKeys, [&](const WalkedKey& key) {
      database_.Use("INSERT OR IGNORE INTO main.senders (name) SELECT name FROM old.senders WHERE id = ?")
          .Bind(key.number)
          .Run();
      database_
          .Use(
              R"sql(
                INSERT INTO new_senders
                SELECT theirs.id, ours.id
                FROM old.senders AS theirs
                JOIN main.senders AS ours ON ours.name = theirs.name
                WHERE theirs.id = ?
              )sql")
          .Bind(key.number)
          .Run();
      return true;
    });
  }

  // Named statements live as long as the database.
  const char* Keep(std::string sql) { return sql_.emplace_back(std::move(sql)).c_str(); }

  std::string ColumnsOf(const std::string& table) {
    std::string columns;
    Statement names = database_.Use(Keep("SELECT name FROM pragma_table_info('" + table + "', 'main')"));
    while (names.Step()) {
      const std::string name = names.Text(0);
      if (name != "row") columns += (columns.empty() ? "" : ", ") + name;
    }
    return columns;
  }

  SalvagedKind Copy(const PlainTable& table) {
    const std::string columns = ColumnsOf(table.name);
    std::string values = columns;
    if (const size_t at = values.find("sender"); at != std::string::npos)
      values.replace(at, 6, "coalesce((SELECT id FROM new_senders WHERE old = sender), 0)");
    const char* exists =
        Keep(std::string("SELECT 1 FROM old.") + table.name + " WHERE " + table.key + " = ? LIMIT 1");
    const char* copy =
        Keep(std::string("INSERT OR IGNORE INTO main.") + table.name + " (" + columns + ") SELECT " + values +
             " FROM old." + table.name + " WHERE " + table.key + " = ?");
    SalvagedKind kind{.name = table.title != nullptr ? table.title : ""};
    const auto bind = [&](Statement statement, const WalkedKey& key) {
      if (table.keys.kind == KeyKind::kNumber) {
        statement.Bind(key.number);
      } else {
        statement.Bind(Blob{key.id});
      }
      return statement.Step();
    };
    kind.gaps = WalkKeys(&database_, table.keys, [&](const WalkedKey& key) {
      if (!bind(database_.Use(exists), key)) return false;
      try {
        bind(database_.Use(copy), key);
        CopyRest(table, key);
        ++kind.kept;
      } catch (const SqliteError&) {
        ++kind.lost;
      }
      return true;
    });
    return kind;
  }

  // Copies the rest of a record whose row was just inserted.
  void CopyRest(const PlainTable& table, const WalkedKey& key) {
    if (database_.changes() == 0) return;
    const std::string_view name = table.name;
    const int64_t row = database_.last_row();
    if (name == "traces") {
      try {
        database_.Use("INSERT INTO main.packed_traces SELECT ?, trace FROM old.packed_traces WHERE row = ?")
            .Bind(row, key.number)
            .Run();
      } catch (const SqliteError&) {
        database_.Use("DELETE FROM main.traces WHERE row = ?").Bind(row).Run();
        throw;
      }
    }
    if (name == "usage") AddToSums(row);
  }

  void AddToSums(int64_t row) {
    Statement payload = database_.Use("SELECT payload FROM main.usage WHERE rowid = ?");
    payload.Bind(row);
    payload.Step();
    const auto usage = report::DecodeUsage(payload.Bytes(0));
    if (usage.ok()) return AddToUsageSums(&database_, *usage);
    database_.Use("DELETE FROM main.usage WHERE rowid = ?").Bind(row).Run();
    throw SqliteError("its content is not what it was");
  }

  SalvagedKind CopyNotes() {
    SalvagedKind kind{.name = "annotations of causes"};
    try {
      database_.Execute("INSERT OR IGNORE INTO main.cluster_notes SELECT * FROM old.cluster_notes");
      kind.kept = database_.changes();
    } catch (const SqliteError&) {
      kind.gaps = 1;
    }
    return kind;
  }

  std::deque<std::string> sql_;  // before what was prepared of it ends
  Database database_;
};

// These are other than in the payload where a stranger's report was bounded (ingest/name_limits.h,
// ingest/weight_limits.h).
struct StoredWeight {
  int64_t elapsed_ns;
  int64_t sample_rate_ppm;
};
struct StoredNames {
  std::string app, version, loop, os;
};

// A report's row beside its payload.
struct ReportFacts {
  std::string sender = {};
  std::optional<int64_t> end_ns = std::nullopt;
  bool is_blamed = false;
  double capped_ns = 0;
  std::optional<StoredWeight> weight = std::nullopt;
  std::optional<StoredNames> names = std::nullopt;
};

// Reports go in as if they came now, so that the sums come to be.
class ReportCopier {
 public:
  ReportCopier(Database* old, SqliteStore* store, const Clusterer& clusterer, const BoundUnread& bound_unread)
      : old_(old), store_(store), clusterer_(clusterer), bound_unread_(bound_unread) {}

  // By the tables, as far as they can be read, then by the pages of the file at `path`.
  base::Result<SalvagedKind> Run(const std::string& path) {
    SalvagedKind kind{.name = "reports"};
    ReadSenders();
    kind.gaps = WalkKeys(old_, kPayloadKeys, [&](const WalkedKey& key) {
      if (!Has("SELECT 1 FROM payloads WHERE row = ?", key.number)) return false;
      known_.insert(key.number);
      if (const auto payload = PayloadOf(key.number)) Take(key.number, *payload);
      return true;
    });
    WalkKeys(old_, kReportKeys, [&](const WalkedKey& key) {
      if (!Has("SELECT 1 FROM reports WHERE row = ?", key.number)) return false;
      known_.insert(key.number);
      return true;
    });
    const base::Status scanned = ScanBlobRows(path, [&](int64_t row, const std::string& blob) {
      if (!kept_.contains(row)) Take(row, blob);
    });
    Commit();
    if (!status_.ok()) return status_;
    if (!scanned.ok()) return scanned;
    kind.kept = static_cast<int64_t>(kept_.size());
    kind.lost = std::ranges::count_if(known_, [&](int64_t row) { return !kept_.contains(row); });
    return kind;
  }

 private:
  void ReadSenders() {
    try {
      Statement rows = old_->Use("SELECT id, name FROM senders");
      while (rows.Step()) senders_[rows.Int(0)] = rows.Text(1);
    } catch (const SqliteError&) {  // those that were read
    }
  }

  bool Has(const char* sql, int64_t row) {
    Statement found = old_->Use(sql);
    return found.Bind(row).Step();
  }

  std::optional<std::string> PayloadOf(int64_t row) {
    try {
      Statement found = old_->Use("SELECT payload FROM payloads WHERE row = ?");
      if (found.Bind(row).Step()) return found.Bytes(0);
    } catch (const SqliteError&) {  // counted as lost, unless a page still has it
    }
    return std::nullopt;
  }

  ReportFacts FactsOf(int64_t row, const base::Uuid& id) {
    ReportFacts facts;
    try {
      Statement found = old_->Use(
          "SELECT sender, end_ns, is_blamed, elapsed_ns, sample_rate_ppm, segment FROM reports WHERE row = ? "
          "AND id = ?");
      if (!found.Bind(row, id).Step()) return facts;
      facts = {.sender = senders_[found.Int(0)],
               .end_ns = found.OptionalInt(1),
               .is_blamed = found.Int(2) != 0,
               .weight = StoredWeight{.elapsed_ns = found.Int(3), .sample_rate_ppm = found.Int(4)}};
      Statement segment = old_->Use("SELECT app, version, loop, os FROM segments WHERE id = ?");
      if (segment.Bind(found.Int(5)).Step())
        facts.names = StoredNames{segment.Text(0), segment.Text(1), segment.Text(2), segment.Text(3)};
      Statement capped = old_->Use("SELECT capped_ns FROM reports WHERE row = ?");  // not in older files
      if (capped.Bind(row).Step()) facts.capped_ns = capped.Real(0);
    } catch (const SqliteError&) {  // the report alone, then
    }
    return facts;
  }

  static void SetFacts(const ReportFacts& facts, ReportRow* row) {
    if (facts.weight) {
      row->elapsed_ns = facts.weight->elapsed_ns;
      row->sample_rate_ppm = facts.weight->sample_rate_ppm;
    }
    if (!facts.names) return;
    row->app = facts.names->app;
    row->version = facts.names->version;
    row->loop = facts.names->loop;
    row->os = facts.names->os;
  }

  // Nothing for what is no report.
  void Take(int64_t row, const std::string& payload) {
    const auto report = report::DecodeReport(payload);
    if (!report.ok()) return;
    const ReportFacts facts = FactsOf(row, report->id);
    NewReport added =
        NewReport::Create(*report, clusterer_.Assign(*report, SymbolNamer(*report, nullptr)), payload);
    SetFacts(facts, &added.row);
    NewRecord record(std::move(added));
    record.sender = facts.sender;
    record.capped_ns = facts.capped_ns;
    if (!facts.weight || !facts.names) bound_unread_(&record);
    records_.push_back(std::move(record));
    if (facts.end_ns) {
      records_.emplace_back(report::HangEnd{
          .report_id = report->id, .duration_ns = *facts.end_ns, .is_blamed = facts.is_blamed});
    }
    kept_.insert(row);
    if (records_.size() >= kReportsAtOnce) Commit();
  }

  void Commit() {
    if (status_.ok() && !records_.empty()) status_ = store_->CommitUnsynced(records_).status();
    records_.clear();
  }

  Database* const old_;
  SqliteStore* const store_;
  const Clusterer& clusterer_;
  const BoundUnread& bound_unread_;
  std::map<int64_t, std::string> senders_;
  std::vector<NewRecord> records_;
  std::set<int64_t> known_;  // rows, as the next one
  std::set<int64_t> kept_;
  base::Status status_;  // of the commits
};

// Errors: kInvalid for tables of another version. A file that SQLite cannot read at all passes.
base::Status CheckVersion(Database* old) {
  try {
    Statement version = old->Use("PRAGMA user_version");
    version.Step();
    if (version.Int(0) == kSchemaVersion) return {};
    return {base::StatusCode::kInvalid, "has schema " + std::to_string(version.Int(0)) +
                                            ", and this collector knows " + std::to_string(kSchemaVersion) +
                                            " alone: use the collector that wrote it"};
  } catch (const SqliteError&) {
    return {};
  }
}

// None where SQLite cannot read the schema.
std::vector<SalvagedKind> CopyPlainTables(const std::string& damaged, const std::string& path) {
  try {
    return TableCopier(damaged, path).Run();
  } catch (const SqliteError& error) {
    if (!error.is_damage()) throw;
    return {{.name = "all other records", .kept = 0, .lost = 0, .gaps = 1}};
  }
}

std::optional<int64_t> CountBySums(Database* old) {
  try {
    Statement sum =
        old->Use("SELECT reports FROM cluster_sums WHERE cluster = 0 AND segment = 0 AND day = 0");
    return sum.Step() ? std::optional(sum.Int(0)) : std::nullopt;
  } catch (const SqliteError&) {
    return std::nullopt;
  }
}

void ShareLosses(const std::string& path) {
  Database database(path);
  RegisterSumsFunctions(&database);
  Transaction transaction(&database);
  ReportWriter writer(&database);
  std::set<int64_t> causes;
  RebuildLossSums(&database, &causes);
  for (const int64_t cause : causes) writer.NoteLost(cause);
  writer.Finish();
  transaction.Commit();
}

}  // namespace

base::Result<Salvaged> Salvage(const std::string& damaged, const std::string& path,
                               const Clusterer& clusterer, const BoundUnread& bound_unread) {
  try {
    Database old(damaged);
    old.WriteLog();
    if (base::Status version = CheckVersion(&old); !version.ok())
      return base::Status(version.code(), "the database " + damaged + " " + version.message());
    Salvaged salvaged{.kinds = {}, .reports_before = CountBySums(&old)};
    auto store = LAGWATCH_TRY(SqliteStore::Open(path));
    std::vector<SalvagedKind> plain = CopyPlainTables(damaged, path);
    salvaged.kinds.push_back(
        LAGWATCH_TRY(ReportCopier(&old, store.get(), clusterer, bound_unread).Run(damaged)));
    if (base::Status synced = store->Sync(); !synced.ok()) return synced;
    ShareLosses(path);
    for (SalvagedKind& kind : plain) salvaged.kinds.push_back(std::move(kind));
    return salvaged;
  } catch (const SqliteError& error) {
    return base::Status(base::StatusCode::kIo, "cannot write the database " + path + ": " + error.what());
  }
}

}  // namespace lagwatch::collector
