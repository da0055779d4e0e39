// SPDX-License-Identifier: Apache-2.0
// Files of the machine's configuration that are changed for its administrator. Context: background.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/status.h"

namespace lagwatch::tools {

// Errors: kNotFound, kIo.
base::Result<std::string> ReadConfigFile(const std::filesystem::path& file);

// Writes the file as a whole: a reader finds the old text or the new one. A file that was there keeps its
// owner and mode; a new one is readable by all, and its folder is created. Errors: kIo.
base::Status WriteConfigFile(const std::filesystem::path& file, std::string_view text);

// Removes the file, and its folder if that is empty then. Errors: kIo.
base::Status RemoveConfigFile(const std::filesystem::path& file);

}  // namespace lagwatch::tools
