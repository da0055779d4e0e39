// SPDX-License-Identifier: Apache-2.0
// Places inside of methods of Java: calls, lines, objects made, `synchronized` blocks, fields. Context:
// background.
#pragma once

#include <string>

#include "probe/verify/verified.h"

namespace lagwatch::sdk::jvm {

inline bool IsInnerPlace(const probe::VerifiedProbe& probe) {
  return (At(probe.place().kind) & probe::kInMethods) != 0;
}
// KINDS and TARGET, as InnerSite.java has them.
std::string InnerKindsOf(const probe::VerifiedProbe& probe);

}  // namespace lagwatch::sdk::jvm
