// SPDX-License-Identifier: Apache-2.0
// The collector's half of signed_document.h: the key that it signs with. Context: background.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "report/config/secret_key.h"

namespace lagwatch::report {

class SigningKey : public SecretText<SigningKey> {
 public:
  // The public key, for clients. Errors: kInternal.
  base::Result<PublicKey> ToPublicKey() const;
  // An envelope that OpenSigned() opens with the public key. Errors: kInternal.
  base::Result<std::string> Seal(std::string_view text) const;
};

}  // namespace lagwatch::report
