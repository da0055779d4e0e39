// SPDX-License-Identifier: Apache-2.0
// One line of `lagwatch doctor`. Context: background; pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace lagwatch::tools {

enum class CheckResult : uint8_t {
  kOk,
  kLimited,  // works in part, or with more rights
  kNo,
};

struct Check {
  std::string name;
  CheckResult result = CheckResult::kOk;
  std::string message;
  std::string remedy = {};  // a line to type; empty: the message has one, or nothing is to be done

  static Check Ok(std::string name, std::string message) {
    return {std::move(name), CheckResult::kOk, std::move(message)};
  }
  static Check Limited(std::string name, std::string message, std::string remedy = {}) {
    return {std::move(name), CheckResult::kLimited, std::move(message), std::move(remedy)};
  }
  static Check No(std::string name, std::string message, std::string remedy = {}) {
    return {std::move(name), CheckResult::kNo, std::move(message), std::move(remedy)};
  }
  // By the status: kNo with its message, or kOk with `good`.
  static Check Of(std::string name, const base::Status& status, std::string good) {
    return status.ok() ? Ok(std::move(name), std::move(good)) : No(std::move(name), status.message());
  }
};

// The checks of one thing: of this machine, of the collector, of a program.
struct CheckGroup {
  std::string title;
  std::vector<Check> checks;
};

}  // namespace lagwatch::tools
