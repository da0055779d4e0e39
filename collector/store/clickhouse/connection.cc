// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/connection.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace lagwatch::collector {
namespace {

constexpr long kConnectMs = 1500;
// Without a byte: while rows are inserted; and while an answer is made, which comes at its end.
constexpr long kInsertStallS = 30;
constexpr long kSelectStallS = 300;
constexpr size_t kMostErrorBytes = 2000;

template <auto kFree>
struct FreeWith {
  template <typename T>
  void operator()(T* pointer) const {
    kFree(pointer);
  }
};
using EasyHandle = std::unique_ptr<CURL, FreeWith<curl_easy_cleanup>>;
using HeaderList = std::unique_ptr<curl_slist, FreeWith<curl_slist_free_all>>;
using Mime = std::unique_ptr<curl_mime, FreeWith<curl_mime_free>>;

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

std::string Escaped(std::string_view text) {
  const std::unique_ptr<char, FreeWith<curl_free>> escaped(
      curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size())));
  return escaped ? escaped.get() : "";
}

// Of one node alone; `may_be_asked_elsewhere` when another may do better.
struct NodeError : ClickHouseError {
  NodeError(const std::string& message, bool elsewhere)
      : ClickHouseError(message), may_do_elsewhere(elsewhere) {}
  bool may_do_elsewhere;
};

}  // namespace

struct Connection::Handle {
  EasyHandle easy{curl_easy_init()};
  char error[CURL_ERROR_SIZE] = {};
};

struct Connection::Request {
  std::string parameters;                   // of the URL
  std::string_view body;                    // without an external table
  const ExternalTable* external = nullptr;  // else
  std::function<void(std::string_view)> take = {};
  // Of the answer to the attempt that is under way.
  mutable bool has_taken = false;
  mutable std::string error_body = {};
  mutable std::exception_ptr thrown = {};
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

std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c == '\0' ? std::string("\\0") : std::string(1, c);
  }
  return quoted + "'";
}

std::string Quoted(const base::Uuid& id) {
  std::string hex = base::ToString(id);
  std::erase(hex, '-');
  return "toFixedString(unhex('" + hex + "'), 16)";
}

Connection::Connection(const ClickHouseUrl& url) : url_(url) {
  [[maybe_unused]] static const CURLcode global = curl_global_init(CURL_GLOBAL_DEFAULT);
}

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

void Connection::Select(const std::string& sql, std::string_view kinds,
                        const std::function<void(const Row&)>& visit, const ExternalTable* external) {
  RowTaker taker(kinds, visit);
  const std::string statement = sql + " FORMAT RowBinary";
  Request request{.parameters = LAGWATCH_SETTINGS "&wait_end_of_query=1",
                  .body = statement,
                  .external = external,
                  .take = [&](std::string_view bytes) { taker.Take(bytes); }};
  if (external != nullptr) {
    request.parameters += "&" + external->name + "_format=RowBinary&" + external->name +
                          "_structure=" + Escaped(external->structure) + "&query=" + Escaped(statement);
  }
  Ask(request);
  taker.Finish();
}

void Connection::SelectAt(size_t node, const std::string& sql, std::string_view kinds,
                          const std::function<void(const Row&)>& visit) {
  RowTaker taker(kinds, visit);
  const std::string statement = sql + " FORMAT RowBinary";
  const ScopedHandle handle(this);
  AskNode(node,
          {.parameters = "wait_end_of_query=1",
           .body = statement,
           .take = [&](std::string_view bytes) { taker.Take(bytes); }},
          handle.get());
  taker.Finish();
}

void Connection::Insert(const std::string& table_and_columns, std::string_view rows) {
  Ask({.parameters = LAGWATCH_SETTINGS "&insert_distributed_sync=1&query=" +
                     Escaped("INSERT INTO " + table_and_columns + " FORMAT RowBinary"),
       .body = rows});
}

void Connection::ExecuteAt(size_t node, const std::string& sql) {
  const ScopedHandle handle(this);
  AskNode(node, {.parameters = "", .body = sql}, handle.get());
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
      if (!error.may_do_elsewhere || request.has_taken || i + 1 == node_count()) throw;
    }
  }
}

void Connection::AskNode(size_t node, const Request& request, Handle* handle) {
  CURL* easy = handle->easy.get();
  if (easy == nullptr) throw ClickHouseError("libcurl could not be set up");
  curl_easy_reset(easy);
  handle->error[0] = '\0';
  request.error_body.clear();
  const std::string url = "http://" + url_.nodes[node] + "/?" + request.parameters;
  HeaderList headers(curl_slist_append(nullptr, ("X-ClickHouse-User: " + url_.user).c_str()));
  curl_slist_append(headers.get(), ("X-ClickHouse-Key: " + url_.password).c_str());
  curl_slist_append(headers.get(), "Expect:");
  Mime mime;
  if (request.external != nullptr) {
    mime.reset(curl_mime_init(easy));
    curl_mimepart* part = curl_mime_addpart(mime.get());
    curl_mime_name(part, request.external->name.c_str());
    curl_mime_filename(part, request.external->name.c_str());
    curl_mime_data(part, request.external->rows.data(), request.external->rows.size());
    curl_easy_setopt(easy, CURLOPT_MIMEPOST, mime.get());
  } else {
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.data());
  }
  struct Answer {
    CURL* easy;
    const Request* request;
  } answer{easy, &request};
  // An exception must not pass through libcurl.
  const auto on_bytes = +[](char* bytes, size_t, size_t size, void* data) -> size_t {
    const auto* to = static_cast<Answer*>(data);
    long status = 0;
    curl_easy_getinfo(to->easy, CURLINFO_RESPONSE_CODE, &status);
    try {
      if (status != 200) {
        to->request->error_body.append(
            bytes,
            std::min(size, kMostErrorBytes - std::min(kMostErrorBytes, to->request->error_body.size())));
      } else if (to->request->take) {
        to->request->has_taken = true;
        to->request->take({bytes, size});
      }
      return size;
    } catch (...) {
      to->request->thrown = std::current_exception();
      return CURL_WRITEFUNC_ERROR;
    }
  };
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, handle->error);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectMs);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, request.take ? kSelectStallS : kInsertStallS);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_bytes);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &answer);
  const CURLcode code = curl_easy_perform(easy);
  curl_easy_setopt(easy, CURLOPT_MIMEPOST, nullptr);
  if (request.thrown) std::rethrow_exception(std::exchange(request.thrown, {}));
  const std::string name = "ClickHouse at " + url_.nodes[node];
  if (code != CURLE_OK)
    throw NodeError(name + ": " + (handle->error[0] != '\0' ? handle->error : curl_easy_strerror(code)),
                    true);
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  if (status == 200) return;
  throw NodeError(name + ": " + request.error_body, IsOfOneNode(CodeOf(request.error_body)));
}

}  // namespace lagwatch::collector
