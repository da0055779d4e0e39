// SPDX-License-Identifier: Apache-2.0
// /v1/admin without the configs (config_admin.h): each function answers one request.
// Context: background. Thread-safe.
#pragma once

#include <string_view>

#include "collector/admin/audit_log.h"
#include "collector/admin/deletions.h"
#include "collector/keys/key_file.h"
#include "collector/query/json/annotated_causes.h"
#include "collector/query/response.h"
#include "collector/store/store.h"

namespace lagwatch::collector {

// /v1/admin/clusters: what people say of clusters, and do to them (cluster_admin.cc).
// {"key", "title", "link", "state", "fixed_in", "merged_into", "is_split"}, with an entity tag.
Result<Response> GetCluster(const AnnotatedCauses& annotated, std::string_view key);
// `body` is any of these except the key: they are changed, "" or null being none. Answers as GetCluster.
// `if_match` is the If-Match header: 412 when another has changed them since.
Result<Response> PatchCluster(const AnnotatedCauses& annotated, std::string_view key, std::string_view body,
                              std::string_view by, AuditLog* audit, std::string_view if_match = {});

// /v1/admin/deletions: what admins have deleted, and what is being deleted (deletion_admin.cc).
// The newest first: [{"id", "kind", "subject", "by", "begun_wall_ms", "ended_wall_ms", "reports", "traces",
// "others", "error"}].
Result<Response> ListDeletions(Deletions* deletions);
// `body` is {"kind", "subject"}. Answers 202 and the deletion as in the list.
Result<Response> BeginDeletion(Deletions* deletions, StoreReader* store, const AnnotatedCauses& causes,
                               std::string_view body, std::string_view by, AuditLog* audit);

// /v1/admin/keys: the collector's keys (key_admin.cc). All of them, without their texts.
Result<Response> ListKeys(const KeyFile& keys);
// `body` is {"name", "access", "expires_in_s", "reports_per_s", "bytes_per_day", "replaces", "overlap_s"};
// "name" and "access" are required. Only this answer contains the key's text.
Result<Response> AddKey(const KeyFile& keys, std::string_view body, std::string_view by, AuditLog* audit);
Result<Response> RevokeKey(const KeyFile& keys, std::string_view name, std::string_view by, AuditLog* audit);

}  // namespace lagwatch::collector
