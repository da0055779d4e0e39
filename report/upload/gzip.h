// SPDX-License-Identifier: Apache-2.0
// Context: background.
#pragma once

#include <string>
#include <string_view>

namespace lagwatch::report {

// `bytes` as one gzip member (RFC 1952), with no name and no time, so equal input gives equal output.
std::string Gzip(std::string_view bytes);
// The reverse, of what Gzip() made. Throws std::runtime_error when it did not.
std::string Gunzip(std::string_view gzip);

}  // namespace lagwatch::report
