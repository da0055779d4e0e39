// SPDX-License-Identifier: Apache-2.0
// Opens any bytes as a sealed record: within the limit, or refused with a message. The same for a hostile
// sealer: the input, encrypted correctly.
#include <openssl/evp.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "report/format/sealed.h"
#include "report/seal/record_opener.h"
#include "report/seal/session_keys.h"

namespace {

using namespace lagwatch::report;

const unsigned char* BytesOf(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// With nothing done to `body` but the encryption.
std::string SealAsItIs(const SessionKeys& keys, std::string_view body) {
  SealedLabel label{.type = RecordType::kUsage};
  label.id.bytes[0] = 1;
  const std::string nonce(kSealNonceBytes, '\0');
  const auto additional = AuthenticatedBytes(label);
  std::string sealed(body.size() + kSealTagBytes, '\0');
  auto* out = reinterpret_cast<unsigned char*>(sealed.data());
  int written = 0;
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nullptr, keys.key.data(), BytesOf(nonce));
  EVP_EncryptUpdate(context, nullptr, &written, additional.data(), static_cast<int>(additional.size()));
  EVP_EncryptUpdate(context, out, &written, BytesOf(body), static_cast<int>(body.size()));
  EVP_EncryptFinal_ex(context, out + body.size(), &written);
  EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, kSealTagBytes, out + body.size());
  EVP_CIPHER_CTX_free(context);
  const std::string_view session(reinterpret_cast<const char*>(keys.session.data()), keys.session.size());
  std::vector<char> bytes(sealed.size() + 1024);
  FixedBuffer buffer(bytes.data(), bytes.size());
  if (!EncodeSealed({.label = label, .ephemeral_key = session, .nonce = nonce, .sealed = sealed}, &buffer))
    abort();
  return std::string(buffer.content());
}

void Check(const RecordOpener& opener, std::string_view sealed) {
  constexpr size_t kRateAndCauseBytes = 32;
  const auto opened = opener.Open(sealed);
  const bool is_good =
      opened.ok() ? opened.value().payload.size() <= RecordOpener::kMaxRecordBytes + kRateAndCauseBytes
                  : !opened.status().message().empty();
  if (!is_good) abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  static const SealKey key = SealKey::Parse(std::string(64, '7')).value();
  static const RecordOpener opener(key);
  static const SessionKeys keys = BeginSession(key.ToPublicKey().value()).value();
  const std::string_view bytes(reinterpret_cast<const char*>(data), size_bytes);
  Check(opener, bytes);
  Check(opener, SealAsItIs(keys, bytes));
  return 0;
}
