// SPDX-License-Identifier: Apache-2.0
// The batches on their way to ClickHouse, on disk: a file for each, in a directory of one collector. After a
// crash, appended batches are there, whole; unfinished ones are not. Not thread-safe. Context: background.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/process/env.h"
#include "base/status.h"

namespace lagwatch::collector {

// Rows of several tables, which are sent as these bytes until each table has them.
struct Batch {
  struct Part {
    std::string target;  // table and columns
    std::string rows;    // RowBinary
  };
  std::vector<Part> parts;
  std::vector<std::string> keys;  // the keys of its records, for finding out whether a record is on
                                  // its way already

  std::string Encode() const;
  // Errors: kInternal when the bytes are something else.
  static base::Result<Batch> Decode(std::string_view bytes);
};

// Writes `path` as a whole: it is on disk when this returns, and after a crash it is there or not. Errors:
// kIo.
base::Status WriteBatchFile(base::Env* env, const std::string& path, const Batch& batch);

class BatchSpool {
 public:
  // No other process opens the directory as long as this lives. `env` is borrowed.
  // Errors: kIo; kUnavailable when another process has it.
  static base::Result<std::unique_ptr<BatchSpool>> Open(base::Env* env, const std::string& directory);
  ~BatchSpool();
  BatchSpool(const BatchSpool&) = delete;
  BatchSpool& operator=(const BatchSpool&) = delete;

  // On disk for good when it returns, and known by the number that it returns. Numbers go up. Errors: kIo.
  base::Result<uint64_t> Append(const Batch& batch);
  // Errors: kIo; kInternal when it is damaged.
  base::Result<Batch> Read(uint64_t number) const;
  // Of the oldest. Errors: kIo.
  base::Status RemoveFirst();
  // The oldest is damaged: it stays in the directory for a person to look at, and is no part of this.
  base::Status SetFirstAside();

  const std::deque<uint64_t>& numbers() const { return numbers_; }
  uint64_t size_bytes() const { return size_bytes_; }
  const std::string& directory() const { return directory_; }
  base::Env* env() const { return env_; }

 private:
  BatchSpool(base::Env* env, std::string directory) : env_(env), directory_(std::move(directory)) {}
  base::Status Start();
  std::string PathOf(uint64_t number) const;
  void ForgetFirst();

  base::Env* env_;
  const std::string directory_;
  int lock_ = -1;
  uint64_t next_number_ = 1;
  std::deque<uint64_t> numbers_;  // the oldest first
  std::deque<uint64_t> sizes_;    // in bytes, likewise
  uint64_t size_bytes_ = 0;
};

}  // namespace lagwatch::collector
