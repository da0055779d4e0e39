// SPDX-License-Identifier: Apache-2.0
// Reads a table of a damaged database key by key, around what cannot be read: where a page fails, the first
// key after it is searched for by halving. Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "collector/store/sqlite/database/database.h"

namespace lagwatch::collector {

// Keys that order rows: numbers from 0, or ids that begin with a time.
enum class KeyKind { kNumber, kId };

struct TableKey {
  // One parameter, the least key; returns keys from there on, in their order.
  const char* sql;
  KeyKind kind;
};

// A key as it is bound: of kNumber `number` is set, of kId `id`.
struct WalkedKey {
  int64_t number = 0;
  std::string id = {};
};

// Calls `visit` for each key that can be read; it returns whether the table has a row with it, which keys of
// pages with wrong content have not. Returns the number of places that cannot be read.
int64_t WalkKeys(Database* database, const TableKey& table,
                 const std::function<bool(const WalkedKey& key)>& visit);

}  // namespace lagwatch::collector
