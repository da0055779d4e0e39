// SPDX-License-Identifier: Apache-2.0
// The API for uploads of symbols: collector/API.md, "Symbols". Context: background;
// writes files. Thread-safe.
#pragma once

#include <string_view>

#include "collector/query/response.h"
#include "collector/symbols/files/symbol_files.h"

namespace lagwatch::collector {

class SymbolsApi {
 public:
  // Borrows `files`.
  explicit SymbolsApi(SymbolFiles* files) : files_(files) {}

  // GET /v1/symbols
  Response List() const;
  // GET /v1/symbols/{build_id}?kind=&sha256=
  // Of a mapping, here and below: /v1/symbols/mapping?app=&version=, or ?map_id=
  Response Progress(std::string_view build_id, std::string_view query) const;
  // PUT /v1/symbols/{build_id}?kind=&offset=&size=&sha256=, the body inflated already
  Response Put(std::string_view build_id, std::string_view query, std::string_view body);

 private:
  SymbolFiles* files_;
};

}  // namespace lagwatch::collector
