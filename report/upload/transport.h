// SPDX-License-Identifier: Apache-2.0
// How a batch gets to the collector. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lagwatch::report {

struct UploadAnswer {
  enum class Kind {
    kDelivered,     // the collector has stored all of the batch
    kRejected,      // it will never take this batch
    kUnauthorized,  // the key is missing or wrong
    kTryLater,      // the collector or the way to it is out of order
  };
  Kind kind = Kind::kTryLater;
  int http_status = 0;        // 0 when there was no answer
  int64_t retry_after_s = 0;  // 0 when the collector did not say
  std::string message{};      // for a person; empty when delivered
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Sends one gzipped Batch and waits for the answer. One thread at a time.
  virtual UploadAnswer Post(std::string_view gzip_body) = 0;
  // Makes a Post under way, and all later ones, return kTryLater soon. From any thread.
  virtual void Abort() = 0;
};

}  // namespace lagwatch::report
