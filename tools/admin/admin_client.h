// SPDX-License-Identifier: Apache-2.0
// The part of the collector's API that changes something (collector/API.md, "Administration"), from the other
// side. Context: background. Not thread-safe.
#pragma once

#include <string>

#include "base/status.h"
#include "tools/read/report_source.h"

namespace CLI {
class App;
}

namespace lagwatch::tools {

class AdminClient {
 public:
  explicit AdminClient(Endpoint endpoint);

  struct Reply {
    Json json;
    std::string etag;  // with its quotes; empty without one
  };

  // Sends `method` `target` with `body` as JSON (null: without a body) and returns the answer. `if_match` is
  // the header's value; empty: none. Errors: the API's; kUnavailable without an answer.
  base::Result<Reply> Send(const char* method, const std::string& target, const Json& body = {},
                           const std::string& if_match = {});

 private:
  Endpoint endpoint_;
};

// Declares --endpoint, --token and --ca-file. `endpoint` must outlive `command`.
void AddAdminEndpoint(CLI::App* command, Endpoint* endpoint);

}  // namespace lagwatch::tools
