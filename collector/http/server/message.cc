// SPDX-License-Identifier: Apache-2.0
#include "collector/http/server/message.h"

#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/text.h"

namespace lagwatch::collector {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

boost::beast::string_view AsBeast(std::string_view text) { return {text.data(), text.size()}; }

void Set(http::field field, std::string_view value, ResponseMessage* message) {
  if (!value.empty()) message->set(field, AsBeast(value));
}

template <typename Message>
void SetCommon(Message* message) {
  message->set(http::field::server, "lagwatch-collector");
  message->set(http::field::date, base::UtcText(base::SystemClock().WallMs(), "%a, %d %b %Y %H:%M:%S GMT"));
  message->set("X-Content-Type-Options", "nosniff");
}

Response BadRequest(const std::string& why) {
  return ErrorResponse(400, "bad_request", "this is not an HTTP/1.1 request: " + why);
}

// All lines of a header, in their order.
std::string AllOf(const RequestParser& parser, const char* name) {
  std::string all;
  const auto [begin, end] = parser.get().equal_range(name);
  for (auto line = begin; line != end; ++line) {
    if (!all.empty()) all += ",";
    all += View(line->value());
  }
  return all;
}

}  // namespace

boost::asio::ip::address ClientOf(const RequestParser& parser, const TrustedProxies& trusted,
                                  const boost::asio::ip::address& proxy) {
  return ClientAddress(trusted, proxy, AllOf(parser, "X-Forwarded-For"), AllOf(parser, "Forwarded"));
}

RequestHead HeadOf(const RequestParser& parser) {
  const auto& request = parser.get();
  RequestHead head{.method = View(request.method_string()),
                   .target = View(request.target()),
                   .authorization = View(request[http::field::authorization]),
                   .content_type = View(request[http::field::content_type]),
                   .content_encoding = View(request[http::field::content_encoding]),
                   .content_length = std::nullopt,
                   .if_none_match = View(request[http::field::if_none_match]),
                   .if_match = View(request[http::field::if_match]),
                   .accept = View(request[http::field::accept]),
                   .accept_encoding = View(request[http::field::accept_encoding]),
                   .last_event_id = View(request["Last-Event-ID"]),
                   .sentry_auth = View(request["X-Sentry-Auth"])};
  if (auto length = parser.content_length()) head.content_length = *length;
  return head;
}

std::optional<Response> RefuseAmbiguous(const RequestParser& parser) {
  const auto& request = parser.get();
  const bool is_http_11 = request.version() == 11;
  if (request.version() != 10 && !is_http_11) return BadRequest("its version is different");
  const std::string_view target = View(request.target());
  if (!target.starts_with('/') && !target.starts_with("http://") && !target.starts_with("https://"))
    return BadRequest("it asks for no path");
  if (request.count(http::field::host) > 1 || (is_http_11 && request.count(http::field::host) == 0))
    return BadRequest("it needs one Host header");
  if (request.count(http::field::authorization) > 1)
    return BadRequest("it has several Authorization headers");
  const std::string_view length = View(request[http::field::content_length]);
  if (request.count(http::field::content_length) > 1 || length.find_first_not_of("0123456789") != length.npos)
    return BadRequest("it needs one Content-Length");
  const auto codings = request.count(http::field::transfer_encoding);
  const bool is_chunked =
      codings == 1 && boost::beast::iequals(request[http::field::transfer_encoding], "chunked");
  if (codings > 0 && !(is_http_11 && is_chunked && parser.chunked()))
    return BadRequest("its Transfer-Encoding is not 'chunked'");
  return std::nullopt;
}

std::optional<Response> RefuseMalformed(const error_code& error) {
  const bool is_malformed = error.category() == error_code(http::error::bad_method).category() &&
                            error != http::error::end_of_stream && error != http::error::partial_message;
  if (!is_malformed) return std::nullopt;
  if (error == http::error::header_limit)
    return ErrorResponse(431, "head_too_large", "the request's head has more than 8 KiB; send fewer headers");
  return BadRequest(error.message());
}

http::response<http::empty_body> StreamHeadOf(const Response& response, unsigned version) {
  http::response<http::empty_body> message(static_cast<http::status>(response.status), version);
  SetCommon(&message);
  message.set(http::field::cache_control, "no-store");
  message.set("X-Accel-Buffering", "no");  // nginx would hold events back
  message.set(http::field::content_type, AsBeast(response.content_type));
  message.keep_alive(false);
  return message;
}

ResponseMessage MessageOf(Response response, unsigned version, bool keep_alive) {
  ResponseMessage message(static_cast<http::status>(response.status), version);
  SetCommon(&message);
  Set(http::field::content_type, response.content_type, &message);
  Set(http::field::content_encoding, response.content_encoding, &message);
  Set(http::field::content_disposition, response.content_disposition, &message);
  Set(http::field::cache_control, response.cache_control, &message);
  if (!response.security_policy.empty()) {
    message.set("Content-Security-Policy", AsBeast(response.security_policy));
    message.set("Referrer-Policy", "no-referrer");
    message.set("Cross-Origin-Opener-Policy", "same-origin");
  }
  if (response.status == 401) message.set(http::field::www_authenticate, "Bearer");
  if (response.retry_after_s > 0)
    message.set(http::field::retry_after, std::to_string(response.retry_after_s));
  if (!response.sentry_rate_limits.empty()) message.set("X-Sentry-Rate-Limits", response.sentry_rate_limits);
  Set(http::field::allow, response.allow, &message);
  Set(http::field::etag, response.etag, &message);
  message.body() = std::move(response.body);
  message.keep_alive(keep_alive);
  message.prepare_payload();
  return message;
}

}  // namespace lagwatch::collector
