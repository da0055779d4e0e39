// SPDX-License-Identifier: Apache-2.0
// The audit log of the collector: a line of JSON for each change, in one file, which is only appended to,
// except that names of deleted users become digests. Context: background. Thread-safe, also among processes.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "base/status.h"
#include "collector/query/json/json_text.h"

namespace lagwatch::collector {

// "sha256:" and the first half of the digest: it can be compared with a known subject.
std::string SubjectDigest(std::string_view subject);

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

  // Replaces `user` in the subjects of entries by its digest (SubjectDigest). Errors: kIo.
  base::Status EraseUser(std::string_view user);

  // The newest `limit` entries, the newest first: {"wall_ms", "by", "action", "subject",
  // "details"}. Errors: kIo.
  base::Result<Json> Newest(int64_t limit) const;

 private:
  const std::string path_;
  mutable std::mutex mutex_;
};

}  // namespace lagwatch::collector
