// SPDX-License-Identifier: Apache-2.0
#include "collector/http/server/router.h"

#include <spdlog/spdlog.h>
#include <strings.h>

#include <algorithm>
#include <exception>

#include "base/clock.h"
#include "collector/http/server/refusals.h"
#include "collector/sentry/auth.h"

namespace lagwatch::collector {
namespace {

std::string_view PathOf(std::string_view target) { return target.substr(0, target.find('?')); }

std::string_view QueryOf(std::string_view target) {
  size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
}

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

// "text/plain; charset=utf-8" is of type "text/plain".
bool IsOfType(std::string_view content_type, std::string_view type) {
  std::string_view named = content_type.substr(0, content_type.find(';'));
  return EqualsIgnoringCase(named.substr(0, named.find_last_not_of(' ') + 1), type);
}

bool IsGzip(std::string_view encoding) { return EqualsIgnoringCase(encoding, "gzip"); }

bool IsIdentity(std::string_view encoding) {
  return encoding.empty() || EqualsIgnoringCase(encoding, "identity");
}

// Nothing that would have to be unescaped, or names another folder.
bool IsItem(std::string_view text) {
  return !text.empty() && text.find_first_not_of('.') != std::string_view::npos &&
         std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
                  c == '-' || c == '_';
         });
}

// The part of `path` that matches {…} in `pattern`; empty if the pattern has none; none if it does not match.
std::optional<std::string_view> Match(std::string_view pattern, std::string_view path) {
  const size_t open = pattern.find('{');
  if (open == std::string_view::npos)
    return path == pattern ? std::optional(std::string_view()) : std::nullopt;
  const std::string_view before = pattern.substr(0, open);
  const std::string_view after = pattern.substr(pattern.find('}') + 1);
  if (path.size() <= before.size() + after.size() || !path.starts_with(before) || !path.ends_with(after))
    return std::nullopt;
  const std::string_view item = path.substr(open, path.size() - before.size() - after.size());
  return IsItem(item) ? std::optional(item) : std::nullopt;
}

Response MethodNotAllowed(const std::string& allowed) {
  Response response = ErrorResponse(405, "method_not_allowed", "use one of: " + allowed);
  response.allow = allowed;
  return response;
}

// Checks the key in the head; `is_there` returns whether it has one.
KeyCheck CheckKey(const RequestHead& head, KeyPlace place, KeyRing* keys, bool* is_there) {
  const int64_t now_wall_ms = base::SystemClock().WallMs();
  *is_there = true;
  if (place == KeyPlace::kBearer) return keys->Check(head.authorization, now_wall_ms);
  std::string_view key = KeyOfSentryAuth(head.sentry_auth);
  if (key.empty()) key = KeyOfSentryQuery(QueryOf(head.target));
  *is_there = !key.empty();
  return keys->CheckText(key, now_wall_ms);
}

std::optional<Response> CheckBody(const Endpoint& endpoint, const RequestHead& head) {
  if (head.content_length.value_or(0) > endpoint.body_limit) return Router::BodyTooLarge(endpoint.body_limit);
  if (endpoint.body_limit == 0) return std::nullopt;
  if (!endpoint.body_type.empty() && !IsOfType(head.content_type, endpoint.body_type))
    return ErrorResponse(415, "unsupported_type", "send the body as " + std::string(endpoint.body_type));
  if (IsIdentity(head.content_encoding) || (endpoint.takes_gzip && IsGzip(head.content_encoding)))
    return std::nullopt;
  return ErrorResponse(
      415, "unsupported_encoding",
      endpoint.takes_gzip ? "compress the body with gzip, or not at all" : "do not compress the body");
}

// The endpoint that a request names.
struct FoundEndpoint {
  const Endpoint* endpoint = nullptr;
  std::string_view item = {};
  std::string allowed = {};  // methods of its path
};

// HEAD is answered as GET, without the body.
FoundEndpoint Find(const std::vector<Endpoint>& endpoints, std::string_view method, std::string_view path) {
  if (method == "HEAD") method = "GET";
  FoundEndpoint found;
  for (const Endpoint& endpoint : endpoints) {
    const auto item = Match(endpoint.path, path);
    if (!item) continue;
    found.allowed += (found.allowed.empty() ? "" : ", ") + std::string(endpoint.method);
    if (endpoint.method == "GET") found.allowed += ", HEAD";
    if (endpoint.method != method) continue;
    found.endpoint = &endpoint;
    found.item = *item;
  }
  return found;
}

}  // namespace

std::variant<Admitted, Response> Router::Admit(const RequestHead& head) const {
  const std::string_view path = PathOf(head.target);
  FoundEndpoint found = Find(endpoints_, head.method, path);
  const bool wants_page = head.accept.find("text/html") != std::string_view::npos;
  if (found.allowed.empty() && wants_page && !path.starts_with("/v1/"))
    found = Find(endpoints_, head.method, kNoSuchPage);
  const bool is_open =
      found.endpoint != nullptr ? found.endpoint->access == kEverybody : !path.starts_with("/v1/");
  const KeyPlace key_place = found.endpoint != nullptr ? found.endpoint->key_place : KeyPlace::kBearer;
  KeyCheck check;
  bool has_key = false;
  if (!is_open) {
    check = CheckKey(head, key_place, keys_, &has_key);
    if (has_key && check.outcome != KeyCheck::Outcome::kKnown) return NeedsAKey(check, key_place);
  }
  if (found.allowed.empty())
    return ErrorResponse(404, "not_found", "nothing is at this path; try /v1/clusters");
  if (found.endpoint == nullptr) return MethodNotAllowed(found.allowed);
  const Endpoint& endpoint = *found.endpoint;
  if (has_key && (endpoint.access & MaskOf(check.key.access)) == 0) return MayNot(check.key);
  if (endpoint.parameters) {
    if (auto refusal = RefuseUnknownParameters(QueryOf(head.target), *endpoint.parameters))
      return std::move(*refusal);
  }
  if (auto refusal = CheckBody(endpoint, head)) return std::move(*refusal);
  if (endpoint.is_metered && has_key) {
    auto refusal = keys_->CheckQuota(check.key, head.content_length.value_or(0), base::SystemClock().MonoNs(),
                                     NetworkOf(head.peer));
    if (refusal) return TooManyRequests(*refusal, key_place);
  }
  if (endpoint.check_room) {
    if (base::Status room = endpoint.check_room(); !room.ok()) return NoRoom(room);
  }
  return Admitted{&endpoint,
                  Request{.path = std::string(path),
                          .item = std::string(found.item),
                          .query = std::string(QueryOf(head.target)),
                          .if_none_match = std::string(head.if_none_match),
                          .if_match = std::string(head.if_match),
                          .accepts_gzip = head.accept_encoding.find("gzip") != std::string_view::npos,
                          .last_event_id = std::string(head.last_event_id),
                          .is_gzip = IsGzip(head.content_encoding),
                          .body = {},
                          .key = std::move(check.key),
                          .peer = std::string(head.peer),
                          .address = {},
                          .begin = std::chrono::steady_clock::now(),
                          .room = {}}};
}

void Router::Handle(const Endpoint& endpoint, Request request, const Respond& respond) {
  const std::string path = request.path;
  try {
    if (endpoint.fields) {
      if (auto refusal = RefuseUnknownFields(request.body, *endpoint.fields))
        return respond(std::move(*refusal));
    }
    endpoint.handler(std::move(request), respond);
  } catch (const std::exception& error) {
    spdlog::error("{} {}: {}", endpoint.method, path, error.what());
    respond(ErrorResponse(500, "internal", "internal error; see the collector's log"));
  }
}

Response Router::BodyTooLarge(uint64_t limit_bytes) {
  return ErrorResponse(413, "too_large",
                       limit_bytes == 0 ? "this request has no body"
                                        : "the body has more than " + std::to_string(limit_bytes) +
                                              " bytes; send fewer reports in one request");
}

}  // namespace lagwatch::collector
