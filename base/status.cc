// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <system_error>

namespace lagwatch::base {

Status IoError(const std::string& what, int error_number) {
  return {StatusCode::kIo, what + ": " + std::generic_category().message(error_number)};
}

}  // namespace lagwatch::base
