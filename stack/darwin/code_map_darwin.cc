// SPDX-License-Identifier: Apache-2.0
#include "stack/code/unwinder.h"
#include "stack/code_map.h"

namespace lagwatch::stack {

base::Result<std::shared_ptr<CodeMap>> CodeMap::Create(const FrameSectionLoader&) {
  auto map = std::make_shared<CodeMap>(CreateFramePointerUnwinder());
  if (!map->modules_.ok())
    return base::Status(base::StatusCode::kUnavailable, "no memory for the map of modules");
  return map;
}

}  // namespace lagwatch::stack
