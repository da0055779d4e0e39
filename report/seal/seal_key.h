// SPDX-License-Identifier: Apache-2.0
// The collector's secret key, which opens records sealed for it. Context: background.
#pragma once

#include "base/status.h"
#include "report/config/secret_key.h"
#include "report/seal/session_keys.h"

namespace lagwatch::report {

class SealKey : public SecretText<SealKey> {
 public:
  // The public key, for clients. Errors: kInternal.
  base::Result<PublicKey> ToPublicKey() const { return PublicKeyOf(secret_); }
  // Errors: kInvalid for a key that is no session's, kInternal.
  base::Result<SecretKey> KeyOf(const PublicKey& session) const { return KeyOfSession(session, secret_); }
};

}  // namespace lagwatch::report
