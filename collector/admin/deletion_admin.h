// SPDX-License-Identifier: Apache-2.0
// /v1/admin/deletions: what admins have deleted, and what is being deleted. Context: background. Thread-safe.
#pragma once

#include <string_view>

#include "collector/admin/deletions.h"
#include "collector/files/audit_log.h"
#include "collector/query/json/annotated_causes.h"
#include "collector/query/response.h"
#include "collector/store/store.h"

namespace lagwatch::collector {

// The newest first: [{"id", "kind", "subject", "by", "begun_wall_ms", "ended_wall_ms", "reports", "traces",
// "others", "error"}].
base::Result<Response> ListDeletions(Deletions* deletions);
// `body` is {"kind", "subject"}. Answers 202 and the deletion as in the list.
base::Result<Response> BeginDeletion(Deletions* deletions, Store* store, const AnnotatedCauses& causes,
                                     std::string_view body, std::string_view by, AuditLog* audit);

}  // namespace lagwatch::collector
