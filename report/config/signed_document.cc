// SPDX-License-Identifier: Apache-2.0
#include "report/config/signed_document.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"

namespace lagwatch::report {
namespace {

constexpr size_t kMaxEnvelopeBytes = 256 * 1024;
constexpr size_t kSignatureBytes = 64;

std::optional<std::string> FromBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes(text.size() / 4 * 3, '\0');
  const int size =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  // It counts what stands for the padding, too.
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  bytes.resize(static_cast<size_t>(size) - padding);
  return bytes;
}

std::optional<std::string> TextOf(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return FromBase64(found->get_ref<const std::string&>());
}

bool IsSignedBy(const PublicKey& key, std::string_view text, std::string_view signature) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> public_key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key.data(), key.size()), &EVP_PKEY_free);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  if (public_key == nullptr || context == nullptr) return false;
  if (EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, public_key.get()) != 1) return false;
  return EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()),
                          signature.size(), reinterpret_cast<const unsigned char*>(text.data()),
                          text.size()) == 1;
}

}  // namespace

base::Result<PublicKey> ParsePublicKey(std::string_view hex) {
  PublicKey key;
  const Status invalid(StatusCode::kInvalid, "a public key has 64 hexadecimal digits");
  if (hex.size() != 2 * key.size()) return invalid;
  for (size_t i = 0; i < key.size(); ++i) {
    const auto byte = base::ParseNumber<unsigned char>(hex.substr(2 * i, 2), 16);
    if (!byte) return invalid;
    key[i] = *byte;
  }
  return key;
}

base::Result<SecretKey> CreateSecretKey() {
  SecretKey key;
  if (RAND_priv_bytes(key.data(), static_cast<int>(key.size())) != 1)
    return Status(StatusCode::kInternal, "cannot create a key: no random bytes");
  return key;
}

base::Result<std::string> OpenSigned(std::string_view envelope, const PublicKey& key) {
  if (envelope.size() > kMaxEnvelopeBytes)
    return Status(StatusCode::kInvalid, "a signed document over 256 KiB");
  const nlohmann::json object = nlohmann::json::parse(envelope, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return Status(StatusCode::kInvalid, "no signed document: not a JSON object");
  std::optional<std::string> text = TextOf(object, "document");
  const std::optional<std::string> signature = TextOf(object, "signature");
  if (!text || !signature || signature->size() != kSignatureBytes)
    return Status(StatusCode::kInvalid,
                  "no signed document: \"document\" and \"signature\" are not both there in base64");
  if (!IsSignedBy(key, *text, *signature))
    return Status(StatusCode::kUnauthorized, "the document's signature is not of the key that is known");
  return std::move(*text);
}

}  // namespace lagwatch::report
