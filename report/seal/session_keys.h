// SPDX-License-Identifier: Apache-2.0
// The key that the records of one session are sealed with, as both sides derive it. Context: background.
//
// The session has a key pair of its own (X25519), whose secret half is forgotten at once; with the shared
// secret of that pair and the collector's,
//
//   key = HKDF-SHA256(salt = session's public key | collector's public key, input = shared secret,
//                     info = "lagwatch sealed record 1"), 32 bytes for AES-256-GCM
//   nonce = 4 random bytes of the session | number of the record in the session, 8 bytes, little-endian
//   additional data = AuthenticatedBytes() of the label
//
// age (c2sp.org/age) wraps a file's key in the same way; but here the key is used itself, for all records
// of a session, and AES takes the place of ChaCha20, because processors have it. HPKE (RFC 9180, base mode)
// does the same with more labels; but it numbers its messages silently and opens them in that order alone,
// and here records are lost, chosen from and sent in any order: so each carries its nonce. As with both,
// the sealer is not authenticated: knowing the public key is enough, and the collector's API key permits
// sending.
#pragma once

#include "base/status.h"
#include "report/config/signed_document.h"

namespace lagwatch::report {

struct SessionKeys {
  PublicKey session;  // goes along with each record
  SecretKey key;
};

// A session's new keys. Errors: kInvalid for an invalid public key, kInternal.
base::Result<SessionKeys> BeginSession(const PublicKey& collector);
// The same key, from the collector's secret. Errors: as above.
base::Result<SecretKey> KeyOfSession(const PublicKey& session, const SecretKey& collector_secret);

// The public half of a secret. Errors: kInternal.
base::Result<PublicKey> PublicKeyOf(const SecretKey& secret);

}  // namespace lagwatch::report
