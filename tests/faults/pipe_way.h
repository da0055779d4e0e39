// SPDX-License-Identifier: Apache-2.0
// The way from a client's process to the collector's without HTTP: a socket pair with one frame for a request
// and one for its answer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "report/upload/transport/transport.h"
#include "tests/faults/collector_side.h"

namespace lagwatch::faults {

// The client's end.
class PipeTransport final : public report::Transport {
 public:
  // `may_end` is called where the process may be killed.
  PipeTransport(int socket, std::function<void()> may_end) : socket_(socket), may_end_(std::move(may_end)) {}

  report::UploadAnswer Post(std::string_view gzip_body) override;
  void Abort() override {}

 private:
  int socket_;
  std::function<void()> may_end_;
};

// The collector's end. None when the client has gone.
std::optional<std::string> ReadRequest(int socket);
void WriteReply(int socket, const Reply& reply);

}  // namespace lagwatch::faults
