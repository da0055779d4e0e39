// SPDX-License-Identifier: Apache-2.0
// The interface for sending a batch to the collector. Context: background.
#pragma once

#include <string_view>

#include "report/upload/transport/upload_answer.h"

namespace lagwatch::report {

class Transport {
 public:
  virtual ~Transport() = default;
  // Sends one gzipped Batch and waits for the answer. One thread at a time.
  virtual UploadAnswer Post(std::string_view gzip_body) = 0;
  // Makes a Post under way, and all later ones, return kTryLater soon. From any thread.
  virtual void Abort() = 0;
  // Closes what Post() keeps open. From the thread that posts, before it ends.
  virtual void Disconnect() {}
};

}  // namespace lagwatch::report
