// SPDX-License-Identifier: Apache-2.0
// Transport by a function of the program that lagwatch watches. Context: background.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "report/upload/transport/transport.h"

namespace lagwatch::report {

// Sends a gzipped batch, and yields the HTTP status and the body of the collector's answer; 0 when there was
// none. With 2xx and no body at all, the program has taken the batch over. Must not throw.
using HostPost = std::function<int(std::string_view gzip_body, std::string* answer)>;

std::unique_ptr<Transport> CreateHostTransport(HostPost post);

}  // namespace lagwatch::report
