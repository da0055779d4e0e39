// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/insert/batch_delivery.h"

#include <string_view>
#include <utility>

#include "collector/store/clickhouse/insert/batch_rows.h"
#include "collector/store/clickhouse/server/connection.h"

namespace lagwatch::collector {
namespace {

// Of one part. Enough to find three bad rows among a thousand; rows that are not decided by then are refused
// together, so that a table without one of its columns costs no insertion for each row.
constexpr int kMostAttempts = 64;

class PartDelivery {
 public:
  PartDelivery(const Batch::Part& part, const InsertRows& insert, bool sets_aside)
      : part_(part), insert_(insert), sets_aside_(sets_aside) {}

  void Run() {
    if (TryInsert(part_.rows)) return;
    rows_ = RowsOf(part_);
    if (rows_.size() > 1) return Divide(0, rows_.size());
    refused_ = part_.rows;
    refused_rows_ = 1;
  }

  bool has_accepted() const { return has_accepted_; }
  std::string& refused() { return refused_; }
  size_t refused_rows() const { return refused_rows_; }
  const std::string& reason() const { return reason_; }

 private:
  bool TryInsert(const std::string& rows) {
    ++attempts_;
    try {
      insert_(part_.target, rows);
      return has_accepted_ = true;
    } catch (const ClickHouseError& error) {
      if (!sets_aside_ || !error.is_refusal) throw;
      reason_ = error.what();
      return false;
    }
  }

  // The rows from `begin` to `end` were refused together.
  void Divide(size_t begin, size_t end) {
    if (end - begin == 1 || attempts_ >= kMostAttempts) return Refuse(begin, end);
    const size_t middle = begin + (end - begin) / 2;
    for (const auto& [first, last] : {std::pair(begin, middle), std::pair(middle, end)}) {
      if (attempts_ >= kMostAttempts) {
        Refuse(first, last);
      } else if (!TryInsert(Joined(first, last))) {
        Divide(first, last);
      }
    }
  }

  // The rows lie one after the other.
  std::string Joined(size_t begin, size_t end) const {
    const char* first = rows_[begin].data();
    return {first, rows_[end - 1].data() + rows_[end - 1].size()};
  }
  void Refuse(size_t begin, size_t end) {
    refused_ += Joined(begin, end);
    refused_rows_ += end - begin;
  }

  const Batch::Part& part_;
  const InsertRows& insert_;
  const bool sets_aside_;
  std::vector<std::string_view> rows_;
  int attempts_ = 0;
  bool has_accepted_ = false;
  std::string refused_;
  size_t refused_rows_ = 0;
  std::string reason_;
};

}  // namespace

Delivery Deliver(const Batch& batch, const InsertRows& insert, bool sets_aside) {
  Delivery delivery;
  std::vector<const Batch::Part*> marks, senders;
  bool has_accepted = false;
  for (const Batch::Part& part : batch.parts) {
    if (IsOfMarks(part)) {
      marks.push_back(&part);
      continue;
    }
    PartDelivery rows(part, insert, sets_aside);
    rows.Run();
    has_accepted |= rows.has_accepted() && !IsOfSenders(part);
    if (rows.refused().empty()) {
      if (IsOfSenders(part)) senders.push_back(&part);
      continue;
    }
    delivery.refused.parts.push_back({part.target, std::move(rows.refused())});
    delivery.refused_rows += rows.refused_rows();
    delivery.reason = rows.reason();
  }
  // A refusal of marks is no matter of these rows: it is an error as those that may pass.
  if (has_accepted || delivery.refused.parts.empty()) {
    for (const Batch::Part* part : marks) insert(part->target, part->rows);
  }
  if (!delivery.refused.parts.empty()) {
    for (const Batch::Part* part : senders) delivery.refused.parts.push_back(*part);
    for (const Batch::Part* part : marks) delivery.refused.parts.push_back(*part);
  }
  return delivery;
}

}  // namespace lagwatch::collector
