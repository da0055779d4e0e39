// SPDX-License-Identifier: Apache-2.0
// collector/openapi.json, built into the program: the API, for programs. Context: background; pure.
#pragma once

#include <string_view>

namespace lagwatch::collector {

std::string_view OpenApiText();

}  // namespace lagwatch::collector
