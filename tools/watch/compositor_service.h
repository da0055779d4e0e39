// SPDX-License-Identifier: Apache-2.0
// org.lagwatch.Watch on the session's D-Bus, where compositors say whose windows do not answer: GNOME Shell
// by the extension and KWin by the script in packaging/desktop. Context: background.
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "sdk/outside/unanswered_windows.h"

namespace lagwatch::tools {

// Thread safety: one thread's.
class CompositorService {
 public:
  // Keeps in `windows` what compositors say. Any program on the bus may say it: they are the user's own.
  // Errors: kUnavailable, without a bus or the library for it, or with a bus that does not answer within a
  // second.
  static base::Result<std::unique_ptr<CompositorService>> Start(
      std::shared_ptr<sdk::UnansweredWindows> windows);
  ~CompositorService();
  CompositorService(const CompositorService&) = delete;
  CompositorService& operator=(const CompositorService&) = delete;

  // Whether compositors reach this service: another lagwatch may have the name until it ends.
  bool has_name() const;
  // Serves until `ns` have passed, or a signal came. Does not wait for the bus otherwise.
  void ServeFor(int64_t ns);

 private:
  class Connection;

  explicit CompositorService(std::unique_ptr<Connection> connection);

  std::unique_ptr<Connection> connection_;
};

}  // namespace lagwatch::tools
