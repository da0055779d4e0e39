// SPDX-License-Identifier: Apache-2.0
// bionic's normal mutexes, which std::mutex is made of, do not name their owner, and Android's filter for
// apps ends a process that calls get_robust_list(2). The only owner that is known is that of an
// inheriting mutex: the kernel keeps it.
#include "stack/threads/lock_layout.h"

namespace lagwatch::stack {

std::optional<MutexLayout> MeasureMutexLayout() { return std::nullopt; }
std::optional<RwLockLayout> MeasureRwLockLayout() { return std::nullopt; }
std::optional<ThreadLayout> MeasureThreadLayout() { return std::nullopt; }

}  // namespace lagwatch::stack
