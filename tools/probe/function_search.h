// SPDX-License-Identifier: Apache-2.0
// Finds the functions that a script's place means in a running process. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "probe/program.h"
#include "sdk/probe/probe_messages.h"
#include "tools/probe/debug_types.h"
#include "tools/probe/process_functions.h"

namespace lagwatch::tools {

// The sites for probe number `probe` at `place`. A place that is not in functions has none. Errors, each with
// what helps: kNotFound (unknown, inlined everywhere), kInvalid (ambiguous, a bad pattern, a place that is
// not served), kTooLarge.
base::Result<std::vector<sdk::ProbeSiteAt>> FindSites(const probe::Place& place, uint16_t probe,
                                                      ProcessFunctions* functions, DebugTypes* types);

// The functions of a place whose name is a pattern, as `lagwatch probe --functions` lists them. Errors:
// likewise; without `explains` they do not say what is there instead, which takes long.
// Whether a place means a method of Java, though the script does not say so: in a JVM CLASS::METHOD is one if
// no native function has the name.
bool MeansJava(const probe::Place& place, ProcessFunctions* functions, DebugTypes* types);
// The site of a pattern of methods of Java, which the JVM's agent finds.
std::vector<sdk::ProbeSiteAt> JavaSites(const std::string& pattern);
base::Result<std::vector<sdk::ProbeSiteAt>> FindFunctions(const std::string& pattern,
                                                          ProcessFunctions* functions, DebugTypes* types,
                                                          bool explains = true);

}  // namespace lagwatch::tools
