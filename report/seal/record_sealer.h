// SPDX-License-Identifier: Apache-2.0
// Seals a session's records for the collector: deflates and encrypts them; session_keys.h describes the keys.
//
// OpenSSL and zlib make all of their allocations in Create(), which also seals one record for nothing, to
// trigger the set-up of their first use. A test checks that with a real watchdog
// (tests/integration/malloc_proof.cc). If a record failed nevertheless, OpenSSL might allocate for its error;
// with the inputs here and kept contexts, nothing can fail.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "report/seal/sealer.h"
#include "report/seal/session_keys.h"

struct evp_cipher_ctx_st;

namespace lagwatch::report {

class RecordSealer final : public Sealer {
 public:
  // Begins a session. Errors: kInvalid for an invalid public key, kInternal. Context: background.
  static base::Result<std::unique_ptr<Sealer>> Create(const PublicKey& collector);
  ~RecordSealer() override;
  RecordSealer(const RecordSealer&) = delete;
  RecordSealer& operator=(const RecordSealer&) = delete;

  std::string_view Seal(const SealedLabel& label, std::string_view record) override;

 private:
  static constexpr size_t kBufferBytes = 1 << 20;  // what the spool takes

  RecordSealer();
  // All that may fail. False: `this` is of no use.
  bool Begin(const SecretKey& key);
  // Into body_; the size, or 0 when it does not fit with a tag.
  size_t Deflate(std::string_view record);
  // body_, in place, and the tag after it.
  bool Encrypt(const SealedLabel& label, size_t size_bytes);

  evp_cipher_ctx_st* cipher_;
  z_stream deflater_{};
  bool has_deflater_ = false;
  int process_id_;  // a forked child would use the same nonces
  PublicKey session_{};
  unsigned char nonce_[kSealNonceBytes] = {};
  uint64_t sealed_count_ = 0;
  std::unique_ptr<unsigned char[]> body_;
  std::unique_ptr<char[]> bytes_;
  FixedBuffer buffer_;
};

}  // namespace lagwatch::report
