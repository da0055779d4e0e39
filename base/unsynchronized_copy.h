// SPDX-License-Identifier: Apache-2.0
// A copy of memory that another thread may be writing to.
#pragma once

#include <cstddef>

namespace lagwatch::base {

// Copies `size_bytes`, which may be mixed of old and new. For readers that compare a version before and
// after, and discard the copy if it has changed: H.-J. Boehm, "Can Seqlocks Get Along with Programming
// Language Memory Models?" (MSPC 2012). Sanitizers do not see the read. Context: any.
void CopyUnsynchronized(const void* from, void* to, size_t size_bytes);

}  // namespace lagwatch::base
