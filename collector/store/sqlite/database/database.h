// SPDX-License-Identifier: Apache-2.0
// SQLite behind RAII. Failures are thrown as SqliteError, which the store turns into a Status.
// Context: background. Not thread-safe: the owner locks.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/uuid.h"

struct sqlite3;
struct sqlite3_stmt;

namespace lagwatch::collector {

class QueryLimit;

struct SqliteError : std::runtime_error {
  // `error_code` is SQLite's; 0: none of its own.
  explicit SqliteError(const std::string& text, int error_code = 0)
      : std::runtime_error(text), code(error_code) {}

  // The file has pages that are not what they were.
  bool is_damage() const;

  int code;
};

// The beginning of what PRAGMA quick_check says of damaged pages.
inline constexpr std::string_view kPagesFound = "*** in database main ***\n";

// Bytes to bind or read as a BLOB.
struct Blob {
  std::string_view bytes;
};

// One use of a prepared statement: bind, step, read; the destructor makes it ready for the next use.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* handle) : handle_(handle) {}
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Binds the next parameters in order. Texts, ids and blobs are borrowed until the statement's end.
  template <typename... Values>
  Statement& Bind(const Values&... values) {
    (BindAt(++bound_, values), ...);
    return *this;
  }
  // True when there is a row to read.
  bool Step();
  void Run() {
    while (Step()) {
    }
  }
  // Lists what `read` returns for each row.
  template <typename Read>
  auto All(Read read) -> std::vector<decltype(read(std::declval<const Statement&>()))> {
    std::vector<decltype(read(std::declval<const Statement&>()))> all;
    while (Step()) all.push_back(read(*this));
    return all;
  }

  // Columns count from 0.
  int64_t Int(int column) const;
  double Real(int column) const;
  std::optional<int64_t> OptionalInt(int column) const;
  std::string Text(int column) const;
  std::string Bytes(int column) const;
  base::Uuid Id(int column) const;  // zero for other bytes than an id

 private:
  void BindAt(int index, int64_t value);
  void BindAt(int index, double value);
  void BindAt(int index, const std::optional<int64_t>& value);
  void BindAt(int index, std::string_view text);
  void BindAt(int index, const base::Uuid& id) { BindAt(index, Blob{id.as_bytes()}); }
  void BindAt(int index, Blob blob);

  sqlite3_stmt* handle_;
  int bound_ = 0;  // parameters so far
};

class Database {
 public:
  static constexpr std::chrono::milliseconds kBusyTimeout{5'000};

  // Creates the file when it is not there; ":memory:" keeps all in memory.
  explicit Database(const std::string& path);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  // Closes the database that it had.
  Database& operator=(Database&& other) noexcept;

  // One or more statements without parameters.
  void Execute(const char* sql);
  // Prepared at first, kept for later. `sql` must live as long as the database: a literal.
  Statement Use(const char* sql);
  // Statements are interrupted, and throw, once `limit` is over. Borrows it; null: none.
  void SetLimit(const QueryLimit* limit);
  // For another process that has the database, as a backup does.
  void SetBusyTimeout(std::chrono::milliseconds most_time);
  // Writes the log to the file, as far as that can be done; needs no schema.
  void WriteLog();
  int64_t last_row() const;
  sqlite3* handle() { return connection_.get(); }
  // Rows that the last statement inserted, changed or deleted.
  int64_t changes() const;

 private:
  using Connection = std::unique_ptr<sqlite3, int (*)(sqlite3*)>;
  using Prepared = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

  Connection connection_;
  std::map<const char*, Prepared> prepared_;
};

// Rolls back unless committed.
class Transaction {
 public:
  explicit Transaction(Database* database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void Commit();

 private:
  Database* database_;
  bool is_open_ = true;
};

}  // namespace lagwatch::collector
