// SPDX-License-Identifier: Apache-2.0
// A key of pthread_key_create(3) whose values signal handlers may set.
#pragma once

#include <pthread.h>

namespace lagwatch::base {

// `at_end` is called at the end of each thread that has set a value, with that. False when there is no such
// key (any more). Context: background.
bool CreateThreadEndKey(pthread_key_t* key, void (*at_end)(void* value));

}  // namespace lagwatch::base
