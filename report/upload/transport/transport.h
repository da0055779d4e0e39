// SPDX-License-Identifier: Apache-2.0
// The interface for sending a batch to the collector, and its implementations without a network of lagwatch's
// own. Context: background.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/process/env.h"
#include "base/status.h"
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

// A function of the program that lagwatch watches. Sends a gzipped batch, and yields the HTTP status and the
// body of the collector's answer; 0 when there was none. With 2xx and no body at all, the program has taken
// the batch over. Must not throw.
using HostPost = std::function<int(std::string_view gzip_body, std::string* answer)>;

std::unique_ptr<Transport> CreateHostTransport(HostPost post);

inline constexpr std::string_view kFileScheme = "file://";

// Writes each batch, as it would be posted, into a file TIME-UUID.lwb.gz that is whole from the moment it has
// that name. From "file:///some/directory", which is made if need be. `env` is borrowed. Errors: kInvalid.
base::Result<std::unique_ptr<Transport>> CreateFileTransport(base::Env* env, std::string_view endpoint);

}  // namespace lagwatch::report
