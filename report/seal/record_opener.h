// SPDX-License-Identifier: Apache-2.0
// Opens the records that RecordSealers sealed for this collector. Accepts any bytes.
// Context: background. Thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/status.h"
#include "report/format/record.h"
#include "report/seal/seal_key.h"

namespace lagwatch::report {

class RecordOpener {
 public:
  static constexpr size_t kMaxRecordBytes = 1 << 20;  // more no spool takes

  explicit RecordOpener(SealKey key) : key_(std::move(key)) {}

  // The record that is inside, as a client sends it when it does not seal: with its sample rate and cause.
  // Errors: kInvalid: `sealed` is no lagwatch.Sealed, was sealed for another collector or was changed since,
  // or holds what is not sealed; kUnavailable or kInternal: OpenSSL or zlib had no memory.
  base::Result<OwnedRecord> Open(std::string_view sealed) const;

 private:
  static constexpr size_t kMaxSessions = 4096;  // whose keys are remembered

  base::Result<SecretKey> KeyOf(const PublicKey& session) const;
  void Remember(const PublicKey& session, const SecretKey& key) const;

  SealKey key_;
  mutable std::mutex mutex_;
  mutable std::map<PublicKey, SecretKey> sessions_;  // guarded by mutex_
};

}  // namespace lagwatch::report
