// SPDX-License-Identifier: Apache-2.0
// Transport over HTTP(S), by libcurl: POST {endpoint}/v1/reports. Connections are kept, redirects are not
// followed, proxies are taken from the environment, nothing is printed and no signal is used.
// Context: background. The thread that posts should have SIGPIPE blocked or ignored: OpenSSL may raise it.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "report/upload/transport.h"

namespace lagwatch::report {

struct HttpTransportOptions {
  std::string endpoint;  // "https://lag.example.com", with or without a slash at the end
  std::string key;       // sent as a bearer token; none when empty
};

// Errors: kInvalid when the endpoint or the key cannot be one; kInternal when libcurl cannot be set up.
base::Result<std::unique_ptr<Transport>> CreateHttpTransport(const HttpTransportOptions& options);

}  // namespace lagwatch::report
