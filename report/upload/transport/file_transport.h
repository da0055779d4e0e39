// SPDX-License-Identifier: Apache-2.0
// Transport into a directory, for programs without a network: each batch becomes a file TIME-UUID.lwb.gz,
// whole from the moment it has that name. Its content is what would be posted. Context: background.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/process/env.h"
#include "base/status.h"
#include "report/upload/transport/transport.h"

namespace lagwatch::report {

inline constexpr std::string_view kFileScheme = "file://";

// From "file:///some/directory", which is made if need be. `env` is borrowed. Errors: kInvalid.
base::Result<std::unique_ptr<Transport>> CreateFileTransport(base::Env* env, std::string_view endpoint);

}  // namespace lagwatch::report
