// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/server/unit_marks.h"

#include <map>
#include <utility>

namespace lagwatch::collector {
namespace {

// The numbers of one removal's marks, by their remainders. One that another collector has ended gets its own
// end as well: its mutations may have begun after the other one looked.
constexpr int64_t kNumbersOfARemoval = 4;
constexpr int64_t kBegun = 1;
constexpr int64_t kEndedByAnother = 2;
constexpr int64_t kEnded = 3;

}  // namespace

void InsertMarks(Connection* connection, const Schema& schema, const std::set<int64_t>& units,
                 int64_t collector, int64_t number) {
  if (units.empty()) return;
  RowWriter rows;
  for (int64_t unit : units) {
    rows.Day(SumsUnit(unit).day());
    rows.Int(unit);
    rows.Int(collector);
    rows.Int(number);
    rows.Int(number);
  }
  connection->Insert(schema.Target(kMarks), rows.bytes());
}

void RemovalMarks::Begin(const std::set<int64_t>& units) {
  InsertMarks(connection_, *schema_, units, collector_, ++count_ * kNumbersOfARemoval + kBegun);
}

void RemovalMarks::End(const RowSource& rows) {
  std::map<std::pair<int64_t, int64_t>, std::set<int64_t>> units;  // by collector and number
  rows.Select("unit, collector, max(number)", kMarks, " WHERE collector < 0 GROUP BY unit, collector", "iii",
              [&](const Row& row) {
                const int64_t state = row.Int(2) % kNumbersOfARemoval;
                if (state == kBegun || (state == kEndedByAnother && row.Int(1) == collector_))
                  units[{row.Int(1), row.Int(2) - state}].insert(row.Int(0));
              });
  for (const auto& [mark, marked] : units) {
    const auto& [collector, number] = mark;
    InsertMarks(connection_, *schema_, marked, collector,
                number + (collector == collector_ ? kEnded : kEndedByAnother));
  }
}

}  // namespace lagwatch::collector
