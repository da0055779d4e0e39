// SPDX-License-Identifier: Apache-2.0
#include "report/upload/ledger_file.h"

#include <cerrno>
#include <utility>

namespace lagwatch::report {

Status LedgerFile::Enter(int64_t now_wall_ms) {
  const std::string lock_path = PathOf(kLedgerLockName);
  int error = env_->Lock(lock_path.c_str(), &lock_fd_);
  if (error == EWOULDBLOCK) return {base::StatusCode::kUnavailable, "another process sends " + directory_};
  if (error != 0) return IoError("cannot lock " + lock_path, error);
  std::string text;
  error = env_->ReadAll(PathOf(kLedgerName), &text);
  if (error != 0 && error != ENOENT && error != EFBIG) {
    Leave();
    return IoError("cannot read " + PathOf(kLedgerName), error);
  }
  const bool is_other = text != saved_text_;
  if (is_other) is_saved_text_durable_ = false;
  saved_text_ = std::move(text);
  if (error == 0) {
    auto ledger = UploadLedger::Parse(*saved_text_);
    if (ledger.ok()) {
      ledger_ = std::move(*ledger);
      return {};
    }
  }
  damaged_count_ += error != ENOENT && is_other;
  ledger_ = UploadLedger::New(now_wall_ms);
  return {};
}

void LedgerFile::Leave() {
  if (lock_fd_ >= 0) env_->Unlock(std::exchange(lock_fd_, -1));
}

std::optional<LedgerVersion> LedgerFile::Version() const {
  base::FileFacts facts;
  if (env_->Look(PathOf(kLedgerName).c_str(), &facts) != 0) return std::nullopt;
  return LedgerVersion{facts.size_bytes, facts.modified_wall_ms};
}

Status LedgerFile::Save(const std::set<std::string>& present) {
  const size_t forgotten =
      std::erase_if(ledger_.segments, [&](const auto& segment) { return !present.contains(segment.first); });
  std::string text = ledger_.ToText();
  if (text == saved_text_ && is_saved_text_durable_) return {};
  // Before a decision is forgotten the disk has to know that its file is gone: it must not come back without.
  if (forgotten > 0 || text == saved_text_) {
    if (int error = env_->Sync(directory_.c_str())) return IoError("cannot sync " + directory_, error);
  }
  if (text != saved_text_) {
    is_saved_text_durable_ = false;
    if (Status written = Write(text); !written.ok()) return written;
    saved_text_ = std::move(text);
  }
  is_saved_text_durable_ = true;
  return {};
}

Status LedgerFile::Write(const std::string& text) {
  const std::string path = PathOf(kLedgerName);
  const std::string temporary = PathOf(kLedgerTemporaryName);
  int fd;
  int error = env_->CreateLocked(temporary.c_str(), &fd);
  if (error == EEXIST) {  // of a process that was killed
    env_->Remove(temporary.c_str());
    error = env_->CreateLocked(temporary.c_str(), &fd);
  }
  if (error == 0) {
    error = env_->Append(fd, text.data(), text.size());
    env_->Close(fd);
  }
  if (error == 0) error = env_->Sync(temporary.c_str());
  if (error == 0) error = env_->Rename(temporary.c_str(), path.c_str());
  if (error == 0) error = env_->Sync(directory_.c_str());
  return error == 0 ? Status() : IoError("cannot write " + path, error);
}

}  // namespace lagwatch::report
