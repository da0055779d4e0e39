// SPDX-License-Identifier: Apache-2.0
// Signed remote configs, as a collector makes them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "report/config/secret_key.h"

namespace lagwatch::report::testing {

inline constexpr int64_t kNowMs = 1'800'000'000'000;
inline constexpr int64_t kHourMs = 3'600'000;

struct ConfigSigner {
  std::string Seal(const nlohmann::json& document) const { return key.Seal(document.dump()).value(); }
  // For the program "editor" and its user "u-1", good for an hour.
  std::string Envelope(uint64_t version, nlohmann::json more = nlohmann::json::object()) const {
    nlohmann::json document = {
        {"version", version}, {"expires_wall_ms", kNowMs + kHourMs}, {"app", "editor"}, {"user", "u-1"}};
    document.update(more);
    return Seal(document);
  }
  PublicKey public_key() const { return key.ToPublicKey().value(); }

  SigningKey key = SigningKey::Create().value();
};

}  // namespace lagwatch::report::testing
