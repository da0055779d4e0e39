// SPDX-License-Identifier: Apache-2.0
// A directory of symbol files by build id: DIRECTORY/ab/cdef….debug and .executable, as under
// /usr/lib/debug/.build-id, and .mapping. Files arrive in pieces, in order, so that an interrupted upload can
// continue; they are stored as a whole or not at all. An upload is checked: its SHA-256, then its content
// (`CheckFile`). Context: background. Thread-safe; one process.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/owned_fd.h"
#include "base/status.h"
#include "collector/symbols/elf/build_id.h"

namespace lagwatch::collector {

enum class SymbolKind : uint8_t { kDebug, kExecutable, kMapping };

// "debug", "executable", "mapping".
std::string_view SymbolKindName(SymbolKind kind);

struct SymbolFileLimits {
  uint64_t file_bytes = uint64_t{2} << 30;
  uint64_t total_bytes = uint64_t{20} << 30;  // the least recently used are removed first
  int64_t unfinished_s = 24 * 60 * 60;        // how long an upload may pause
};

// A file that is to come.
struct SymbolUpload {
  BuildId build_id;
  SymbolKind kind = SymbolKind::kDebug;
  uint64_t size_bytes = 0;
  std::string sha256;      // lower case hex
  std::string label = {};  // kept with the file
};

struct UploadProgress {
  bool is_complete = false;
  uint64_t received_bytes = 0;  // where to go on
  std::string note = {};        // of a file that was stored now: what cannot be read of it, and why
};

struct StoredSymbolFile {
  std::string build_id;  // hex
  SymbolKind kind = SymbolKind::kDebug;
  uint64_t size_bytes = 0;
  int64_t stored_wall_ms = 0;
  int64_t used_wall_ms = 0;
  std::string label = {};  // of its upload
};

class SymbolFiles {
 public:
  // Checks that a file matches its description; errors describe the difference. Returns a note of what cannot
  // be read of it; empty: nothing.
  using CheckFile = std::function<base::Result<std::string>(int fd, const BuildId& build_id)>;

  // Creates the directory. Errors: kIo.
  static base::Result<std::unique_ptr<SymbolFiles>> Open(std::string directory, SymbolFileLimits limits,
                                                         CheckFile check_file);

  // The received part of an upload. Without a SHA-256, any file of that build id and kind is a complete one.
  UploadProgress ProgressOf(const SymbolUpload& upload) const;

  // Adds a piece that begins at `offset` of the file. Bytes that are there already are not written again; a
  // piece after a gap is refused: the answer has the offset to continue at. The last piece has the file
  // checked and stored. Errors: kInvalid if the file does not match its description (then all of it is to be
  // sent again) or the piece does not fit; kTooLarge; kUnavailable if too many uploads are unfinished; kIo.
  base::Result<UploadProgress> Append(const SymbolUpload& upload, uint64_t offset, std::string_view bytes);

  // The file, read only; it counts as used now. None when there is none.
  base::OwnedFd OpenFile(const BuildId& build_id, SymbolKind kind) const;

  // By build id.
  std::vector<StoredSymbolFile> List() const;

  // Called, on the thread that sent its last piece, when a file has become known. To be set before
  // the first Append.
  void OnNewFile(std::function<void(const BuildId&)> callback) { on_new_file_ = std::move(callback); }

 private:
  SymbolFiles(std::string directory, SymbolFileLimits limits, CheckFile check_file);

  std::string PathOf(const BuildId& build_id, SymbolKind kind) const;
  std::string PartPathOf(const SymbolUpload& upload) const;
  bool IsStored(const SymbolUpload& upload) const;
  base::Status CheckLimits(const SymbolUpload& upload, uint64_t offset, std::string_view bytes) const;
  // Returns the note of the check.
  base::Result<std::string> Store(const SymbolUpload& upload, int part_fd, const std::string& part_path);
  void MakeRoom(uint64_t wanted_bytes) const;
  void DropOldParts() const;

  const std::string directory_;
  const std::string parts_directory_;
  const SymbolFileLimits limits_;
  const CheckFile check_file_;
  std::function<void(const BuildId&)> on_new_file_;

  // One Append at a time for each upload.
  class Turn;
  std::mutex mutex_;
  std::condition_variable turn_ended_;
  std::set<std::string> busy_;  // guarded by mutex_: part paths
};

}  // namespace lagwatch::collector
