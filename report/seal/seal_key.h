// SPDX-License-Identifier: Apache-2.0
// The collector's secret key, which opens records sealed for it. Context: background.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "report/seal/session_keys.h"

namespace lagwatch::report {

class SealKey {
 public:
  // A new one. Errors: kInternal when there are no random bytes.
  static base::Result<SealKey> Create();
  // From ToText(). Errors: kInvalid.
  static base::Result<SealKey> Parse(std::string_view text);

  // 64 hexadecimal digits: the secret itself.
  std::string ToText() const;
  // The public key, for clients. Errors: kInternal.
  base::Result<PublicKey> ToPublicKey() const { return PublicKeyOf(secret_); }
  // Errors: kInvalid for a key that is no session's, kInternal.
  base::Result<SecretKey> KeyOf(const PublicKey& session) const { return KeyOfSession(session, secret_); }

 private:
  SecretKey secret_{};
};

}  // namespace lagwatch::report
