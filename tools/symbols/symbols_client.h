// SPDX-License-Identifier: Apache-2.0
// The collector's API for symbols (collector/API.md, "Symbols"), from the other side. Context: background.
// Not thread-safe: each thread has its own, with a connection that is kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "tools/read/endpoint.h"
#include "tools/symbols/symbol_scan.h"

namespace lagwatch::tools {

class SymbolsClient {
 public:
  explicit SymbolsClient(Endpoint endpoint);

  // The answer to GET /v1/symbols.
  base::Result<Json> List();

  struct Outcome {
    bool was_there = false;
    std::string note = {};  // the collector's: the part of the file that it cannot read, and why
  };
  // Sends the parts of a file that the collector does not have, in pieces. Calls `on_bytes` with the number
  // of bytes of the file that are done. Transient failures are retried for some seconds; `is_stopped` ends
  // that. Errors: the API's; kIo if the file cannot be read.
  base::Result<Outcome> Upload(const LocalSymbolFile& file, const std::function<void(uint64_t)>& on_bytes,
                               const std::atomic<bool>& is_stopped);

 private:
  base::Result<Json> Ask(const std::string& target, const std::string* body, bool is_gzip);
  base::Result<Json> AskPatiently(const std::string& target, const std::string* body, bool is_gzip,
                                  const std::atomic<bool>& is_stopped);
  base::Result<Json> SendPiece(const std::string& target, std::string piece,
                               const std::atomic<bool>& is_stopped);

  EndpointClient client_;
};

}  // namespace lagwatch::tools
