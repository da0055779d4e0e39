// SPDX-License-Identifier: Apache-2.0
// Requests to a collector's API, and the options that select the collector. Context: background. Not
// thread-safe.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/curl_handle.h"
#include "base/status.h"

namespace CLI {
class App;
}

namespace lagwatch::tools {

using Json = nlohmann::ordered_json;

struct Endpoint {
  std::string url;  // "http://127.0.0.1:8790"
  std::string token;
  std::string ca_file;  // PEM: certificates that the server's must be signed by; empty: the system's
};

// Declares --endpoint, --token and --ca-file of a command that needs an admin token. `endpoint` must outlive
// `command`.
void AddAdminEndpoint(CLI::App* command, Endpoint* endpoint);

struct EndpointRequest {
  const char* method = "GET";
  std::string target;  // the path, with the query after a '?'
  std::vector<std::string> headers = {};
  const std::string* body = nullptr;  // null: none
  long timeout_s = 60;
};

struct EndpointReply {
  int http_status = 0;
  std::string body = {};
  std::string etag = {};  // with its quotes; empty without one
  std::string date = {};  // the server's clock, as HTTP writes it; empty without one
};

class EndpointClient {
 public:
  explicit EndpointClient(Endpoint endpoint);

  // The connection is kept for the next request. Errors: kUnavailable without an answer.
  base::Result<EndpointReply> Ask(const EndpointRequest& request);

  struct JsonReply {
    Json json;
    std::string etag;  // as in EndpointReply
  };
  // Sends `body` as JSON; null: without a body. `if_match` is the header's value; empty: none. Errors: the
  // API's; kUnavailable without an answer.
  base::Result<JsonReply> AskJson(const char* method, const std::string& target, const Json& body = {},
                                  const std::string& if_match = {});

 private:
  Endpoint endpoint_;
  base::CurlHandle curl_;
};

// Parses an answer of the API. Errors: the API's; kInternal if the text is not an answer of the API.
base::Result<Json> ReadAnswer(int http_status, const std::string& text);

}  // namespace lagwatch::tools
