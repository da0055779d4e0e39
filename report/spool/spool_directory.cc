// SPDX-License-Identifier: Apache-2.0
#include "report/spool/spool_directory.h"

namespace lagwatch::report {

base::Status CheckSpoolDirectory(base::Env* env, const std::string& directory) {
  constexpr uint32_t kWritableByOthers = 0022;
  using base::FileFacts;
  auto refused = [&](const std::string& why) {
    return base::Status(base::StatusCode::kInvalid, "the spool directory " + directory + why);
  };
  // With a slash at its end a link would be followed.
  const std::string path = directory.substr(0, directory.find_last_not_of('/') + 1);
  FileFacts facts;
  if (path.empty()) return refused(" is the root directory: name another");
  if (int error = env->Look(path.c_str(), &facts))
    return base::IoError("cannot look at the spool directory " + directory, error);
  if (facts.kind == FileFacts::FileKind::kLink)
    return refused(" is a symbolic link: name the directory that it points to");
  if (facts.kind != FileFacts::FileKind::kDirectory) return refused(" is no directory: name another");
  if (!facts.is_own) return refused(" belongs to another user: name one of this user's own");
  if ((facts.mode & kWritableByOthers) != 0)
    return refused(" can be written to by others: chmod go-w " + path);
  return {};
}

std::optional<uint32_t> OwnerOfDirectory(base::Env* env, const std::string& directory) {
  base::FileFacts facts;
  if (env->Look((directory + "/.").c_str(), &facts) != 0) return std::nullopt;
  return facts.owner_id;
}

}  // namespace lagwatch::report
