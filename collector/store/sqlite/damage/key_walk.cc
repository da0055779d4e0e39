// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/damage/key_walk.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace lagwatch::collector {
namespace {

constexpr size_t kIdBytes = 16;
constexpr uint64_t kMostNumber = std::numeric_limits<int64_t>::max();

class KeyWalk {
 public:
  KeyWalk(Database* database, const TableKey& table) : database_(database), table_(table) {
    if (table.kind == KeyKind::kId) next_.id = std::string(kIdBytes, '\0');
  }

  int64_t Run(const std::function<bool(const WalkedKey&)>& visit) {
    int64_t gaps = 0;
    while (!ReadOn(visit)) {
      ++gaps;
      if (!Skip()) break;
    }
    return gaps;
  }

 private:
  // False when a page cannot be read.
  bool ReadOn(const std::function<bool(const WalkedKey&)>& visit) {
    try {
      Statement rows = database_->Use(table_.sql);
      const WalkedKey first = next_;
      BindTo(first, &rows);
      while (rows.Step()) {
        const WalkedKey key = KeyOf(rows);
        const bool is_in_order =
            table_.kind == KeyKind::kNumber ? key.number >= next_.number : key.id >= next_.id;
        if (is_in_order && visit(key)) next_ = After(key);
      }
      return true;
    } catch (const SqliteError&) {
      return false;
    }
  }

  // Moves `next_` to the next key that can be read; false when there is none.
  bool Skip() {
    const uint64_t begin = NumberOf(next_);
    uint64_t unreadable = begin;
    uint64_t readable = begin;
    for (uint64_t step = 1;; step *= 2) {
      const uint64_t most = table_.kind == KeyKind::kNumber ? kMostNumber : UINT64_MAX;
      if (step > most - begin || step > most / 2) return false;
      readable = begin + step;
      if (CanRead(FromNumber(readable))) break;
      unreadable = readable;
    }
    while (readable - unreadable > 1) {
      const uint64_t middle = unreadable + (readable - unreadable) / 2;
      (CanRead(FromNumber(middle)) ? readable : unreadable) = middle;
    }
    next_ = FromNumber(readable);
    return true;
  }

  bool CanRead(const WalkedKey& key) {
    try {
      Statement rows = database_->Use(table_.sql);
      BindTo(key, &rows);
      rows.Step();
      return true;
    } catch (const SqliteError&) {
      return false;
    }
  }

  // Borrows the key.
  void BindTo(const WalkedKey& key, Statement* rows) const {
    if (table_.kind == KeyKind::kNumber) {
      rows->Bind(key.number);
    } else {
      rows->Bind(Blob{key.id});
    }
  }
  WalkedKey KeyOf(const Statement& row) const {
    return table_.kind == KeyKind::kNumber ? WalkedKey{.number = row.Int(0)} : WalkedKey{.id = row.Bytes(0)};
  }
  WalkedKey After(const WalkedKey& key) const {
    if (table_.kind == KeyKind::kNumber)
      return {.number = key.number == INT64_MAX ? key.number : key.number + 1};
    return {.id = key.id + '\0'};
  }

  // Ids by their first eight bytes.
  uint64_t NumberOf(const WalkedKey& key) const {
    if (table_.kind == KeyKind::kNumber) return static_cast<uint64_t>(key.number);
    uint64_t number = 0;
    for (size_t i = 0; i < sizeof number; ++i)
      number = number << 8 | (i < key.id.size() ? static_cast<uint8_t>(key.id[i]) : 0);
    return number;
  }
  WalkedKey FromNumber(uint64_t number) const {
    if (table_.kind == KeyKind::kNumber) return {.number = static_cast<int64_t>(number)};
    WalkedKey key{.id = std::string(kIdBytes, '\0')};
    for (size_t i = 0; i < sizeof number; ++i) key.id[i] = static_cast<char>(number >> (56 - 8 * i));
    return key;
  }

  Database* const database_;
  const TableKey table_;
  WalkedKey next_;  // the least key that was not visited
};

}  // namespace

int64_t WalkKeys(Database* database, const TableKey& table,
                 const std::function<bool(const WalkedKey&)>& visit) {
  return KeyWalk(database, table).Run(visit);
}

}  // namespace lagwatch::collector
