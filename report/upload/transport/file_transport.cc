// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "base/uuid.h"
#include "report/upload/transport/transport.h"

namespace lagwatch::report {
namespace {

// "20261121T191542.123Z"
std::string TimeText(int64_t wall_ms) {
  char milliseconds[8];
  std::snprintf(milliseconds, sizeof milliseconds, ".%03dZ", static_cast<int>(wall_ms % 1'000));
  return base::UtcText(wall_ms, "%Y%m%dT%H%M%S") + milliseconds;
}

class FileTransport final : public Transport {
 public:
  FileTransport(base::Env* env, std::string directory) : env_(env), directory_(std::move(directory)) {}

  UploadAnswer Post(std::string_view gzip_body) override {
    const int64_t now_wall_ms = base::SystemClock().WallMs();
    const std::string name = TimeText(now_wall_ms) + "-" + base::ToString(base::CreateUuidV7(now_wall_ms));
    if (int error = Write(directory_ + "/" + name + ".lwb.gz", gzip_body))
      return {.message = base::IoError("cannot write into " + directory_, error).message()};
    return {.kind = UploadAnswer::Kind::kDelivered};
  }
  void Abort() override {}  // a file does not wait

 private:
  int Write(const std::string& path, std::string_view content) {
    const std::string temporary = path + ".tmp";
    int error = env_->CreateDirectories(directory_);
    if (error != 0) return error;
    int fd;
    error = env_->CreateLocked(temporary.c_str(), &fd);
    if (error != 0) return error;
    error = env_->Append(fd, content.data(), content.size());
    env_->Close(fd);
    if (error == 0) error = env_->Sync(temporary.c_str());
    if (error == 0) error = env_->Rename(temporary.c_str(), path.c_str());
    if (error == 0) return env_->Sync(directory_.c_str());
    env_->Remove(temporary.c_str());
    return error;
  }

  base::Env* env_;
  std::string directory_;
};

}  // namespace

base::Result<std::unique_ptr<Transport>> CreateFileTransport(base::Env* env, std::string_view endpoint) {
  const bool is_ours = endpoint.starts_with(kFileScheme);
  std::string directory(is_ours ? endpoint.substr(kFileScheme.size()) : endpoint);
  if (!is_ours || !directory.starts_with('/')) {
    return base::Status(base::StatusCode::kInvalid,
                        "the endpoint '" + std::string(endpoint) + "' must be file:// and an absolute path");
  }
  return std::unique_ptr<Transport>(std::make_unique<FileTransport>(env, std::move(directory)));
}

}  // namespace lagwatch::report
