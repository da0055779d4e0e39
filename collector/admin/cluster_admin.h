// SPDX-License-Identifier: Apache-2.0
// /v1/admin/clusters: what people say of clusters, and do to them. Context: background. Thread-safe.
#pragma once

#include <string_view>

#include "collector/files/audit_log.h"
#include "collector/query/json/annotated_causes.h"
#include "collector/query/response.h"

namespace lagwatch::collector {

// {"key", "title", "link", "state", "fixed_in", "merged_into", "is_split"}, with an entity tag.
base::Result<Response> GetCluster(const AnnotatedCauses& annotated, std::string_view key);
// `body` is any of these except the key: they are changed, "" or null being none. Answers as GetCluster.
// `if_match` is the If-Match header: 412 when another has changed them since.
base::Result<Response> PatchCluster(const AnnotatedCauses& annotated, std::string_view key,
                                    std::string_view body, std::string_view by, AuditLog* audit,
                                    std::string_view if_match = {});

}  // namespace lagwatch::collector
