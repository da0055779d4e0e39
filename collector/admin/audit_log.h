// SPDX-License-Identifier: Apache-2.0
// The audit log of the collector: a line of JSON for each change, in one file, which is only appended to.
// Context: background. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "base/status.h"
#include "collector/query/json/json_text.h"

namespace lagwatch::collector {

class AuditLog {
 public:
  // The file need not be there yet.
  explicit AuditLog(std::string path) : path_(std::move(path)) {}

  // Sets room aside on the disk for the entries of the changes that are under way. To be called before a
  // change. Errors: kUnavailable when no entry could be written, as on a full disk.
  base::Status Reserve();

  // `by` is the name of the request's key, `action` a word such as "config.put". An entry that cannot be
  // written goes to the program's log instead.
  void Add(std::string_view by, std::string_view action, std::string_view subject, const Json& details = {});

  // The newest `limit` entries, the newest first: {"wall_ms", "by", "action", "subject",
  // "details"}. Errors: kIo.
  base::Result<Json> Newest(int64_t limit) const;

 private:
  const std::string path_;
  mutable std::mutex mutex_;
};

}  // namespace lagwatch::collector
