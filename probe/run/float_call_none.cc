// SPDX-License-Identifier: Apache-2.0
// For hits that run by the rules of other calls.
#include "probe/run/float_call.h"

namespace lagwatch::probe {

uint64_t CallWithFloats(uint64_t first, uint64_t second, uint64_t third, FloatCall function) {
  return function(first, second, third);
}

}  // namespace lagwatch::probe
