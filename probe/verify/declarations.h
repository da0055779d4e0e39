// SPDX-License-Identifier: Apache-2.0
// The part of the verifier that looks at a program's declarations. Each function returns the reason for a
// refusal, or an empty text. Context: background.
#pragma once

#include <string>

#include "probe/program.h"

namespace lagwatch::probe {

std::string CheckDeclarations(const Program& program);
std::string CheckPlace(const Place& place);

}  // namespace lagwatch::probe
