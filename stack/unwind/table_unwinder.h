// SPDX-License-Identifier: Apache-2.0
// lagwatch's own unwinder: rules from compiled tables, or from .eh_frame in memory until these are ready,
// through a cache; then frame pointers. See docs/design/unwinding.md.
#pragma once

#include <memory>

#include "base/status.h"
#include "stack/code/unwinder.h"
#include "stack/unwind/tables/table_library.h"

namespace lagwatch::stack {

// Starts a background thread that compiles the tables of modules as they appear. Errors: kUnavailable if no
// thread can be started, or without memory. Context: background.
base::Result<std::unique_ptr<Unwinder>> CreateTableUnwinder(const FrameSectionLoader& files = {});

// Without tables of its own making: `tables` is borrowed. Null when there is no memory. For tests and
// benchmarks. Context: background.
std::unique_ptr<Unwinder> CreateTableUnwinder(TableLibrary* tables);

}  // namespace lagwatch::stack
