// SPDX-License-Identifier: Apache-2.0
// A secret of 32 random bytes, with its text in a file. Context: background.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "base/text.h"
#include "report/config/signed_document.h"

namespace lagwatch::report {

// `Key` derives from this, and says what the secret is for.
template <typename Key>
class SecretText {
 public:
  // A new one. Errors: kInternal when there are no random bytes.
  static base::Result<Key> Create() {
    const auto secret = CreateSecretKey();
    return secret.ok() ? Of(*secret) : secret.status();
  }
  // From ToText(). Errors: kInvalid.
  static base::Result<Key> Parse(std::string_view text) {
    const auto secret = ParsePublicKey(text);  // as long, and written the same way
    if (secret.ok()) return Of(*secret);
    return base::Status(base::StatusCode::kInvalid, "a secret key has 64 hexadecimal digits");
  }

  // 64 hexadecimal digits: the secret itself.
  std::string ToText() const { return base::ToHex(secret_); }

 protected:
  SecretKey secret_{};

 private:
  static base::Result<Key> Of(const SecretKey& secret) {
    Key key;
    key.secret_ = secret;
    return key;
  }
};

class SigningKey : public SecretText<SigningKey> {
 public:
  // The public key, for clients. Errors: kInternal.
  base::Result<PublicKey> ToPublicKey() const;
  // An envelope that OpenSigned() opens with the public key. Errors: kInternal.
  base::Result<std::string> Seal(std::string_view text) const;
};

}  // namespace lagwatch::report
