// SPDX-License-Identifier: Apache-2.0
// The page's files, as they are part of the program (embed.mjs). Context: background; pure.
#pragma once

#include <span>
#include <string_view>

namespace lagwatch::collector {

struct PageFile {
  std::string_view path;  // "/index.html"; files under "/assets/" have their content's hash in their name
  std::string_view content_type;
  std::string_view gzip;
  std::string_view etag;  // with its quotes
};

// None when the program was built without npm.
std::span<const PageFile> PageFiles();

}  // namespace lagwatch::collector
