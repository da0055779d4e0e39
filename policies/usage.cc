// SPDX-License-Identifier: Apache-2.0
#include "policies/usage.h"

namespace lagwatch::policies {

std::string_view SuppressedReasonName(SuppressedReason reason) {
  switch (reason) {
#define SUPPRESSED_REASON(number, enumerator, name, ...) \
  case SuppressedReason::enumerator:                     \
    return name;
#include "policies/report_enums.def"
  }
  return "unknown";
}

}  // namespace lagwatch::policies
