// SPDX-License-Identifier: Apache-2.0
#include "collector/keys/secret_file.h"

#include <cerrno>

#include "base/process/env.h"
#include "base/text.h"

namespace lagwatch::collector {
namespace {

Status WriteNewFile(const std::string& path, const std::string& content) {
  base::Env& env = base::SystemEnv();
  int fd = -1;
  int error = env.CreateLocked(path.c_str(), &fd);
  if (error == 0) {
    error = env.Append(fd, content.data(), content.size());
    env.Close(fd);
  }
  return error == 0 ? Status() : base::IoError("cannot write the key file " + path, error);
}

}  // namespace

Result<std::string> LoadOrCreateSecret(const std::string& path,
                                       const std::function<Result<std::string>()>& create) {
  std::string content;
  int error = base::SystemEnv().ReadAll(path, &content);
  if (error == ENOENT) {
    auto secret = create();
    if (!secret.ok()) return secret;
    if (Status written = WriteNewFile(path, *secret + "\n"); !written.ok()) return written;
    return secret;
  }
  if (error != 0) return base::IoError("cannot read the key file " + path, error);
  std::string secret(base::Trimmed(content));
  if (secret.empty()) {
    return Status(StatusCode::kInvalid,
                  "the key file " + path + " is empty; write a key into it, or remove it to get a new one");
  }
  return secret;
}

}  // namespace lagwatch::collector
