// SPDX-License-Identifier: Apache-2.0
// The documents that are made from the table of options.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace lagwatch::tools {

struct OptionDocument {
  const char* path;  // in the repository
  std::function<std::string(const std::string&)>
      make;  // from the text before, which some keep around their tables
};
std::vector<OptionDocument> OptionDocuments();

}  // namespace lagwatch::tools
