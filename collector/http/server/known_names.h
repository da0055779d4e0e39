// SPDX-License-Identifier: Apache-2.0
// Refuses names that an endpoint does not know, so that a mistyped filter is no list of everything. Context:
// background; pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collector/query/response.h"

namespace lagwatch::collector {

// Names that an endpoint takes.
using KnownNames = std::vector<std::string>;

// The name that is most like `name`; empty if none is like it.
std::string NearestName(std::string_view name, const KnownNames& known);

// The refusal of a parameter of `query` that is not known; none if all are, or the query cannot be read.
std::optional<Response> RefuseUnknownParameters(std::string_view query, const KnownNames& known);
// The same of the fields of a JSON object; none if the body is none.
std::optional<Response> RefuseUnknownFields(std::string_view body, const KnownNames& known);

}  // namespace lagwatch::collector
