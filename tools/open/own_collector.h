// SPDX-License-Identifier: Apache-2.0
// A collector of this command's own, with a database that goes with it, on a free port of the loopback
// interface. Context: background. Linux.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/status.h"
#include "tools/read/endpoint.h"

namespace lagwatch::tools {

// The installed program, beside this one or in PATH; empty without one.
std::string FindCollectorProgram();

class OwnCollector {
 public:
  // Keeps its data, and finds symbol files (.build-id/…) in `directory`/symbols, in an existing directory
  // that is the caller's to remove. It ends with this process at the latest. Errors: kUnavailable, with its
  // own last words.
  static base::Result<std::unique_ptr<OwnCollector>> Start(const std::string& program,
                                                           const std::string& directory);
  ~OwnCollector();
  OwnCollector(const OwnCollector&) = delete;
  OwnCollector& operator=(const OwnCollector&) = delete;

  // Stores the records of an encoded lagwatch.Batch of any size. Errors: the API's.
  base::Status Store(const std::string& batch);
  // The answer to GET `target`. Errors: the API's.
  base::Result<EndpointReply> Get(const std::string& target);
  const std::string& url() const { return url_; }
  // The token that reads.
  const std::string& token() const { return token_; }
  // Whether the process has ended.
  bool HasEnded();

 private:
  OwnCollector() = default;
  base::Status AwaitUrl(int output, const std::string& log);
  base::Status Post(const std::string& batch);

  pid_t pid_ = 0;  // 0: it has ended
  std::string url_;
  std::string key_;
  std::string token_;
};

}  // namespace lagwatch::tools
