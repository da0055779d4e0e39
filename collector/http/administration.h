// SPDX-License-Identifier: Apache-2.0
// The endpoints of administrators (collector/API.md, "Administration"). Context: background.
#pragma once

#include <vector>

#include "collector/http/endpoints.h"

namespace lagwatch::collector {

// Adds none without an audit log. A change whose entry in the audit log could not be written is not made.
void AddAdministration(const Services& services, std::vector<Endpoint>* endpoints);

}  // namespace lagwatch::collector
