// SPDX-License-Identifier: Apache-2.0
// The facts of the control group that a process is in. Context: watchdog, for a report only.
#pragma once

#include <string_view>

#include "base/process/process.h"
#include "watchdog/spans/span_source.h"

namespace lagwatch::watchdog {

// Memory and processor quota; of version 2 also pressure and disk transfers.
void AddGroupFacts(const base::Process& process, FactList* facts);

// Of the group of version 2 in the folder `root``group`. False where that is no group, or the machine's own.
bool AddGroupPressure(std::string_view root, std::string_view group, FactList* facts);

}  // namespace lagwatch::watchdog
