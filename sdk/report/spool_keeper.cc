// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/uuid.h"
#include "report/format/losses.h"
#include "report/spool/spool_reader.h"
#include "report/upload/ledger_file.h"
#include "sdk/report/record_writer.h"

namespace lagwatch::sdk {
namespace {

using policies::ReportPriority;
using report::RecordType;

report::LossReason ReasonOf(policies::RemovalReason reason) {
  return reason == policies::RemovalReason::kTooOld ? report::LossReason::kTooOld
                                                    : report::LossReason::kTooMuch;
}

// The same at each call, so that after a kill the next process finds the counted records.
base::Uuid LossesIdOf(std::string_view segment_name, size_t nth) {
  base::Uuid id = base::TryParseUuid(segment_name.substr(0, base::kUuidTextSize)).value_or(base::Uuid());
  segment_name.remove_prefix(std::min<size_t>(base::kUuidTextSize + 1, segment_name.size()));
  uint32_t sequence = 0;
  std::from_chars(segment_name.data(), segment_name.data() + segment_name.size(), sequence);
  for (size_t i = 0; i < sizeof sequence; ++i) id.bytes[15 - i] ^= static_cast<uint8_t>(sequence >> 8 * i);
  id.bytes[11] ^= static_cast<uint8_t>(nth + 1);  // no other record has the session's own id
  return id;
}

// The contents of a segment, as losses of each program in it.
class Counted {
 public:
  void Add(const report::Losses& losses) {
    report::Losses* known = Of(losses);
    known->begin_wall_ms = std::min(known->begin_wall_ms, losses.begin_wall_ms);
    known->end_wall_ms = std::max(known->end_wall_ms, losses.end_wall_ms);
    for (const report::Loss& loss : losses.losses) Count(loss, known);
  }
  const std::vector<report::Losses>& all() const { return all_; }

 private:
  report::Losses* Of(const report::Losses& origin) {
    for (report::Losses& known : all_) {
      if (known.app == origin.app && known.app_version == origin.app_version && known.user == origin.user)
        return &known;
    }
    all_.push_back(origin);
    all_.back().losses.clear();
    return &all_.back();
  }
  static void Count(const report::Loss& loss, report::Losses* losses) {
    auto known = std::ranges::find_if(losses->losses, [&](const report::Loss& other) {
      return other.reason == loss.reason && other.cause == loss.cause &&
             other.sample_rate_ppm == loss.sample_rate_ppm;
    });
    if (known == losses->losses.end()) return losses->losses.push_back(loss);
    known->count += loss.count;
  }

  std::vector<report::Losses> all_;
};

using IdBytes = decltype(base::Uuid::bytes);

// The ids of what is counted in the spool.
std::set<IdBytes> LossesIn(const report::SpoolReader& reader) {
  std::set<IdBytes> ids;
  const auto names = reader.List(report::SpoolReader::Include::kFinished);
  if (!names.ok()) return ids;
  for (const std::string& name : *names) {
    const auto segment = reader.Read(name);
    if (!segment.ok()) continue;
    for (const report::OwnedRecord& record : segment->records) {
      if (record.type != RecordType::kLosses) continue;
      if (const auto losses = report::DecodeLosses(record.payload); losses.ok()) ids.insert(losses->id.bytes);
    }
  }
  return ids;
}

class LossWriter final : public report::SweepVisitor {
 public:
  LossWriter(report::SpoolReader reader, report::SpoolWriter* writer, int64_t now_wall_ms)
      : reader_(std::move(reader)),
        writer_(writer),
        now_wall_ms_(static_cast<uint64_t>(std::max<int64_t>(0, now_wall_ms))) {}

  bool OnRemoval(const std::string& name, const report::SegmentFacts& segment,
                 policies::RemovalReason reason) override {
    Counted counted;
    for (const report::RecordFacts& facts : segment.records) Count(facts, ReasonOf(reason), &counted);
    if (segment.skipped_bytes != 0) CountDamage(&counted);
    for (size_t i = 0; i < counted.all().size(); ++i) {
      report::Losses losses = counted.all()[i];
      losses.id = LossesIdOf(name, i);
      if (IsCountedBefore(losses.id)) continue;
      if (!writer_->Append(RecordType::kLosses, EncodeLosses(losses),
                           {.priority = ReportPriority::kKilledInHang}))
        return false;
    }
    return true;
  }

 private:
  // Counted by a sweep that was killed before the removal. Two records of one id are stored once, but a
  // process that removes them counts each again.
  bool IsCountedBefore(const base::Uuid& id) {
    if (!counted_before_) counted_before_ = LossesIn(reader_);
    return counted_before_->contains(id.bytes);
  }
  void Count(const report::RecordFacts& facts, report::LossReason reason, Counted* counted) const {
    if (facts.losses != nullptr) counted->Add(*facts.losses);
    if (facts.type != RecordType::kReport || !facts.has_origin) return;
    // By their causes lost reports are estimated to be hangs, which a slow dispatch is not. Only a sealed
    // report names its cause before it is sent.
    const bool has_cause = facts.is_sealed && facts.priority != ReportPriority::kSlowDispatch;
    const uint64_t cause = has_cause ? facts.cause : 0;
    counted->Add(
        LostNow({.app = facts.origin.app, .app_version = facts.origin.app_version, .user = facts.origin.user},
                reason, cause));
  }

  // Uses one report's user for the whole segment.
  void CountDamage(Counted* counted) const {
    report::Losses origin;
    if (!counted->all().empty()) origin = counted->all().front();
    counted->Add(LostNow(std::move(origin), report::LossReason::kDamaged, 0));
  }

  // One report of `origin`, which has the rest.
  report::Losses LostNow(report::Losses origin, report::LossReason reason, uint64_t cause) const {
    origin.begin_wall_ms = origin.end_wall_ms = now_wall_ms_;
    origin.losses = {{reason, cause, 1}};
    return origin;
  }

  report::SpoolReader reader_;
  report::SpoolWriter* writer_;
  uint64_t now_wall_ms_;
  std::optional<std::set<IdBytes>> counted_before_;  // read when something is removed
};

// A ledger that has not changed for this long is abandoned, unless a sender continues it now.
bool HasSender(base::Env* env, const std::string& directory, bool is_sent, int64_t now_wall_ms) {
  base::FileFacts ledger;
  const std::string path = directory + "/" + std::string(report::kLedgerName);
  if (env->Look(path.c_str(), &ledger) != 0) return false;
  return is_sent || now_wall_ms - ledger.modified_wall_ms <= policies::RetentionLimits().longest_ms;
}

}  // namespace

void SweepUnsentSpool(base::Env* env, const std::string& directory, bool is_sent, int64_t now_wall_ms,
                      report::SpoolWriter* writer) {
  if (HasSender(env, directory, is_sent, now_wall_ms)) return;
  LossWriter visitor({env, directory}, writer, now_wall_ms);
  // A spool that cannot be swept is none that can be written to either; that shows elsewhere.
  static_cast<void>(report::SweepSpool(env, directory, {}, now_wall_ms, &visitor));
  writer->Seal();
}

}  // namespace lagwatch::sdk
