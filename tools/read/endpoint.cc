// SPDX-License-Identifier: Apache-2.0
#include "tools/read/endpoint.h"

#include <strings.h>

#include <CLI/CLI.hpp>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace lagwatch::tools {
namespace {

constexpr long kConnectTimeoutS = 10;
constexpr size_t kMaxAnswerBytes = 256 << 20;

// `name` has its colon.
void TakeHeader(std::string_view name, std::string_view line, std::string* value) {
  if (line.size() > name.size() && strncasecmp(line.data(), name.data(), name.size()) == 0)
    *value = base::Trimmed(line.substr(name.size()));
}

// "no such report; /v1/reports lists them" with the command that asks for that path.
std::string WithCommands(std::string message) {
  constexpr std::string_view kPath = "/v1/";
  constexpr std::string_view kLists = " lists";
  const size_t begin = message.find(kPath);
  const size_t end = message.find(kLists, begin == message.npos ? 0 : begin);
  if (begin == message.npos || end == message.npos || message.find(' ', begin) != end) return message;
  const std::string name = message.substr(begin + kPath.size(), end - begin - kPath.size());
  return message.replace(begin, end - begin, "`lagwatch " + name + "`");
}

StatusCode CodeOf(int http_status) {
  switch (http_status) {
    case 400:
      return StatusCode::kInvalid;
    case 401:
      return StatusCode::kUnauthorized;
    case 404:
      return StatusCode::kNotFound;
    case 413:
      return StatusCode::kTooLarge;
    case 503:
      return StatusCode::kUnavailable;
    default:
      return StatusCode::kInternal;
  }
}

}  // namespace

void AddAdminEndpoint(CLI::App* command, Endpoint* endpoint) {
  command->add_option("--endpoint", endpoint->url, "The collector's URL")
      ->envname("LAGWATCH_ENDPOINT")
      ->required();
  command->add_option("--token", endpoint->token, "One of the collector's admin tokens (DATA/admin-token)")
      ->envname("LAGWATCH_TOKEN");
  command
      ->add_option("--ca-file", endpoint->ca_file,
                   "PEM: trust only collectors with a certificate signed by one of these")
      ->envname("LAGWATCH_CA_FILE");
}

EndpointClient::EndpointClient(Endpoint endpoint) : endpoint_(std::move(endpoint)) {
  while (endpoint_.url.ends_with('/')) endpoint_.url.pop_back();
}

Result<EndpointReply> EndpointClient::Ask(const EndpointRequest& request) {
  if (!curl_) return Status(StatusCode::kInternal, "libcurl could not be set up");
  EndpointReply reply;
  curl_.Reset();
  curl_.SetUrl(endpoint_.url + request.target);
  curl_.AddHeader("Authorization: Bearer " + endpoint_.token);
  for (const std::string& header : request.headers) curl_.AddHeader(header);
  if (request.body != nullptr) curl_.SetBody(*request.body);
  curl_.Set(CURLOPT_CUSTOMREQUEST, request.method);
  curl_.Set(CURLOPT_PROTOCOLS_STR, "http,https");
  curl_.Set(CURLOPT_CONNECTTIMEOUT, kConnectTimeoutS);
  curl_.Set(CURLOPT_TIMEOUT, request.timeout_s);
  if (!endpoint_.ca_file.empty()) curl_.Set(CURLOPT_CAINFO, endpoint_.ca_file.c_str());
  curl_.OnBody([&](std::string_view bytes) {
    reply.body.append(bytes);
    return reply.body.size() <= kMaxAnswerBytes;
  });
  curl_.OnHeader([&](std::string_view line) {
    TakeHeader("etag:", line, &reply.etag);
    TakeHeader("date:", line, &reply.date);
    return true;
  });
  if (const CURLcode code = curl_.Perform(); code != CURLE_OK) {
    return Status(StatusCode::kUnavailable,
                  "cannot reach the collector at " + endpoint_.url + ": " + curl_.ErrorText(code) +
                      "; check --endpoint: `lagwatch doctor --endpoint URL` says why");
  }
  reply.http_status = static_cast<int>(curl_.HttpStatus());
  return reply;
}

Result<EndpointClient::JsonReply> EndpointClient::AskJson(const char* method, const std::string& target,
                                                          const Json& body, const std::string& if_match) {
  EndpointRequest request{.method = method, .target = target};
  std::string text;
  if (!body.is_null()) {
    text = body.dump(-1, ' ', false, Json::error_handler_t::replace);
    request.body = &text;
    request.headers.push_back("Content-Type: application/json");
  }
  if (!if_match.empty()) request.headers.push_back("If-Match: " + if_match);
  auto reply = LAGWATCH_TRY(Ask(request));
  auto json = LAGWATCH_TRY(ReadAnswer(reply.http_status, reply.body));
  return JsonReply{std::move(json), std::move(reply.etag)};
}

Result<Json> ReadAnswer(int http_status, const std::string& text) {
  Json answer = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (http_status / 100 == 2 && !answer.is_discarded()) return answer;
  static const Json::json_pointer kMessage("/error/message");
  if (answer.is_object() && answer.contains(kMessage) && answer[kMessage].is_string()) {
    return Status(CodeOf(http_status), WithCommands(answer[kMessage].get<std::string>()));
  }
  return Status(StatusCode::kInternal, "the answer (HTTP status " + std::to_string(http_status) +
                                           ") is not a lagwatch collector's; check the endpoint");
}

}  // namespace lagwatch::tools
