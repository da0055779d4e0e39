// SPDX-License-Identifier: Apache-2.0
// Orders two versions of a program, whatever their scheme: runs of digits compare as numbers, other text
// as text, and "-rc1" or "~beta" comes before nothing at all, as in Semantic Versioning and Debian.
// Context: background; pure.
#pragma once

#include <string_view>

namespace lagwatch::policies {

bool IsOlderVersion(std::string_view a, std::string_view b);

}  // namespace lagwatch::policies
