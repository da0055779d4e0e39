// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/database/database.h"

#include <sqlite3.h>

#include "collector/store/query_limit.h"

namespace lagwatch::collector {
namespace {

// Of SQLite's virtual machine: well below a millisecond.
constexpr int kStepsBetweenLooks = 2000;

void Check(int code, sqlite3* connection) {
  if (code != SQLITE_OK)
    throw SqliteError(connection ? sqlite3_errmsg(connection) : sqlite3_errstr(code), code);
}

void CheckBound(int code, sqlite3_stmt* handle) { Check(code, sqlite3_db_handle(handle)); }

}  // namespace

bool SqliteError::is_damage() const {
  const int primary = code & 0xff;
  return primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB;
}

Statement::~Statement() {
  sqlite3_reset(handle_);
  sqlite3_clear_bindings(handle_);
}

bool Statement::Step() {
  int code = sqlite3_step(handle_);
  if (code != SQLITE_ROW && code != SQLITE_DONE)
    throw SqliteError(sqlite3_errmsg(sqlite3_db_handle(handle_)), code);
  return code == SQLITE_ROW;
}

int64_t Statement::Int(int column) const { return sqlite3_column_int64(handle_, column); }

double Statement::Real(int column) const { return sqlite3_column_double(handle_, column); }

std::optional<int64_t> Statement::OptionalInt(int column) const {
  if (sqlite3_column_type(handle_, column) == SQLITE_NULL) return std::nullopt;
  return Int(column);
}

std::string Statement::Text(int column) const {
  const unsigned char* text = sqlite3_column_text(handle_, column);
  return {reinterpret_cast<const char*>(text), static_cast<size_t>(sqlite3_column_bytes(handle_, column))};
}

std::string Statement::Bytes(int column) const {
  const void* bytes = sqlite3_column_blob(handle_, column);
  return {static_cast<const char*>(bytes), static_cast<size_t>(sqlite3_column_bytes(handle_, column))};
}

base::Uuid Statement::Id(int column) const {
  return base::TryUuidFromBytes(Bytes(column)).value_or(base::Uuid{});
}

void Statement::BindAt(int index, int64_t value) {
  CheckBound(sqlite3_bind_int64(handle_, index, value), handle_);
}

void Statement::BindAt(int index, double value) {
  CheckBound(sqlite3_bind_double(handle_, index, value), handle_);
}

void Statement::BindAt(int index, const std::optional<int64_t>& value) {
  if (value) BindAt(index, *value);
}

// An empty view may have no data() at all, which SQLite would take for NULL.
void Statement::BindAt(int index, std::string_view text) {
  const char* data = text.empty() ? "" : text.data();
  CheckBound(sqlite3_bind_text64(handle_, index, data, text.size(), SQLITE_STATIC, SQLITE_UTF8), handle_);
}

void Statement::BindAt(int index, Blob blob) {
  const char* data = blob.bytes.empty() ? "" : blob.bytes.data();
  CheckBound(sqlite3_bind_blob64(handle_, index, data, blob.bytes.size(), SQLITE_STATIC), handle_);
}

Database::Database(const std::string& path) : connection_(nullptr, &sqlite3_close_v2) {
  sqlite3* connection = nullptr;
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  int code = sqlite3_open_v2(path.c_str(), &connection, flags, nullptr);
  connection_.reset(connection);
  Check(code, connection);
  SetBusyTimeout(kBusyTimeout);
}

// The statements end first.
Database& Database::operator=(Database&& other) noexcept {
  prepared_ = std::move(other.prepared_);
  connection_ = std::move(other.connection_);
  return *this;
}

void Database::WriteLog() {
  sqlite3_wal_checkpoint_v2(connection_.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
}

void Database::SetBusyTimeout(std::chrono::milliseconds most_time) {
  sqlite3_busy_timeout(connection_.get(), static_cast<int>(most_time.count()));
}

void Database::Execute(const char* sql) {
  Check(sqlite3_exec(connection_.get(), sql, nullptr, nullptr, nullptr), connection_.get());
}

Statement Database::Use(const char* sql) {
  auto known = prepared_.find(sql);
  if (known == prepared_.end()) {
    sqlite3_stmt* handle = nullptr;
    Check(sqlite3_prepare_v3(connection_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &handle, nullptr),
          connection_.get());
    known = prepared_.emplace(sql, Prepared(handle, &sqlite3_finalize)).first;
  }
  return Statement(known->second.get());
}

void Database::SetLimit(const QueryLimit* limit) {
  auto* is_over = +[](void* data) { return static_cast<const QueryLimit*>(data)->IsOver() ? 1 : 0; };
  sqlite3_progress_handler(connection_.get(), kStepsBetweenLooks, limit == nullptr ? nullptr : is_over,
                           const_cast<QueryLimit*>(limit));
}

int64_t Database::last_row() const { return sqlite3_last_insert_rowid(connection_.get()); }

int64_t Database::changes() const { return sqlite3_changes64(connection_.get()); }

Transaction::Transaction(Database* database) : database_(database) { database_->Execute("BEGIN IMMEDIATE"); }

Transaction::~Transaction() {
  if (!is_open_) return;
  try {
    database_->Execute("ROLLBACK");
  } catch (const SqliteError&) {  // SQLite has rolled back by itself, after a full disk for one
  }
}

void Transaction::Commit() {
  database_->Execute("COMMIT");
  is_open_ = false;
}

}  // namespace lagwatch::collector
