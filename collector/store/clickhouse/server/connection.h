// SPDX-License-Identifier: Apache-2.0
// ClickHouse's HTTP interface, by libcurl: one statement per request, connections are kept. A request that
// fails because of one node is sent to the next one. Thread-safe. Context: background.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/uuid.h"
#include "collector/store/clickhouse/server/clickhouse_url.h"
#include "collector/store/clickhouse/server/row_binary.h"

namespace lagwatch::collector {

// The error of a node, or of the last of several, or the reason why none answered.
struct ClickHouseError : std::runtime_error {
  explicit ClickHouseError(const std::string& message, bool is_refusal_for_good = false)
      : std::runtime_error(message), is_refusal(is_refusal_for_good) {}

  bool is_refusal;  // of what was sent: the same will be refused again (IsRefusalForGood)
};

// Rows that a statement may select from, as the table `name`: what would otherwise have to be quoted.
struct ExternalTable {
  std::string name;
  std::string structure;  // "id FixedString(16)"
  std::string rows;       // RowBinary

  // Of ids, in the column `id`.
  static ExternalTable OfIds(std::span<const base::Uuid> ids);
  // Of texts, in the column `text`.
  static ExternalTable OfTexts(std::span<const std::string> texts);
};

// For SQL: within single quotes, whatever it is.
std::string SqlText(std::string_view text);
// For SQL: as FixedString(16).
std::string SqlId(const base::Uuid& id);

class Connection {
 public:
  explicit Connection(const ClickHouseUrl& url);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // All throw ClickHouseError.

  // Calls `visit` for each row as it comes; `kinds` are those of Row::Take. A node that goes away in the
  // middle of an answer is an error. `visit` may ask for other things. The thread's QueryLimit ends it.
  void Select(const std::string& sql, std::string_view kinds, const std::function<void(const Row&)>& visit,
              const ExternalTable* external = nullptr);
  // Lists what `read` returns for each row.
  template <typename Read>
  auto All(const std::string& sql, std::string_view kinds, Read read, const ExternalTable* external = nullptr)
      -> std::vector<decltype(read(std::declval<const Row&>()))> {
    std::vector<decltype(read(std::declval<const Row&>()))> all;
    Select(
        sql, kinds, [&](const Row& row) { all.push_back(read(row)); }, external);
    return all;
  }
  // Returns when each shard has the rows. The same bytes may be inserted again: they are there once.
  void Insert(const std::string& table_and_columns, std::string_view rows);
  // At that node alone.
  void SelectAt(size_t node, const std::string& sql, std::string_view kinds,
                const std::function<void(const Row&)>& visit, const ExternalTable* external = nullptr);
  void InsertAt(size_t node, const std::string& table, std::string_view rows);
  void ExecuteAt(size_t node, const std::string& sql);

  size_t node_count() const { return url_.nodes.size(); }

 private:
  struct Handle;
  struct Request;
  struct Answer;
  class ScopedHandle;

  std::string InsertSettings();
  void Limit(Request* request);
  void Ask(const Request& request);
  void Kill(size_t node, const Request& request, Handle* handle);
  void AskNode(size_t node, const Request& request, Handle* handle);

  const ClickHouseUrl url_;
  std::atomic<size_t> preferred_node_{0};  // which answered last
  std::mutex mutex_;
  std::optional<bool> limits_partitions_;      // of an insertion, as current versions do; guarded by mutex_
  std::vector<std::unique_ptr<Handle>> free_;  // guarded by mutex_
};

// Whether no retry can mend a refusal of ClickHouse. Pure.
// `status` is HTTP's, `code` the number of the server's exception, 0 when the answer names none (then it is a
// proxy's, or of a server that could not read the request). True only for what is wrong with the rows that
// were sent, or with their table's columns: a wrong password, a table that is missing, a server that is
// read-only or has too many parts are errors of all rows, and rows wait until a person has mended them.
bool IsRefusalForGood(long status, int code);

}  // namespace lagwatch::collector
