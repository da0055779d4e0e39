// SPDX-License-Identifier: Apache-2.0
// The ledger's file in the spool directory, and the lock that lets one process at a time send a spool.
// A ledger is written to a new file, which takes the old one's place once the disk has it: whenever the
// process is killed or the power fails, one of the two is there, whole. Context: background. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/process/env.h"
#include "base/status.h"
#include "report/upload/upload_ledger.h"

namespace lagwatch::report {

// Names in the spool directory.
inline constexpr std::string_view kLedgerName = "ledger";
inline constexpr std::string_view kLedgerLockName = "ledger.lock";
inline constexpr std::string_view kLedgerTemporaryName = "ledger.tmp";

// Identifies a written version of a ledger.
struct LedgerVersion {
  uint64_t size_bytes;
  int64_t modified_wall_ms;

  bool operator==(const LedgerVersion&) const = default;
};

class LedgerFile {
 public:
  // `env` is borrowed.
  LedgerFile(base::Env* env, std::string directory) : env_(env), directory_(std::move(directory)) {}
  ~LedgerFile() { Leave(); }
  LedgerFile(const LedgerFile&) = delete;
  LedgerFile& operator=(const LedgerFile&) = delete;

  // Takes the lock and reads what is decided so far; a new ledger where there is none, or a damaged one.
  // Errors: kUnavailable when another process has the lock, kIo.
  base::Status Enter(int64_t now_wall_ms);
  void Leave();
  // None when there is no ledger. Whether Entered or not.
  std::optional<LedgerVersion> Version() const;
  // After Enter. The ledger in force is the one saved last; unsaved changes are dropped at the next Enter.
  UploadLedger* ledger() { return &ledger_; }
  // Returns when the disk has it; at once when nothing changed. Decisions about segments other than `present`
  // (names without endings) are forgotten: their files are gone for good. Errors: kIo.
  base::Status Save(const std::set<std::string>& present);
  uint64_t damaged_count() const { return damaged_count_; }

 private:
  std::string PathOf(std::string_view name) const { return (directory_ + "/").append(name); }
  base::Status Write(const std::string& text);

  base::Env* env_;
  std::string directory_;
  UploadLedger ledger_;
  std::optional<std::string> saved_text_;  // empty where there was no ledger; none before the first Enter
  bool is_saved_text_durable_ = false;     // its writer may have been killed before it was on disk
  int lock_fd_ = -1;
  uint64_t damaged_count_ = 0;
};

}  // namespace lagwatch::report
