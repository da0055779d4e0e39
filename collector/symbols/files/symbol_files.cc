// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/files/symbol_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <utility>

#include "base/process/env.h"
#include "collector/symbols/files/sha256.h"

namespace lagwatch::collector {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHashSuffix = ".sha256";
constexpr std::string_view kLabelSuffix = ".label";

// Of a file that came whole and is not stored yet, the last byte is to be sent again: that has it checked.
UploadProgress Unfinished(const SymbolUpload& upload, uint64_t received_bytes) {
  return {.received_bytes = std::min(received_bytes, std::max<uint64_t>(upload.size_bytes, 1) - 1)};
}

int64_t WallMs(const timespec& time) { return time.tv_sec * 1000 + time.tv_nsec / 1'000'000; }

uint64_t SizeOf(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

Status WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return base::IoError("cannot keep the symbol file", written < 0 ? errno : EIO);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

std::optional<SymbolKind> KindOfExtension(const fs::path& path) {
  for (SymbolKind kind : {SymbolKind::kDebug, SymbolKind::kExecutable, SymbolKind::kMapping}) {
    if (path.extension() == "." + std::string(SymbolKindName(kind))) return kind;
  }
  return std::nullopt;
}

// Calls `visit(path, status)` for each regular file below a directory; what vanishes meanwhile is left out.
template <typename Visit>
void VisitFiles(const std::string& directory, Visit visit) {
  std::error_code error;
  fs::recursive_directory_iterator entry(directory, fs::directory_options::skip_permission_denied, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    struct stat status {};
    if (lstat(entry->path().c_str(), &status) == 0 && S_ISREG(status.st_mode)) visit(entry->path(), status);
  }
}

void Replace(const std::string& path, std::string_view text) {
  const std::string temporary = path + ".new";
  base::OwnedFd file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (file && WriteAll(file.get(), text).ok()) rename(temporary.c_str(), path.c_str());
}

}  // namespace

std::string_view SymbolKindName(SymbolKind kind) {
  switch (kind) {
    case SymbolKind::kExecutable:
      return "executable";
    case SymbolKind::kMapping:
      return "mapping";
    case SymbolKind::kDebug:
      break;
  }
  return "debug";
}

// Holds an upload's turn; waits for it at first.
class SymbolFiles::Turn {
 public:
  Turn(SymbolFiles* files, std::string part_path) : files_(files), part_path_(std::move(part_path)) {
    std::unique_lock lock(files_->mutex_);
    files_->turn_ended_.wait(lock, [this] { return files_->busy_.insert(part_path_).second; });
  }
  ~Turn() {
    std::lock_guard lock(files_->mutex_);
    files_->busy_.erase(part_path_);
    files_->turn_ended_.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  const std::string& part_path() const { return part_path_; }

 private:
  SymbolFiles* files_;
  std::string part_path_;
};

Result<std::unique_ptr<SymbolFiles>> SymbolFiles::Open(std::string directory, SymbolFileLimits limits,
                                                       CheckFile check_file) {
  std::unique_ptr<SymbolFiles> files(new SymbolFiles(std::move(directory), limits, std::move(check_file)));
  if (int error = base::SystemEnv().CreateDirectories(files->parts_directory_)) {
    return base::IoError("cannot create the directory of symbols " + files->parts_directory_, error);
  }
  files->DropOldParts();
  return files;
}

SymbolFiles::SymbolFiles(std::string directory, SymbolFileLimits limits, CheckFile check_file)
    : directory_(std::move(directory)),
      parts_directory_(directory_ + "/unfinished"),
      limits_(limits),
      check_file_(std::move(check_file)) {}

std::string SymbolFiles::PathOf(const BuildId& build_id, SymbolKind kind) const {
  return directory_ + "/" + build_id.path() + "." + std::string(SymbolKindName(kind));
}

std::string SymbolFiles::PartPathOf(const SymbolUpload& upload) const {
  return parts_directory_ + "/" + upload.build_id.hex() + "." + std::string(SymbolKindName(upload.kind)) +
         "." + upload.sha256;
}

bool SymbolFiles::IsStored(const SymbolUpload& upload) const {
  const std::string path = PathOf(upload.build_id, upload.kind);
  std::string sha256;
  if (access(path.c_str(), R_OK) != 0) return false;
  return upload.sha256.empty() || (base::SystemEnv().ReadAll(path + std::string(kHashSuffix), &sha256) == 0 &&
                                   sha256 == upload.sha256);
}

UploadProgress SymbolFiles::ProgressOf(const SymbolUpload& upload) const {
  if (IsStored(upload)) return {.is_complete = true};
  struct stat status {};
  const bool has_part = !upload.sha256.empty() && stat(PartPathOf(upload).c_str(), &status) == 0;
  return Unfinished(upload, has_part ? static_cast<uint64_t>(status.st_size) : 0);
}

Status SymbolFiles::CheckLimits(const SymbolUpload& upload, uint64_t offset, std::string_view bytes) const {
  const uint64_t most = std::min(limits_.file_bytes, limits_.total_bytes);
  if (upload.size_bytes > most) {
    return {StatusCode::kTooLarge, "the file has more than " + std::to_string(most) +
                                       " bytes; split its debug information off, or compress it "
                                       "(objcopy --only-keep-debug --compress-debug-sections)"};
  }
  if (!IsSha256(upload.sha256)) return {StatusCode::kInvalid, "sha256 is 64 hexadecimal digits"};
  if (offset > upload.size_bytes || bytes.size() > upload.size_bytes - offset || bytes.empty()) {
    return {StatusCode::kInvalid, "the piece is empty or does not lie within the file's size"};
  }
  if (offset > 0) return {};
  uint64_t unfinished_bytes = 0;
  VisitFiles(parts_directory_, [&](const fs::path&, const struct stat& status) {
    unfinished_bytes += static_cast<uint64_t>(status.st_size);
  });
  if (unfinished_bytes <= limits_.total_bytes) return {};
  return {StatusCode::kUnavailable, "too many uploads are unfinished; finish them, or wait for a day"};
}

Result<UploadProgress> SymbolFiles::Append(const SymbolUpload& upload, uint64_t offset,
                                           std::string_view bytes) {
  if (offset == 0) DropOldParts();
  if (Status allowed = CheckLimits(upload, offset, bytes); !allowed.ok()) return allowed;
  Turn turn(this, PartPathOf(upload));
  if (IsStored(upload)) return UploadProgress{.is_complete = true};
  base::OwnedFd part(
      open(turn.part_path().c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!part) return base::IoError("cannot keep the symbol file", errno);
  uint64_t received = SizeOf(part.get());
  if (offset > received || offset + bytes.size() < received) return Unfinished(upload, received);
  if (Status written = WriteAll(part.get(), bytes.substr(received - offset)); !written.ok()) {
    // The written part of the piece stays: the answer to the next request has its size.
    return written;
  }
  received = offset + bytes.size();
  if (received < upload.size_bytes) return Unfinished(upload, received);
  auto note = LAGWATCH_TRY(Store(upload, part.get(), turn.part_path()));
  return UploadProgress{.is_complete = true, .note = std::move(note)};
}

Result<std::string> SymbolFiles::Store(const SymbolUpload& upload, int part_fd,
                                       const std::string& part_path) {
  auto sha256 = LAGWATCH_TRY(Sha256OfFile(part_fd));
  base::OwnedFd readable(open(part_path.c_str(), O_RDONLY | O_CLOEXEC));
  auto note = sha256 == upload.sha256
                  ? check_file_(readable.get(), upload.build_id)
                  : Status(StatusCode::kInvalid, "the received file has another SHA-256; send it again");
  if (!note.ok()) {
    if (note.status().code() == StatusCode::kInvalid) unlink(part_path.c_str());
    return note;
  }
  if (fsync(part_fd) != 0) return base::IoError("cannot keep the symbol file", errno);
  MakeRoom(upload.size_bytes);
  const std::string path = PathOf(upload.build_id, upload.kind);
  mkdir(fs::path(path).parent_path().c_str(), 0700);
  if (rename(part_path.c_str(), path.c_str()) != 0)
    return base::IoError("cannot keep the symbol file", errno);
  if (!upload.label.empty()) Replace(path + std::string(kLabelSuffix), upload.label);
  // After the file: a hash that is not there, or an old one, only has the file sent once more.
  Replace(path + std::string(kHashSuffix), upload.sha256);
  if (on_new_file_) on_new_file_(upload.build_id);
  return note;
}

base::OwnedFd SymbolFiles::OpenFile(const BuildId& build_id, SymbolKind kind) const {
  base::OwnedFd file(open(PathOf(build_id, kind).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return file;
  const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_NOW}, {.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
  futimens(file.get(), times);
  return file;
}

std::vector<StoredSymbolFile> SymbolFiles::List() const {
  std::vector<StoredSymbolFile> files;
  VisitFiles(directory_, [&](const fs::path& path, const struct stat& status) {
    auto kind = KindOfExtension(path);
    auto id = BuildId::FromHex(path.parent_path().filename().string() + path.stem().string());
    if (!kind || !id || path.parent_path() == parts_directory_) return;
    files.push_back({id->hex(), *kind, static_cast<uint64_t>(status.st_size), WallMs(status.st_mtim),
                     WallMs(status.st_atim)});
    if (*kind == SymbolKind::kMapping)
      base::SystemEnv().ReadAll(path.string() + std::string(kLabelSuffix), &files.back().label);
  });
  std::sort(files.begin(), files.end(), [](const StoredSymbolFile& a, const StoredSymbolFile& b) {
    return std::tie(a.build_id, a.kind) < std::tie(b.build_id, b.kind);
  });
  return files;
}

void SymbolFiles::MakeRoom(uint64_t wanted_bytes) const {
  std::vector<StoredSymbolFile> files = List();
  uint64_t total_bytes = wanted_bytes;
  for (const StoredSymbolFile& file : files) total_bytes += file.size_bytes;
  std::sort(files.begin(), files.end(), [](const StoredSymbolFile& a, const StoredSymbolFile& b) {
    return a.used_wall_ms < b.used_wall_ms;
  });
  for (const StoredSymbolFile& file : files) {
    if (total_bytes <= limits_.total_bytes) break;
    const std::string path = PathOf(*BuildId::FromHex(file.build_id), file.kind);
    for (const std::string_view suffix : {kHashSuffix, kLabelSuffix, std::string_view()})
      unlink((path + std::string(suffix)).c_str());
    total_bytes -= file.size_bytes;
  }
}

void SymbolFiles::DropOldParts() const {
  const time_t oldest = std::time(nullptr) - limits_.unfinished_s;
  VisitFiles(parts_directory_, [oldest](const fs::path& path, const struct stat& status) {
    if (status.st_mtim.tv_sec < oldest) unlink(path.c_str());
  });
}

}  // namespace lagwatch::collector
