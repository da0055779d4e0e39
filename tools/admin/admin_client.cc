// SPDX-License-Identifier: Apache-2.0
#include "tools/admin/admin_client.h"

#include <curl/curl.h>
#include <strings.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string_view>
#include <utility>

namespace lagwatch::tools {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;

constexpr long kConnectTimeoutS = 10;
constexpr long kTimeoutS = 60;

size_t AppendBody(char* data, size_t size, size_t count, void* context) {
  static_cast<std::string*>(context)->append(data, size * count);
  return size * count;
}

// Keeps the value of the ETag header.
size_t TakeHeader(char* data, size_t size, size_t count, void* context) {
  constexpr std::string_view kName = "etag:";
  std::string_view line(data, size * count);
  if (line.size() > kName.size() && strncasecmp(line.data(), kName.data(), kName.size()) == 0) {
    line.remove_prefix(kName.size());
    const size_t first = line.find_first_not_of(' ');
    const size_t last = line.find_last_not_of("\r\n ");
    if (first != std::string_view::npos && last != std::string_view::npos)
      *static_cast<std::string*>(context) = line.substr(first, last - first + 1);
  }
  return size * count;
}

using Headers = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

Headers AdminHeaders(const std::string& token, bool has_body, const std::string& if_match) {
  curl_slist* list = curl_slist_append(nullptr, ("Authorization: Bearer " + token).c_str());
  if (has_body) list = curl_slist_append(list, "Content-Type: application/json");
  if (!if_match.empty()) list = curl_slist_append(list, ("If-Match: " + if_match).c_str());
  return {list, &curl_slist_free_all};
}

}  // namespace

AdminClient::AdminClient(Endpoint endpoint) : endpoint_(std::move(endpoint)) {
  while (endpoint_.url.ends_with('/')) endpoint_.url.pop_back();
}

Result<AdminClient::Reply> AdminClient::Send(const char* method, const std::string& target, const Json& body,
                                             const std::string& if_match) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), &curl_easy_cleanup);
  const std::string url = endpoint_.url + target;
  const std::string sent =
      body.is_null() ? std::string() : body.dump(-1, ' ', false, Json::error_handler_t::replace);
  const Headers headers = AdminHeaders(endpoint_.token, !body.is_null(), if_match);
  std::string text;
  Reply reply;
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_CUSTOMREQUEST, method);
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl.get(), CURLOPT_CONNECTTIMEOUT, kConnectTimeoutS);
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT, kTimeoutS);
  if (!endpoint_.ca_file.empty()) curl_easy_setopt(curl.get(), CURLOPT_CAINFO, endpoint_.ca_file.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, &AppendBody);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &text);
  curl_easy_setopt(curl.get(), CURLOPT_HEADERFUNCTION, &TakeHeader);
  curl_easy_setopt(curl.get(), CURLOPT_HEADERDATA, &reply.etag);
  if (!body.is_null()) {
    curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, sent.data());
    curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(sent.size()));
  }
  if (CURLcode code = curl_easy_perform(curl.get()); code != CURLE_OK) {
    return Status(StatusCode::kUnavailable, "cannot reach the collector at " + endpoint_.url + ": " +
                                                curl_easy_strerror(code) + "; check --endpoint");
  }
  long http_status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &http_status);
  auto json = ReadAnswer(static_cast<int>(http_status), text);
  if (!json.ok()) return json.status();
  reply.json = std::move(*json);
  return reply;
}

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

}  // namespace lagwatch::tools
