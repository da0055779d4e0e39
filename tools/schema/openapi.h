// SPDX-License-Identifier: Apache-2.0
// The collector's OpenAPI document, from the short notation of collector/openapi_source.json.
//
// A schema there is a text "TYPE", "TYPE?" (or null), each with ": description" behind it where there is one:
//   text bool count integer number ms time_ms id key object   time_ms is since 1970 UTC, key a cluster's
//   Name                                                      the schema of that name
//   [TYPE] {TYPE}                                             an array of these; an object of any keys with
//   these =a|b|c  @Name                                             one of these texts; of the enumeration's
// or an array of one schema, which stands for arrays of it; or an object with
//   "fields": {"name": schema, "name?": schema}               name? may be missing
//   "is_nullable": true                                       the object, or null
//   "extends": "Name"                                         fields of that schema, too; "$Name" is in no
//   document "columns": "Report", "table": "Report"                    the columns of the store's rows; the
//   table's fields that
//                                                             are not among them
//                                                             (report/format/field_tables.h)
// or any other JSON Schema.
#pragma once

#include "tools/schema/messages.h"

namespace lagwatch::tools {

// Throws std::runtime_error and nlohmann's exceptions if `source` is not what it should be.
Json OpenApiDocument(const Json& source);

}  // namespace lagwatch::tools
