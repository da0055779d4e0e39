// SPDX-License-Identifier: Apache-2.0
// The source of the reading commands' JSON: a collector, or a spool on this machine without a
// server. Context: background.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/status.h"
#include "collector/query/query_string.h"

namespace lagwatch::tools {

using Json = nlohmann::ordered_json;

class ReportSource {
 public:
  virtual ~ReportSource() = default;
  // The answer to GET `path` of the collector's API, or the error it gave.
  base::Result<Json> Get(const std::string& path, const collector::QueryString& query);
  // The same for a file.
  base::Result<std::string> GetFile(const std::string& path, const collector::QueryString& query);

 protected:
  struct Answer {
    int http_status = 0;
    std::string body = {};
  };

  // Errors: kUnavailable without an answer.
  virtual base::Result<Answer> Ask(const std::string& path, const collector::QueryString& query) = 0;
};

// Reads a spool directory's records, with names for frames as far as this machine has them, as
// an encoded lagwatch.Batch.
using LoadRecords = std::function<base::Result<std::string>(const std::string& spool_directory)>;

struct Endpoint {
  std::string url;  // "http://127.0.0.1:8790"
  std::string token;
  std::string ca_file;  // PEM: certificates that the server's must be signed by; empty: the system's
};

std::unique_ptr<ReportSource> OpenEndpoint(Endpoint endpoint);
// Loads the whole spool. Records that cannot be read are counted on stderr.
base::Result<std::unique_ptr<ReportSource>> OpenSpool(const std::string& directory,
                                                      const LoadRecords& load_records);

// Parses an answer of the API. Errors: the API's; kInternal if the text is not an answer of the API.
base::Result<Json> ReadAnswer(int http_status, const std::string& text);

}  // namespace lagwatch::tools
