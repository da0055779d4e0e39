// SPDX-License-Identifier: Apache-2.0
// Random programs: operations that are mostly right, and scripts made by the grammar. The same seed makes the
// same ones.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "probe/program.h"

namespace lagwatch::probe {

using Random = std::mt19937_64;

// A program whose declarations the verifier accepts, with one probe of random operations.
Program RandomProgram(Random* random);
// A script that the compiler mostly accepts.
std::string RandomScript(Random* random);

}  // namespace lagwatch::probe
