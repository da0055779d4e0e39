// SPDX-License-Identifier: Apache-2.0
#include "base/process/cancellation.h"

#include <pthread.h>

namespace lagwatch::base {

ScopedNoCancellation::ScopedNoCancellation() {
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type_);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state_);
}

ScopedNoCancellation::~ScopedNoCancellation() {
  pthread_setcancelstate(state_, nullptr);
  pthread_setcanceltype(type_, nullptr);
}

void TestCancellation() { pthread_testcancel(); }

}  // namespace lagwatch::base
