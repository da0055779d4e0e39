// SPDX-License-Identifier: Apache-2.0
// The source of the reading commands' JSON: a collector, or a spool on this machine without a
// server. Context: background.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "collector/query/query_string.h"
#include "tools/commands.h"
#include "tools/local_symbols/local_symbolizer.h"
#include "tools/read/endpoint.h"

namespace lagwatch::tools {

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

std::unique_ptr<ReportSource> OpenEndpoint(Endpoint endpoint);
// Loads the whole spool. Records that cannot be read are counted on stderr. `symbolizer` may be null: then
// frames have the names that `load_records` gave them.
base::Result<std::unique_ptr<ReportSource>> OpenSpool(const std::string& directory,
                                                      const LoadRecords& load_records,
                                                      std::unique_ptr<LocalSymbolizer> symbolizer = nullptr);

}  // namespace lagwatch::tools
