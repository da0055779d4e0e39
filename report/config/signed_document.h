// SPDX-License-Identifier: Apache-2.0
// A text that its author signed with Ed25519 (RFC 8032), as JSON: {"document": TEXT, "signature": SIGNATURE},
// both in base64, so that what was signed is the same bytes wherever it went. Context: background.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/status.h"

namespace lagwatch::report {

using PublicKey = std::array<unsigned char, 32>;
using SecretKey = std::array<unsigned char, 32>;

// From 64 hexadecimal digits. Errors: kInvalid.
base::Result<PublicKey> ParsePublicKey(std::string_view hex);
// Random bytes. Errors: kInternal when there are none.
base::Result<SecretKey> CreateSecretKey();

// Returns the text. Errors: kInvalid if it is malformed, kUnauthorized if the key's owner did not sign it.
base::Result<std::string> OpenSigned(std::string_view envelope, const PublicKey& key);

}  // namespace lagwatch::report
