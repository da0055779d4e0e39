// SPDX-License-Identifier: Apache-2.0
// /v1/admin/clusters: what people say of clusters, and do to them. Context: background. Thread-safe.
#pragma once

#include <string_view>

#include "collector/admin/audit_log.h"
#include "collector/query/cause_book.h"
#include "collector/query/response.h"

namespace lagwatch::collector {

// `body` is any of {"title", "link", "state", "fixed_in", "merged_into", "is_split"}: these are changed, ""
// or null being none. Answers {"key"} and all of them.
Response PatchCluster(const CauseBook& book, std::string_view key, std::string_view body, std::string_view by,
                      AuditLog* audit);

}  // namespace lagwatch::collector
