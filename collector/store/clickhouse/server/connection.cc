// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/server/connection.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/clock.h"
#include "base/curl_handle.h"
#include "base/text.h"
#include "collector/store/query_limit.h"

namespace lagwatch::collector {
namespace {

constexpr long kConnectMs = 1500;
// Without a byte: while rows are inserted; and while a statement is executed, whose answer comes at its end.
constexpr long kInsertStallS = 30;
constexpr long kSelectStallS = 300;
// For a statement that ends another.
constexpr long kKillMs = 2000;
constexpr size_t kMostErrorBytes = 2000;

// Faults of a node, of its connections to others, or of ZooKeeper: another node may do.
bool IsOfOneNode(int code) {
  static constexpr int kCodes[] = {3,   32,  74,  76,  95,  96,  159, 173, 198, 202, 203, 209, 210, 225,
                                   236, 241, 242, 243, 252, 279, 285, 286, 319, 394, 425, 439, 999};
  return std::ranges::find(kCodes, code) != std::end(kCodes);
}

// 0 when it begins otherwise.
int CodeOf(std::string_view body) {
  constexpr std::string_view kCode = "Code: ";
  int code = 0;
  if (body.starts_with(kCode)) std::from_chars(body.data() + kCode.size(), body.data() + body.size(), code);
  return code;
}

// Of one node alone; `may_do_elsewhere` when another may do better.
struct NodeError : ClickHouseError {
  NodeError(const std::string& message, bool elsewhere, bool is_refusal_for_good = false)
      : ClickHouseError(message, is_refusal_for_good), may_do_elsewhere(elsewhere) {}
  bool may_do_elsewhere;
};

}  // namespace

struct Connection::Request {
  std::string parameters;                   // of the URL
  std::string_view body;                    // without an external table
  const ExternalTable* external = nullptr;  // else
  std::function<void(std::string_view)> take = {};
  const QueryLimit* limit = nullptr;  // null: none
  std::string query_id = {};          // by which it is ended; empty without a limit
  long most_ms = 0;                   // 0: as long as bytes come
  long stall_s = kInsertStallS;
  mutable bool has_taken = false;  // something of an answer

  bool IsOver() const { return limit != nullptr && limit->IsOver(); }
};

// The answer of one node.
struct Connection::Answer {
  const Request& request;
  long status = 0;
  bool has_taken = false;
  std::string error = {};  // its text, when the status says so
  std::exception_ptr thrown = {};

  void Take(std::string_view bytes) {
    if (status != 200) {
      error.append(bytes.substr(0, kMostErrorBytes - std::min(kMostErrorBytes, error.size())));
    } else if (request.take) {
      has_taken = true;
      request.take(bytes);
    }
  }
  // For libcurl, once in a second or more often: not 0 ends the request.
  static int OnProgress(void* data, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<const Answer*>(data)->request.IsOver() ? 1 : 0;
  }
};

struct Connection::Handle {
  base::CurlHandle curl;

  CURLcode Post(const std::string& address, const ClickHouseUrl& url, Answer* answer) {
    if (!curl) return CURLE_FAILED_INIT;
    const Request& request = answer->request;
    curl.Reset();
    curl.SetUrl(address);
    curl.AddHeader("X-ClickHouse-User: " + url.user);
    curl.AddHeader("X-ClickHouse-Key: " + url.password);
    curl.AddHeader("Expect:");
    const base::CurlMime mime = request.external != nullptr ? PartOf(*request.external) : nullptr;
    if (mime) {
      curl.Set(CURLOPT_MIMEPOST, mime.get());
    } else {
      curl.SetBody(request.body);
    }
    // ClickHouse may answer before it has read such a table: the rest would be taken for the next request.
    curl.Set(CURLOPT_FORBID_REUSE, mime ? 1L : 0L);
    curl.Set(CURLOPT_PROXY, "");
    curl.Set(CURLOPT_CONNECTTIMEOUT_MS, kConnectMs);
    curl.Set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl.Set(CURLOPT_LOW_SPEED_TIME, request.take ? kSelectStallS : request.stall_s);
    // No exception may pass through libcurl.
    curl.OnBody([&](std::string_view bytes) {
      try {
        answer->status = curl.HttpStatus();
        answer->Take(bytes);
        return true;
      } catch (...) {
        answer->thrown = std::current_exception();
        return false;
      }
    });
    if (request.most_ms > 0) curl.Set(CURLOPT_TIMEOUT_MS, request.most_ms);
    if (request.limit != nullptr) {
      curl.Set(CURLOPT_NOPROGRESS, 0L);
      curl.Set(CURLOPT_XFERINFOFUNCTION, &Answer::OnProgress);
      curl.Set(CURLOPT_XFERINFODATA, answer);
    }
    const CURLcode code = curl.Perform();
    answer->status = curl.HttpStatus();
    curl.Set(CURLOPT_MIMEPOST, static_cast<curl_mime*>(nullptr));
    return code;
  }

  // With a file's name, ClickHouse takes it for a table.
  base::CurlMime PartOf(const ExternalTable& table) {
    base::CurlMime mime(curl_mime_init(curl.get()));
    curl_mimepart* part = curl_mime_addpart(mime.get());
    curl_mime_name(part, table.name.c_str());
    curl_mime_filename(part, table.name.c_str());
    curl_mime_data(part, table.rows.data(), table.rows.size());
    return mime;
  }
};

// Of the pool, for one use.
class Connection::ScopedHandle {
 public:
  explicit ScopedHandle(Connection* owner) : owner_(owner) {
    std::lock_guard lock(owner->mutex_);
    if (owner->free_.empty()) {
      handle_ = std::make_unique<Handle>();
    } else {
      handle_ = std::move(owner->free_.back());
      owner->free_.pop_back();
    }
  }
  ~ScopedHandle() {
    std::lock_guard lock(owner_->mutex_);
    owner_->free_.push_back(std::move(handle_));
  }
  Handle* get() const { return handle_.get(); }

 private:
  Connection* owner_;
  std::unique_ptr<Handle> handle_;
};

ExternalTable ExternalTable::OfIds(std::span<const base::Uuid> ids) {
  ExternalTable table{"ids", "id FixedString(16)", {}};
  for (const base::Uuid& id : ids) table.rows.append(id.as_bytes());
  return table;
}

ExternalTable ExternalTable::OfTexts(std::span<const std::string> texts) {
  RowWriter rows;
  for (const std::string& text : texts) rows.Text(text);
  return {"texts", "text String", rows.bytes()};
}

std::string SqlText(std::string_view text) {
  std::string quoted = "'";
  for (char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c == '\0' ? std::string("\\0") : std::string(1, c);
  }
  return quoted + "'";
}

std::string SqlId(const base::Uuid& id) {
  std::string hex = base::ToString(id);
  std::erase(hex, '-');
  return "toFixedString(unhex('" + hex + "'), 16)";
}

Connection::Connection(const ClickHouseUrl& url) : url_(url) {}

Connection::~Connection() = default;

// Both replicas of a shard have a row soon; in order, they are written to and read from alike, so that what
// was inserted is seen at once.
#define LAGWATCH_SETTINGS "load_balancing=in_order&prefer_localhost_replica=0"

namespace {

// Takes an answer apart as it comes.
class RowTaker {
 public:
  RowTaker(std::string_view kinds, const std::function<void(const Row&)>& visit)
      : kinds_(kinds), visit_(visit) {}

  void Take(std::string_view bytes) {
    buffer_.append(bytes);
    std::string_view rest = buffer_;
    while (!rest.empty() && row_.Take(kinds_, &rest)) visit_(row_);
    buffer_.erase(0, buffer_.size() - rest.size());
  }
  void Finish() const {
    if (!buffer_.empty()) throw ClickHouseError("an answer of ClickHouse ends within a row");
  }

 private:
  std::string_view kinds_;
  const std::function<void(const Row&)>& visit_;
  std::string buffer_;
  Row row_;
};

}  // namespace

namespace {

std::string ParametersOf(const std::string& statement, const ExternalTable* external) {
  std::string parameters = "&wait_end_of_query=1&max_bytes_before_external_sort=500000000";
  if (external != nullptr) {
    parameters += "&" + external->name + "_format=RowBinary&" + external->name +
                  "_structure=" + base::EscapedForUrl(external->structure) +
                  "&query=" + base::EscapedForUrl(statement);
  }
  return parameters;
}

}  // namespace

void Connection::Select(const std::string& sql, std::string_view kinds,
                        const std::function<void(const Row&)>& visit, const ExternalTable* external) {
  RowTaker taker(kinds, visit);
  const std::string statement = sql + " FORMAT RowBinary";
  Request request{.parameters = LAGWATCH_SETTINGS + ParametersOf(statement, external),
                  .body = statement,
                  .external = external,
                  .take = [&](std::string_view bytes) { taker.Take(bytes); }};
  Limit(&request);
  Ask(request);
  taker.Finish();
}

// Applies the thread's limit: passes the deadline to ClickHouse, which can also be asked to end
// the query sooner.
void Connection::Limit(Request* request) {
  request->limit = QueryLimit::OfThisThread();
  if (request->limit == nullptr) return;
  const auto left = request->limit->Remaining();
  request->most_ms = std::max<long>(left.count(), 1);
  request->query_id = "lagwatch-" + base::ToString(base::CreateUuidV7(base::SystemClock().WallMs()));
  request->parameters +=
      "&query_id=" + request->query_id + "&max_execution_time=" + std::to_string(left.count() / 1000 + 1);
}

void Connection::SelectAt(size_t node, const std::string& sql, std::string_view kinds,
                          const std::function<void(const Row&)>& visit, const ExternalTable* external) {
  RowTaker taker(kinds, visit);
  const std::string statement = sql + " FORMAT RowBinary";
  const ScopedHandle handle(this);
  AskNode(node,
          {.parameters = ParametersOf(statement, external).substr(1),
           .body = statement,
           .external = external,
           .take = [&](std::string_view bytes) { taker.Take(bytes); }},
          handle.get());
  taker.Finish();
}

void Connection::InsertAt(size_t node, const std::string& table, std::string_view rows) {
  const ScopedHandle handle(this);
  AskNode(node,
          {.parameters = "query=" + base::EscapedForUrl("INSERT INTO " + table + " FORMAT RowBinary"),
           .body = rows},
          handle.get());
}

void Connection::Insert(const std::string& table_and_columns, std::string_view rows) {
  Ask({.parameters = InsertSettings() + "&query=" +
                     base::EscapedForUrl("INSERT INTO " + table_and_columns + " FORMAT RowBinary"),
       .body = rows});
}

// Reports may be of any days, each of which is a partition. Settings that a version does not know are errors.
std::string Connection::InsertSettings() {
  std::optional<bool> limits_partitions;
  {
    std::lock_guard lock(mutex_);
    limits_partitions = limits_partitions_;
  }
  if (!limits_partitions) {
    Select("SELECT toInt64(count()) FROM system.settings WHERE name = 'max_partitions_per_insert_block'", "i",
           [&](const Row& row) { limits_partitions = row.Int(0) != 0; });
    std::lock_guard lock(mutex_);
    limits_partitions_ = limits_partitions;
  }
  return std::string(LAGWATCH_SETTINGS "&insert_distributed_sync=1") +
         (*limits_partitions ? "&max_partitions_per_insert_block=0" : "");
}

void Connection::ExecuteAt(size_t node, const std::string& sql) {
  const ScopedHandle handle(this);
  AskNode(node, {.parameters = "", .body = sql, .stall_s = kSelectStallS}, handle.get());
}

void Connection::Ask(const Request& request) {
  const ScopedHandle handle(this);
  const size_t first = preferred_node_;
  for (size_t i = 0;; ++i) {
    const size_t node = (first + i) % node_count();
    try {
      AskNode(node, request, handle.get());
      preferred_node_ = node;
      return;
    } catch (const NodeError& error) {
      if (request.IsOver()) {
        Kill(node, request, handle.get());
        throw ClickHouseError(request.limit->ToStatus().message());
      }
      if (!error.may_do_elsewhere || request.has_taken || i + 1 == node_count()) throw;
    }
  }
}

// Closing the connection does not end a query that reads: ClickHouse would make the answer to its end.
void Connection::Kill(size_t node, const Request& request, Handle* handle) {
  const std::string sql = "KILL QUERY WHERE query_id = " + SqlText(request.query_id) + " ASYNC";
  try {
    AskNode(node, {.parameters = "", .body = sql, .most_ms = kKillMs}, handle);
  } catch (const ClickHouseError&) {
    // Its max_execution_time ends it.
  }
}

void Connection::AskNode(size_t node, const Request& request, Handle* handle) {
  const std::string name = "ClickHouse at " + url_.nodes[node];
  Answer answer{request};
  const CURLcode code = handle->Post("http://" + url_.nodes[node] + "/?" + request.parameters, url_, &answer);
  request.has_taken |= answer.has_taken;
  if (answer.thrown) std::rethrow_exception(answer.thrown);
  if (code != CURLE_OK) throw NodeError(name + ": " + handle->curl.ErrorText(code), true);
  if (answer.status == 200) return;
  const int server_code = CodeOf(answer.error);
  const std::string reason =
      answer.error.empty() ? "status " + std::to_string(answer.status) : std::string(answer.error);
  throw NodeError(name + ": " + reason, IsOfOneNode(server_code),
                  IsRefusalForGood(answer.status, server_code));
}

}  // namespace lagwatch::collector
