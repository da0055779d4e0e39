// SPDX-License-Identifier: Apache-2.0
#include "trace/record/recorder.h"

namespace lagwatch::trace {

const bool kCanRecord = true;

}  // namespace lagwatch::trace
