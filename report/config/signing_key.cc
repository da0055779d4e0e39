// SPDX-License-Identifier: Apache-2.0
#include <openssl/evp.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "report/config/secret_key.h"

namespace lagwatch::report {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Key ToKey(const SecretKey& secret) {
  return {EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, secret.data(), secret.size()),
          &EVP_PKEY_free};
}

std::string ToBase64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL writes a terminator
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(size));
  return text;
}

}  // namespace

Result<PublicKey> SigningKey::ToPublicKey() const {
  const Key key = ToKey(secret_);
  PublicKey bytes;
  size_t size = bytes.size();
  if (key == nullptr || EVP_PKEY_get_raw_public_key(key.get(), bytes.data(), &size) != 1)
    return Status(StatusCode::kInternal, "OpenSSL cannot use Ed25519 keys");
  return bytes;
}

Result<std::string> SigningKey::Seal(std::string_view text) const {
  const Key key = ToKey(secret_);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  std::string signature(64, '\0');
  size_t size = signature.size();
  const bool is_signed =
      key != nullptr && context != nullptr &&
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
  if (!is_signed) return Status(StatusCode::kInternal, "OpenSSL cannot sign with Ed25519");
  return nlohmann::json{{"document", ToBase64(text)}, {"signature", ToBase64(signature)}}.dump();
}

}  // namespace lagwatch::report
