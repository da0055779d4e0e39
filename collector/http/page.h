// SPDX-License-Identifier: Apache-2.0
// Serves the page's files, without a key. The page requests its data with the reader's
// key. Context: background.
#pragma once

#include <span>
#include <vector>

#include "collector/http/server/endpoint.h"
#include "collector/web/page_files.h"

namespace lagwatch::collector {

// Borrows `files`. At each address that the page has for the reader it is the same page; without files
// these say so.
void AddPage(std::span<const PageFile> files, std::vector<Endpoint>* endpoints);

}  // namespace lagwatch::collector
