// SPDX-License-Identifier: Apache-2.0
// The collector's half of signed_document.h: the key that it signs with. Context: background.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/status.h"
#include "report/config/signed_document.h"

namespace lagwatch::report {

class SigningKey {
 public:
  // A new one. Errors: kInternal when there are no random bytes.
  static base::Result<SigningKey> Create();
  // From ToText(). Errors: kInvalid.
  static base::Result<SigningKey> Parse(std::string_view text);

  // 64 hexadecimal digits: the secret itself.
  std::string ToText() const;
  // The public key, for clients. Errors: kInternal.
  base::Result<PublicKey> ToPublicKey() const;
  // An envelope that OpenSigned() opens with the public key. Errors: kInternal.
  base::Result<std::string> Seal(std::string_view text) const;

 private:
  SecretKey secret_{};
};

}  // namespace lagwatch::report
