// SPDX-License-Identifier: Apache-2.0
// The functions of OpenSSL's libcrypto that lagwatch calls.
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/rand.h>

#include <algorithm>

#include "sdk/late/late_library.h"

namespace {

using lagwatch::sdk::kOpenSslFile;
using lagwatch::sdk::LateLibrary;
using Byte = unsigned char;

// 1 is success; without the library no context or key is made.
#define LAGWATCH_CRYPTO_CALLS(F)                                                                             \
  F(int, RAND_bytes, (Byte * bytes, int size), (bytes, size), 0)                                             \
  F(int, RAND_priv_bytes, (Byte * bytes, int size), (bytes, size), 0)                                        \
  F(int, EVP_DecodeBlock, (Byte * to, const Byte* from, int size), (to, from, size), -1)                     \
  F(EVP_MD_CTX*, EVP_MD_CTX_new, (), (), nullptr)                                                            \
  F(void, EVP_MD_CTX_free, (EVP_MD_CTX * context), (context), void())                                        \
  F(int, EVP_DigestVerifyInit,                                                                               \
    (EVP_MD_CTX * context, EVP_PKEY_CTX * *key_context, const EVP_MD* type, ENGINE* engine, EVP_PKEY* key),  \
    (context, key_context, type, engine, key), 0)                                                            \
  F(int, EVP_DigestVerify,                                                                                   \
    (EVP_MD_CTX * context, const Byte* signature, size_t signature_size, const Byte* text, size_t size),     \
    (context, signature, signature_size, text, size), 0)                                                     \
  F(EVP_CIPHER_CTX*, EVP_CIPHER_CTX_new, (), (), nullptr)                                                    \
  F(void, EVP_CIPHER_CTX_free, (EVP_CIPHER_CTX * context), (context), void())                                \
  F(int, EVP_CIPHER_CTX_ctrl, (EVP_CIPHER_CTX * context, int type, int number, void* pointer),               \
    (context, type, number, pointer), 0)                                                                     \
  F(int, EVP_EncryptInit_ex,                                                                                 \
    (EVP_CIPHER_CTX * context, const EVP_CIPHER* cipher, ENGINE* engine, const Byte* key, const Byte* iv),   \
    (context, cipher, engine, key, iv), 0)                                                                   \
  F(int, EVP_EncryptUpdate, (EVP_CIPHER_CTX * context, Byte * to, int* written, const Byte* from, int size), \
    (context, to, written, from, size), 0)                                                                   \
  F(int, EVP_EncryptFinal_ex, (EVP_CIPHER_CTX * context, Byte * to, int* written), (context, to, written),   \
    0)                                                                                                       \
  F(const EVP_CIPHER*, EVP_aes_256_gcm, (), (), nullptr)                                                     \
  F(const EVP_MD*, EVP_sha256, (), (), nullptr)                                                              \
  F(void, EVP_PKEY_free, (EVP_PKEY * key), (key), void())                                                    \
  F(EVP_PKEY*, EVP_PKEY_new_raw_private_key, (int type, ENGINE* engine, const Byte* key, size_t size),       \
    (type, engine, key, size), nullptr)                                                                      \
  F(EVP_PKEY*, EVP_PKEY_new_raw_public_key, (int type, ENGINE* engine, const Byte* key, size_t size),        \
    (type, engine, key, size), nullptr)                                                                      \
  F(int, EVP_PKEY_get_raw_public_key, (const EVP_PKEY* key, Byte* bytes, size_t* size), (key, bytes, size),  \
    0)                                                                                                       \
  F(EVP_PKEY_CTX*, EVP_PKEY_CTX_new, (EVP_PKEY * key, ENGINE * engine), (key, engine), nullptr)              \
  F(EVP_PKEY_CTX*, EVP_PKEY_CTX_new_id, (int id, ENGINE* engine), (id, engine), nullptr)                     \
  F(void, EVP_PKEY_CTX_free, (EVP_PKEY_CTX * context), (context), void())                                    \
  F(int, EVP_PKEY_keygen_init, (EVP_PKEY_CTX * context), (context), 0)                                       \
  F(int, EVP_PKEY_keygen, (EVP_PKEY_CTX * context, EVP_PKEY * *key), (context, key), 0)                      \
  F(int, EVP_PKEY_derive_init, (EVP_PKEY_CTX * context), (context), 0)                                       \
  F(int, EVP_PKEY_derive_set_peer, (EVP_PKEY_CTX * context, EVP_PKEY * peer), (context, peer), 0)            \
  F(int, EVP_PKEY_derive, (EVP_PKEY_CTX * context, Byte * key, size_t * size), (context, key, size), 0)      \
  F(int, EVP_PKEY_CTX_set_hkdf_md, (EVP_PKEY_CTX * context, const EVP_MD* type), (context, type), 0)         \
  F(int, EVP_PKEY_CTX_set1_hkdf_salt, (EVP_PKEY_CTX * context, const Byte* salt, int size),                  \
    (context, salt, size), 0)                                                                                \
  F(int, EVP_PKEY_CTX_set1_hkdf_key, (EVP_PKEY_CTX * context, const Byte* key, int size),                    \
    (context, key, size), 0)                                                                                 \
  F(int, EVP_PKEY_CTX_add1_hkdf_info, (EVP_PKEY_CTX * context, const Byte* info, int size),                  \
    (context, info, size), 0)

LAGWATCH_LATE_LIBRARY(kOpenSslFile, LAGWATCH_CRYPTO_CALLS);

}  // namespace

extern "C" {

LAGWATCH_CRYPTO_CALLS(LAGWATCH_LATE_CALL)

// Needs no library, and erases secrets where none could be loaded.
void OPENSSL_cleanse(void* bytes, size_t size) {
  volatile auto* erased = static_cast<unsigned char*>(bytes);
  for (size_t i = 0; i < size; ++i) erased[i] = 0;
}

}  // extern "C"
