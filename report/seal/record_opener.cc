// SPDX-License-Identifier: Apache-2.0
#include "report/seal/record_opener.h"

#include <openssl/evp.h>
#define ZLIB_CONST
#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>

#include "report/format/report.h"
#include "report/format/sealed.h"

namespace lagwatch::report {
namespace {

Status Invalid(const char* why) { return {StatusCode::kInvalid, why}; }
Status OutOfMemory() { return {StatusCode::kUnavailable, "no memory to open sealed records"}; }

// Records that a watched program writes; sealed or packed ones, and those made by a sender, are not sealed.
bool IsSealable(RecordType type) {
  switch (type) {
    case RecordType::kReport:
    case RecordType::kHangEnd:
    case RecordType::kRunEnd:
    case RecordType::kFrameSlice:
    case RecordType::kUsage:
    case RecordType::kTrace:
      return true;
    default:
      return false;
  }
}

const unsigned char* BytesOf(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// kInvalid when it was not sealed with this key, or not all of it is as it was.
Result<std::string> Decrypt(const Sealed& sealed, const SecretKey& key) {
  const std::string_view body = sealed.sealed.substr(0, sealed.sealed.size() - kSealTagBytes);
  std::array<unsigned char, kSealTagBytes> tag;
  std::ranges::copy(sealed.sealed.substr(body.size()), tag.begin());
  const auto additional = AuthenticatedBytes(sealed.label);
  std::string plain(body.size() + 1, '\0');  // never empty, so that there is an address
  auto* out = reinterpret_cast<unsigned char*>(plain.data());
  int written = 0;
  const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(EVP_CIPHER_CTX_new(),
                                                                                &EVP_CIPHER_CTX_free);
  const bool is_decrypted =
      context != nullptr &&
      EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key.data(), BytesOf(sealed.nonce)) == 1 &&
      EVP_DecryptUpdate(context.get(), nullptr, &written, additional.data(),
                        static_cast<int>(additional.size())) == 1 &&
      EVP_DecryptUpdate(context.get(), out, &written, BytesOf(body), static_cast<int>(body.size())) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag.size()), tag.data()) ==
          1;
  if (!is_decrypted) return OutOfMemory();
  if (EVP_DecryptFinal_ex(context.get(), out + body.size(), &written) != 1)
    return Invalid("the record was sealed for another collector, or is damaged");
  plain.resize(body.size());
  return plain;
}

// kInvalid when it is longer than `limit_bytes` or not one whole stream.
Result<std::string> Inflate(std::string_view deflated, size_t limit_bytes) {
  constexpr int kRawDeflate = -MAX_WBITS;
  constexpr char kBadContent[] = "what is in the sealed record is too long, or damaged";
  z_stream stream{};
  if (inflateInit2(&stream, kRawDeflate) != Z_OK) return OutOfMemory();
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&stream, &inflateEnd);
  stream.next_in = BytesOf(deflated);
  stream.avail_in = static_cast<uInt>(deflated.size());
  std::string content;
  std::array<char, 16384> piece;
  int code = Z_OK;
  while (code == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    code = inflate(&stream, Z_NO_FLUSH);
    const size_t size = piece.size() - stream.avail_out;
    if (size > limit_bytes - content.size()) return Invalid(kBadContent);
    content.append(piece.data(), size);
  }
  if (code == Z_MEM_ERROR) return OutOfMemory();
  if (code != Z_STREAM_END || stream.avail_in != 0) return Invalid(kBadContent);
  return content;
}

}  // namespace

Result<OwnedRecord> RecordOpener::Open(std::string_view bytes) const {
  auto sealed = DecodeSealed(bytes);
  if (!sealed.ok()) return sealed.status();
  const SealedLabel& label = sealed->label;
  // No compression makes it a longer one than this.
  if (!IsSealable(label.type) || sealed->sealed.size() > 2 * kMaxRecordBytes)
    return Invalid("the sealed record is of a type that is not sealed, or too long");
  PublicKey session;
  std::ranges::copy(sealed->ephemeral_key, session.begin());
  auto key = KeyOf(session);
  if (!key.ok()) return key.status();
  const auto deflated = Decrypt(*sealed, *key);
  if (!deflated.ok()) return deflated.status();
  Remember(session, *key);
  auto payload = Inflate(*deflated, kMaxRecordBytes);
  if (!payload.ok()) return payload.status();
  OwnedRecord record{label.type, std::move(*payload)};
  if (sealed->sample_rate_ppm != 0) AppendSampleRate(record.type, sealed->sample_rate_ppm, &record.payload);
  if (record.type == RecordType::kReport && label.cause != 0) AppendCause(label.cause, &record.payload);
  return record;
}

Result<SecretKey> RecordOpener::KeyOf(const PublicKey& session) const {
  {
    std::lock_guard lock(mutex_);
    if (const auto known = sessions_.find(session); known != sessions_.end()) return known->second;
  }
  return key_.KeyOf(session);
}

// Only sessions of which a record was opened: forged records would take the room otherwise.
void RecordOpener::Remember(const PublicKey& session, const SecretKey& key) const {
  std::lock_guard lock(mutex_);
  if (sessions_.size() >= kMaxSessions) sessions_.clear();
  sessions_.emplace(session, key);
}

}  // namespace lagwatch::report
