// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "stack/code_map.h"
#include "stack/unwind/table_unwinder.h"

namespace lagwatch::stack {

base::Result<std::shared_ptr<CodeMap>> CodeMap::Create(const FrameSectionLoader& files) {
  auto unwinder = CreateTableUnwinder(files);
  if (!unwinder.ok()) return unwinder.status();
  auto map = std::make_shared<CodeMap>(std::move(unwinder).value());
  if (!map->modules_.ok())
    return base::Status(base::StatusCode::kUnavailable, "no memory for the map of modules");
  return map;
}

}  // namespace lagwatch::stack
