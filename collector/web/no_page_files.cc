// SPDX-License-Identifier: Apache-2.0
#include "collector/web/page_files.h"

namespace lagwatch::collector {

std::span<const PageFile> PageFiles() { return {}; }

}  // namespace lagwatch::collector
