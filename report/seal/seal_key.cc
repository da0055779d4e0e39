// SPDX-License-Identifier: Apache-2.0
#include "report/seal/seal_key.h"

#include <openssl/rand.h>

#include "base/text.h"

namespace lagwatch::report {

using base::Result;
using base::Status;
using base::StatusCode;

Result<SealKey> SealKey::Create() {
  SealKey key;
  if (RAND_priv_bytes(key.secret_.data(), static_cast<int>(key.secret_.size())) != 1)
    return Status(StatusCode::kInternal, "cannot create a seal key: no random bytes");
  return key;
}

Result<SealKey> SealKey::Parse(std::string_view text) {
  const auto secret = ParsePublicKey(text);  // as long, and written the same way
  if (!secret.ok()) return Status(StatusCode::kInvalid, "a seal key has 64 hexadecimal digits");
  SealKey key;
  key.secret_ = *secret;
  return key;
}

std::string SealKey::ToText() const { return base::ToHex(secret_); }

}  // namespace lagwatch::report
