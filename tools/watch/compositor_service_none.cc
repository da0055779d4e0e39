// SPDX-License-Identifier: Apache-2.0
// Built where there are no headers of libdbus.
#include "tools/watch/compositor_service.h"

namespace lagwatch::tools {

class CompositorService::Connection {};

base::Result<std::unique_ptr<CompositorService>> CompositorService::Start(
    std::shared_ptr<sdk::UnansweredWindows>) {
  return base::Status(base::StatusCode::kUnavailable, "this lagwatch was built without libdbus");
}

CompositorService::CompositorService(std::unique_ptr<Connection>) {}
CompositorService::~CompositorService() = default;
bool CompositorService::has_name() const { return false; }
void CompositorService::ServeFor(int64_t) {}

}  // namespace lagwatch::tools
