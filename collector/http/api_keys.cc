// SPDX-License-Identifier: Apache-2.0
#include "collector/http/api_keys.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <strings.h>

#include "collector/secret_file.h"

namespace lagwatch::collector {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view Trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

Result<std::string> CreateKey() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::array<uint8_t, 16> random;
  if (RAND_bytes(random.data(), random.size()) != 1) {
    return Status(StatusCode::kIo, "cannot create a key: no random bytes; give one with --key");
  }
  std::string key = "k_";
  for (uint8_t byte : random) {
    key += kDigits[byte >> 4];
    key += kDigits[byte & 15];
  }
  return key;
}

}  // namespace

ApiKeys::ApiKeys(std::span<const std::string> keys) {
  for (const std::string& key : keys) digests_.push_back(DigestOf(key));
}

ApiKeys::Digest ApiKeys::DigestOf(std::string_view key) {
  Digest digest;
  SHA256(reinterpret_cast<const uint8_t*>(key.data()), key.size(), digest.data());
  return digest;
}

bool ApiKeys::Accepts(std::string_view authorization) const {
  constexpr std::string_view kScheme = "Bearer ";
  if (authorization.size() <= kScheme.size() ||
      strncasecmp(authorization.data(), kScheme.data(), kScheme.size()) != 0) {
    return false;
  }
  Digest given = DigestOf(Trimmed(authorization.substr(kScheme.size())));
  bool is_known = false;
  for (const Digest& digest : digests_) {
    is_known |= CRYPTO_memcmp(digest.data(), given.data(), digest.size()) == 0;
  }
  return is_known;
}

Result<std::string> LoadOrCreateKey(const std::string& path) { return LoadOrCreateSecret(path, &CreateKey); }

}  // namespace lagwatch::collector
