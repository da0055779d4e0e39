// SPDX-License-Identifier: Apache-2.0
#include "report/seal/record_sealer.h"

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <unistd.h>

#include <limits>

namespace lagwatch::report {
namespace {

constexpr int kNonceRandomBytes = 4;

std::string_view ViewOf(const unsigned char* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

base::Result<std::unique_ptr<Sealer>> RecordSealer::Create(const PublicKey& collector) {
  auto keys = BeginSession(collector);
  if (!keys.ok()) return keys.status();
  std::unique_ptr<RecordSealer> sealer(new RecordSealer);
  sealer->session_ = keys->session;
  const bool has_begun = sealer->Begin(keys->key);
  OPENSSL_cleanse(keys->key.data(), keys->key.size());
  // One for nothing: see the header.
  if (!has_begun || sealer->Seal({.type = RecordType::kReport}, "practice").empty())
    return Status(StatusCode::kInternal, "OpenSSL or zlib cannot seal records");
  return std::unique_ptr<Sealer>(std::move(sealer));
}

RecordSealer::RecordSealer()
    : cipher_(EVP_CIPHER_CTX_new()),
      process_id_(getpid()),
      body_(new unsigned char[kBufferBytes]),
      bytes_(new char[kBufferBytes]),
      buffer_(bytes_.get(), kBufferBytes) {}

RecordSealer::~RecordSealer() {
  EVP_CIPHER_CTX_free(cipher_);
  if (has_deflater_) deflateEnd(&deflater_);
}

bool RecordSealer::Begin(const SecretKey& key) {
  constexpr int kRawDeflate = -MAX_WBITS;
  constexpr int kUsualMemory = 8;
  has_deflater_ = deflateInit2(&deflater_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kRawDeflate, kUsualMemory,
                               Z_DEFAULT_STRATEGY) == Z_OK;
  return has_deflater_ && cipher_ != nullptr && RAND_bytes(nonce_, kNonceRandomBytes) == 1 &&
         EVP_EncryptInit_ex(cipher_, EVP_aes_256_gcm(), nullptr, key.data(), nonce_) == 1;
}

std::string_view RecordSealer::Seal(const SealedLabel& label, std::string_view record) {
  const bool may_seal = getpid() == process_id_ && sealed_count_ != std::numeric_limits<uint64_t>::max();
  const size_t deflated_bytes = may_seal ? Deflate(record) : 0;
  if (deflated_bytes == 0 || !Encrypt(label, deflated_bytes)) return {};
  const bool is_encoded = EncodeSealed({.label = label,
                                        .ephemeral_key = ViewOf(session_.data(), session_.size()),
                                        .nonce = ViewOf(nonce_, sizeof nonce_),
                                        .sealed = ViewOf(body_.get(), deflated_bytes + kSealTagBytes)},
                                       &buffer_);
  return is_encoded ? buffer_.content() : std::string_view();
}

size_t RecordSealer::Deflate(std::string_view record) {
  if (record.size() > kBufferBytes || deflateReset(&deflater_) != Z_OK) return 0;
  // zlib promises not to write there.
  deflater_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(record.data()));
  deflater_.avail_in = static_cast<uInt>(record.size());
  deflater_.next_out = body_.get();
  deflater_.avail_out = static_cast<uInt>(kBufferBytes - kSealTagBytes);
  if (deflate(&deflater_, Z_FINISH) != Z_STREAM_END) return 0;
  return kBufferBytes - kSealTagBytes - deflater_.avail_out;
}

bool RecordSealer::Encrypt(const SealedLabel& label, size_t size_bytes) {
  ++sealed_count_;  // whatever comes of it, this nonce is used
  for (size_t i = 0; i < sizeof sealed_count_; ++i)
    nonce_[kNonceRandomBytes + i] = static_cast<unsigned char>(sealed_count_ >> 8 * i);
  const auto additional = AuthenticatedBytes(label);
  int written = 0;
  unsigned char* tag = body_.get() + size_bytes;
  return EVP_EncryptInit_ex(cipher_, nullptr, nullptr, nullptr, nonce_) == 1 &&
         EVP_EncryptUpdate(cipher_, nullptr, &written, additional.data(),
                           static_cast<int>(additional.size())) == 1 &&
         EVP_EncryptUpdate(cipher_, body_.get(), &written, body_.get(), static_cast<int>(size_bytes)) == 1 &&
         EVP_EncryptFinal_ex(cipher_, tag, &written) == 1 &&
         EVP_CIPHER_CTX_ctrl(cipher_, EVP_CTRL_AEAD_GET_TAG, static_cast<int>(kSealTagBytes), tag) == 1;
}

}  // namespace lagwatch::report
