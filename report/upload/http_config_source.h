// SPDX-License-Identifier: Apache-2.0
// The remote config over HTTP(S): GET {endpoint}/v1/config. Context: background, like http_transport.h.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "report/config/config_fetcher.h"
#include "report/upload/http_transport.h"

namespace lagwatch::report {

// Errors: kInternal when libcurl cannot be set up.
base::Result<std::unique_ptr<ConfigSource>> CreateHttpConfigSource(const HttpTransportOptions& options,
                                                                   const ConfigAudience& audience,
                                                                   const std::string& app_version);

}  // namespace lagwatch::report
