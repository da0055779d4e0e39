// SPDX-License-Identifier: Apache-2.0
// Where the reading commands get their JSON from: a collector, or a spool on this machine with no server at
// all. Context: background.
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
  // The same of what is a file.
  base::Result<std::string> GetFile(const std::string& path, const collector::QueryString& query);

 protected:
  struct Answer {
    int http_status = 0;
    std::string body = {};
  };

  // Errors: kUnavailable when nobody answers.
  virtual base::Result<Answer> Ask(const std::string& path, const collector::QueryString& query) = 0;
};

// Reads a spool directory's records, with names for frames as far as this machine has them, as an encoded
// lagwatch.Batch.
using LoadRecords = std::function<base::Result<std::string>(const std::string& spool_directory)>;

struct Endpoint {
  std::string url;  // "http://127.0.0.1:8790"
  std::string token;
  std::string ca_file;  // PEM: whom none of these certifies is not asked; empty: the system's store
};

std::unique_ptr<ReportSource> OpenEndpoint(Endpoint endpoint);
// Loads the whole spool. Records that cannot be read are counted on stderr.
base::Result<std::unique_ptr<ReportSource>> OpenSpool(const std::string& directory,
                                                      const LoadRecords& load_records);

// What an answer of the API holds. Errors: the one that the API gave; kInternal when the text is none of its
// answers.
base::Result<Json> ReadAnswer(int http_status, const std::string& text);

}  // namespace lagwatch::tools
