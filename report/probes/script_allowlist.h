// SPDX-License-Identifier: Apache-2.0
// The probe scripts that a collector may ask for: a list that its author has signed (signed_document.h), in a
// file on the machine of the program. Context: background; pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "report/config/signed_document.h"

namespace lagwatch::report {

// SHA-256 of the script's text, 64 hexadecimal digits in lower case. Empty if OpenSSL has no SHA-256.
std::string HashOfScript(std::string_view text);
// Whether `text` has the form of HashOfScript().
bool IsScriptHash(std::string_view text);

// The key of a script in stored records, where reports have their cause: the first 8 bytes of its hash.
// Returns 0 if `hash` is not 64 hexadecimal digits.
uint64_t KeyOfScript(std::string_view hash);

struct AllowedScript {
  std::string name;
  std::string text;
  std::string hash{};  // HashOfScript(text)
};

class ScriptAllowlist {
 public:
  static constexpr size_t kMaxScripts = 1'000;
  static constexpr size_t kMaxNameBytes = 128;
  static constexpr size_t kMaxTextBytes = 64 * 1024;

  // Errors: kUnauthorized if the key's owner did not sign `envelope`; kInvalid if it is malformed, or if the
  // hash beside a script is not the script's.
  static base::Result<ScriptAllowlist> Open(std::string_view envelope, const PublicKey& key);
  // The document to sign. Errors: kInvalid for a name or text that is empty, too long or not UTF-8, or a
  // name that is there twice. Open() refuses one that is too long as a whole.
  static base::Result<std::string> DocumentOf(const std::vector<AllowedScript>& scripts);

  const std::vector<AllowedScript>& scripts() const { return scripts_; }
  // Null if the list does not have it.
  const AllowedScript* Find(std::string_view hash) const;

 private:
  std::vector<AllowedScript> scripts_;
};

}  // namespace lagwatch::report
