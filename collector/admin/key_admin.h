// SPDX-License-Identifier: Apache-2.0
// /v1/admin/keys: the collector's keys, over HTTP. Context: background. Thread-safe.
#pragma once

#include <string_view>

#include "collector/files/audit_log.h"
#include "collector/keys/key_file.h"
#include "collector/query/response.h"

namespace lagwatch::collector {

// All keys, without their texts.
base::Result<Response> ListKeys(const KeyFile& keys);
// `body` is {"name", "access", "expires_in_s", "reports_per_s", "bytes_per_day", "replaces", "overlap_s"}, of
// which the first two must be there. The answer is the only place that ever has the key's text.
base::Result<Response> AddKey(const KeyFile& keys, std::string_view body, std::string_view by,
                              AuditLog* audit);
base::Result<Response> RevokeKey(const KeyFile& keys, std::string_view name, std::string_view by,
                                 AuditLog* audit);

}  // namespace lagwatch::collector
