// SPDX-License-Identifier: Apache-2.0
#include "report/seal/session_keys.h"

#include <openssl/evp.h>
#include <openssl/kdf.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace lagwatch::report {
namespace {

using KeyPair = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)>;

constexpr std::string_view kInfo = "lagwatch sealed record 1";

Status Broken() { return {StatusCode::kInternal, "OpenSSL cannot use X25519 keys"}; }

KeyPair NewKeyPair() {
  EVP_PKEY* key = nullptr;
  const KeyContext context(EVP_PKEY_CTX_new_id(EVP_PKEY_X25519, nullptr), &EVP_PKEY_CTX_free);
  if (context != nullptr && EVP_PKEY_keygen_init(context.get()) == 1) EVP_PKEY_keygen(context.get(), &key);
  return {key, &EVP_PKEY_free};
}

KeyPair FromSecret(const SecretKey& secret) {
  return {EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, secret.data(), secret.size()),
          &EVP_PKEY_free};
}

bool GetPublicKey(const KeyPair& pair, PublicKey* key) {
  size_t size = key->size();
  return pair != nullptr && EVP_PKEY_get_raw_public_key(pair.get(), key->data(), &size) == 1;
}

// OpenSSL refuses a shared secret that is the same for all private keys: such public keys are invalid.
Status ShareSecret(const KeyPair& own, const PublicKey& other, SecretKey* shared) {
  const KeyPair peer(EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, other.data(), other.size()),
                     &EVP_PKEY_free);
  const KeyContext context(EVP_PKEY_CTX_new(own.get(), nullptr), &EVP_PKEY_CTX_free);
  size_t size = shared->size();
  const bool is_ready = peer != nullptr && context != nullptr && EVP_PKEY_derive_init(context.get()) == 1 &&
                        EVP_PKEY_derive_set_peer(context.get(), peer.get()) == 1;
  if (!is_ready) return Broken();
  const bool is_shared = EVP_PKEY_derive(context.get(), shared->data(), &size) == 1 && size == shared->size();
  return is_shared ? Status() : Status(StatusCode::kInvalid, "the public key is invalid");
}

bool DeriveKey(const SecretKey& shared, const PublicKey& session, const PublicKey& collector,
               SecretKey* key) {
  std::array<unsigned char, 64> salt;
  std::ranges::copy(collector, std::ranges::copy(session, salt.begin()).out);
  const auto* info = reinterpret_cast<const unsigned char*>(kInfo.data());
  const KeyContext context(EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nullptr), &EVP_PKEY_CTX_free);
  size_t size = key->size();
  return context != nullptr && EVP_PKEY_derive_init(context.get()) == 1 &&
         EVP_PKEY_CTX_set_hkdf_md(context.get(), EVP_sha256()) == 1 &&
         EVP_PKEY_CTX_set1_hkdf_salt(context.get(), salt.data(), salt.size()) == 1 &&
         EVP_PKEY_CTX_set1_hkdf_key(context.get(), shared.data(), shared.size()) == 1 &&
         EVP_PKEY_CTX_add1_hkdf_info(context.get(), info, kInfo.size()) == 1 &&
         EVP_PKEY_derive(context.get(), key->data(), &size) == 1 && size == key->size();
}

// `session` and `collector` are the two public keys, of which `own` is one and `other` the other.
Result<SecretKey> Agree(const KeyPair& own, const PublicKey& other, const PublicKey& session,
                        const PublicKey& collector) {
  SecretKey shared;
  SecretKey key;
  if (Status status = ShareSecret(own, other, &shared); !status.ok()) return status;
  const bool is_derived = DeriveKey(shared, session, collector, &key);
  OPENSSL_cleanse(shared.data(), shared.size());
  if (!is_derived) return Status(StatusCode::kInternal, "OpenSSL cannot derive keys with HKDF");
  return key;
}

}  // namespace

Result<SessionKeys> BeginSession(const PublicKey& collector) {
  const KeyPair pair = NewKeyPair();
  SessionKeys keys;
  if (!GetPublicKey(pair, &keys.session)) return Broken();
  auto key = Agree(pair, collector, keys.session, collector);
  if (!key.ok()) return key.status();
  keys.key = *key;
  return keys;
}

Result<SecretKey> KeyOfSession(const PublicKey& session, const SecretKey& collector_secret) {
  const KeyPair pair = FromSecret(collector_secret);
  PublicKey collector;
  if (!GetPublicKey(pair, &collector)) return Broken();
  return Agree(pair, session, session, collector);
}

Result<PublicKey> PublicKeyOf(const SecretKey& secret) {
  PublicKey key;
  if (!GetPublicKey(FromSecret(secret), &key)) return Broken();
  return key;
}

}  // namespace lagwatch::report
