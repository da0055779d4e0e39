// SPDX-License-Identifier: Apache-2.0
// The scripts that come with lagwatch: probe/scripts/*.lwp. Their first line is the title; a line "#
// arguments: NAME NAME=DEFAULT" names what the caller fills in, which is $NAME in the text. Context:
// background.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace lagwatch::probe {

struct ScriptArgument {
  std::string name;
  std::string fallback;  // empty: it must be given
};

struct BundledScript {
  std::string_view name;  // "slow-calls"
  std::string_view text;

  std::string_view Title() const;
  std::vector<ScriptArgument> Arguments() const;
  // The text with the arguments in their order. kInvalid if one is missing or there are too many.
  Result<std::string> WithArguments(std::span<const std::string> given) const;
};

// By name.
std::span<const BundledScript> BundledScripts();
// Null if there is none.
const BundledScript* FindBundledScript(std::string_view name);

}  // namespace lagwatch::probe
