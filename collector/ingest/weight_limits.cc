// SPDX-License-Identifier: Apache-2.0
#include "collector/ingest/weight_limits.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/clock.h"
#include "base/hash.h"

namespace lagwatch::collector {
namespace {

constexpr uint32_t kEveryonePpm = 1'000'000;

bool StandsForOthers(uint32_t rate_ppm) { return rate_ppm != 0 && rate_ppm < kEveryonePpm; }

// The rate that says the lesser weight.
uint32_t LesserWeight(uint32_t a, uint32_t b) {
  return StandsForOthers(a) && StandsForOthers(b) ? std::max(a, b) : 0;
}

// A clock that is ahead makes no hang younger than its arrival.
int64_t BeginOf(const ReportRow& row, int64_t now_wall_ms) {
  return std::min(WallMsOf(row.id), now_wall_ms) - row.elapsed_ns / base::kNsPerMs;
}

uint32_t RateOf(const ReportRow& row) {
  return static_cast<uint32_t>(std::clamp<int64_t>(row.sample_rate_ppm, 0, UINT32_MAX));
}

double Weighted(int64_t ns, int64_t rate_ppm) { return static_cast<double>(ns) * WeightOf(rate_ppm); }

// The part of it that no record of the hang brought before: a report's length holds that of earlier ones.
double NewlyCapped(double capped_ns, OpenHang* hang) {
  const double before_ns = std::exchange(hang->capped_ns, std::max(hang->capped_ns, capped_ns));
  return hang->capped_ns - before_ns;
}

struct SaidEnd {
  base::Uuid report_id;
  int64_t length_ns = 0;
};

// Of a record that ends a hang.
std::optional<SaidEnd> EndIn(const NewRecord& record) {
  if (const auto* end = std::get_if<report::HangEnd>(&record))
    return SaidEnd{end->report_id, ToSigned(end->duration_ns)};
  const auto* run = std::get_if<report::RunEnd>(&record);
  if (run == nullptr || run->report_id == base::Uuid{}) return std::nullopt;
  return SaidEnd{run->report_id, ToSigned(run->hang_ns)};
}

}  // namespace

WeightLimits::WeightLimits(const WeightBounds& bounds, ConfiguredRate configured_rate_ppm, LookUp look_up)
    : bounds_(bounds),
      configured_rate_ppm_(std::move(configured_rate_ppm)),
      look_up_(std::move(look_up)),
      seed_(std::random_device()()) {}

bool WeightLimits::BoundRate(uint32_t* rate_ppm) const {
  if (*rate_ppm == 0 || *rate_ppm >= bounds_.least_user_rate_ppm) return false;
  const auto configured = configured_rate_ppm_ ? configured_rate_ppm_() : std::nullopt;
  const uint64_t least = std::min(bounds_.least_user_rate_ppm, configured.value_or(UINT64_MAX));
  if (*rate_ppm >= least) return false;
  *rate_ppm = static_cast<uint32_t>(least);
  return true;
}

uint64_t WeightLimits::HashOf(const std::string& key, const std::string& user) const {
  if (user.empty()) return 0;
  const uint64_t hash =
      base::HashBytes(user, base::HashBytes(key, base::HashWord(seed_, base::kFnvOffsetBasis)));
  return std::max<uint64_t>(hash, 1);
}

WeightLimits::Used* WeightLimits::NetworkOf(const Sender& sender, Used* unknown) {
  return sender.network.empty() ? unknown : networks_.Of(HashOf({}, sender.network));
}

bool WeightLimits::HasExtrapolated(int64_t more_ns, const Used& user, const Used& network) const {
  return user.extrapolated_ns + more_ns <= bounds_.user_extrapolated_ns &&
         network.extrapolated_ns + more_ns <= bounds_.network_extrapolated_ns;
}

int64_t WeightLimits::Take(int64_t more_ns, Used* user, Used* network) const {
  const int64_t left_ns =
      std::min(bounds_.user_ns - user->counted_ns, bounds_.network_ns - network->counted_ns);
  const int64_t taken_ns = std::clamp<int64_t>(more_ns, 0, std::max<int64_t>(left_ns, 0));
  user->counted_ns += taken_ns;
  network->counted_ns += taken_ns;
  return taken_ns;
}

OpenHang* WeightLimits::FindOpen(const base::Uuid& report_id) {
  for (OpenHangs& share : open_)
    if (OpenHang* const hang = share.Find(report_id); hang != nullptr) return hang;
  return nullptr;
}

OpenHang* WeightLimits::AddOpen(const Sender& sender, int64_t now_wall_ms, const ReportRow& row,
                                uint32_t rate_ppm, bool* is_new) {
  OpenHangs& share = open_[HashOf({}, sender.network) % open_.size()];
  return share.Add(
      row.id, row.hang_id,
      {.user = HashOf(sender.key, row.user), .begin_ms = BeginOf(row, now_wall_ms), .rate_ppm = rate_ppm},
      is_new);
}

bool WeightLimits::BoundReport(const Sender& sender, int64_t now_wall_ms, ReportRow* row, double* capped_ns) {
  uint32_t rate_ppm = RateOf(*row);
  const double said_ns = Weighted(row->elapsed_ns, rate_ppm);
  bool is_bounded = BoundRate(&rate_ppm);
  Used no_user, no_network;
  Used* const user = UserOf(HashOf(sender.key, row->user), &no_user);
  Used* const network = NetworkOf(sender, &no_network);
  bool is_new = false;
  OpenHang* const hang = AddOpen(sender, now_wall_ms, *row, rate_ppm, &is_new);
  hang->rate_ppm = early_.Find(row->id) != nullptr ? 0 : LesserWeight(hang->rate_ppm, rate_ppm);
  const int64_t length_ns = std::min(row->elapsed_ns, bounds_.user_ns);
  const int64_t more_ns = Take(length_ns - hang->counted_ns, user, network);
  const int64_t counted_ns = std::min(length_ns, hang->counted_ns + more_ns);
  is_bounded |= counted_ns < row->elapsed_ns;
  if (StandsForOthers(hang->rate_ppm)) {
    // A hang of no length has a part as well: else they had no end.
    const bool is_over = counted_ns > bounds_.extrapolated_ns ||
                         !HasExtrapolated(std::max<int64_t>(more_ns, is_new ? 1 : 0), *user, *network);
    if (is_over) {
      hang->rate_ppm = 0;
    } else {
      user->extrapolated_ns += more_ns;
      network->extrapolated_ns += more_ns;
    }
  }
  if (StandsForOthers(rate_ppm) && !StandsForOthers(hang->rate_ppm)) {
    rate_ppm = 0;
    is_bounded = true;
  }
  hang->counted_ns = std::max(hang->counted_ns, counted_ns);
  row->elapsed_ns = counted_ns;
  row->sample_rate_ppm = rate_ppm;
  if (is_bounded) *capped_ns = NewlyCapped(said_ns - Weighted(counted_ns, rate_ppm), hang);
  return is_bounded;
}

void WeightLimits::NoteReport(const Sender& sender, int64_t now_wall_ms, const ReportRow& row) {
  bool is_new = false;
  OpenHang* const hang = AddOpen(sender, now_wall_ms, row, RateOf(row), &is_new);
  hang->rate_ppm = LesserWeight(hang->rate_ppm, RateOf(row));
}

int64_t WeightLimits::UnmatchedLeft(const Used& network) const {
  return std::min(bounds_.unmatched_ns, bounds_.network_unmatched_ns - network.unmatched_ns);
}

// The store may be slow: others are not kept waiting by the lock, and uploads' threads wait for a tenth of
// the time at most.
std::optional<ReportRow> WeightLimits::FindStored(const Sender& sender, const NewRecord& record) {
  constexpr auto kPauseAfterError = std::chrono::seconds(10);
  constexpr auto kMostInAMinute = std::chrono::seconds(6);
  const auto end = EndIn(record);
  if (!end || !look_up_) return std::nullopt;
  const auto begin = std::chrono::steady_clock::now();
  {
    std::lock_guard lock(mutex_);
    Used unknown;
    Used* const network = NetworkOf(sender, &unknown);
    if (begin - look_up_minute_ >= std::chrono::minutes(1)) {
      look_up_minute_ = begin;
      look_up_time_ = {};
    }
    if (end->length_ns <= UnmatchedLeft(*network) || FindOpen(end->report_id) != nullptr) return std::nullopt;
    if (network->look_ups >= bounds_.network_look_ups || look_up_time_ >= kMostInAMinute ||
        begin < look_up_after_)
      return std::nullopt;
    ++network->look_ups;
  }
  auto found = look_up_(end->report_id);
  const auto answered = std::chrono::steady_clock::now();
  std::lock_guard lock(mutex_);
  look_up_time_ += answered - begin;
  if (found.ok()) return std::move(found).value();
  look_up_after_ = answered + kPauseAfterError;
  return std::nullopt;
}

void WeightLimits::NoteStored(const Sender& sender, int64_t now_wall_ms, const ReportRow& row) {
  bool is_new = false;
  OpenHang* const hang = AddOpen(sender, now_wall_ms, row, RateOf(row), &is_new);
  if (is_new) hang->counted_ns = row.elapsed_ns;
}

WeightLimits::Result WeightLimits::BoundUnmatched(const Sender& sender, const base::Uuid& report_id,
                                                  int64_t* duration_ns, double* capped_ns) {
  Used unknown;
  Used* const network = NetworkOf(sender, &unknown);
  const int64_t left_ns = UnmatchedLeft(*network);
  if (left_ns <= 0) return Result::kRefused;
  const int64_t cut_ns = std::max<int64_t>(*duration_ns - left_ns, 0);
  *duration_ns -= cut_ns;
  network->unmatched_ns += std::max(*duration_ns, base::kNsPerSecond);
  bool is_new = false;
  OpenHang* const early = early_.Add(report_id, report_id, {}, &is_new);
  if (cut_ns == 0) return Result::kAsItSays;
  *capped_ns = NewlyCapped(static_cast<double>(cut_ns), early);
  return Result::kLess;
}

WeightLimits::Result WeightLimits::BoundEnd(const Sender& sender, int64_t now_wall_ms,
                                            const base::Uuid& report_id, int64_t* duration_ns,
                                            double* capped_ns) {
  OpenHang* const hang = FindOpen(report_id);
  if (hang == nullptr) return BoundUnmatched(sender, report_id, duration_ns, capped_ns);
  const int64_t age_ns =
      std::clamp<int64_t>(now_wall_ms - hang->begin_ms, 0, 31 * kMsPerDay) * base::kNsPerMs;
  int64_t most_ns = std::min(bounds_.user_ns, age_ns + bounds_.clock_slack_ns);
  Used no_user, no_network;
  Used* const user = UserOf(hang->user, &no_user);
  Used* const network = NetworkOf(sender, &no_network);
  const bool stands_for_others = StandsForOthers(hang->rate_ppm);
  if (stands_for_others) {
    const int64_t left_ns = std::min(bounds_.user_extrapolated_ns - user->extrapolated_ns,
                                     bounds_.network_extrapolated_ns - network->extrapolated_ns);
    most_ns = std::min({most_ns, bounds_.extrapolated_ns, hang->counted_ns + left_ns});
  }
  const int64_t more_ns = Take(std::min(*duration_ns, most_ns) - hang->counted_ns, user, network);
  if (stands_for_others) {
    user->extrapolated_ns += more_ns;
    network->extrapolated_ns += more_ns;
  }
  hang->counted_ns += more_ns;
  const int64_t cut_ns = *duration_ns - hang->counted_ns;
  if (cut_ns <= 0) return Result::kAsItSays;
  *duration_ns = hang->counted_ns;
  *capped_ns = NewlyCapped(Weighted(cut_ns, hang->rate_ppm), hang);
  return Result::kLess;
}

WeightLimits::Result WeightLimits::Bound(const Sender& sender, int64_t now_wall_ms, NewRecord* record) {
  const auto result_of = [](bool is_bounded) { return is_bounded ? Result::kLess : Result::kAsItSays; };
  const std::optional<ReportRow> stored = FindStored(sender, *record);
  std::lock_guard lock(mutex_);
  if (const int64_t day = now_wall_ms / kMsPerDay; std::exchange(day_, day) != day) {
    users_.Clear();
    networks_.Clear();
  }
  if (stored) NoteStored(sender, now_wall_ms, *stored);
  if (auto* added = std::get_if<NewReport>(record)) {
    if (IsHang(added->row.kind))
      return result_of(BoundReport(sender, now_wall_ms, &added->row, &record->capped_ns));
    NoteReport(sender, now_wall_ms, added->row);
    return Result::kAsItSays;
  }
  if (auto* end = std::get_if<report::HangEnd>(record)) {
    int64_t duration_ns = end->duration_ns;
    const Result result = BoundEnd(sender, now_wall_ms, end->report_id, &duration_ns, &record->capped_ns);
    end->duration_ns = duration_ns;
    return result;
  }
  if (auto* run = std::get_if<report::RunEnd>(record)) {
    if (run->report_id == base::Uuid{}) return Result::kAsItSays;
    int64_t hang_ns = ToSigned(run->hang_ns);
    const Result result = BoundEnd(sender, now_wall_ms, run->report_id, &hang_ns, &record->capped_ns);
    // The report counts as long as it says, then.
    run->hang_ns = result == Result::kRefused ? 0 : static_cast<uint64_t>(hang_ns);
    return result == Result::kRefused ? Result::kLess : result;
  }
  if (auto* added = std::get_if<NewUsage>(record)) {
    if (!BoundRate(&added->usage.sample_rate_ppm)) return Result::kAsItSays;
    report::AppendSampleRate(report::RecordType::kUsage, added->usage.sample_rate_ppm, &added->payload);
    return Result::kLess;
  }
  auto* losses = std::get_if<report::Losses>(record);
  if (losses == nullptr) return Result::kAsItSays;
  bool is_bounded = false;
  for (auto& loss : losses->losses) is_bounded |= BoundRate(&loss.sample_rate_ppm);
  return result_of(is_bounded);
}

WeightLimits::Sharing WeightLimits::sharing() {
  std::lock_guard lock(mutex_);
  return {.users = users_.Sharing(), .networks = networks_.Sharing()};
}

}  // namespace lagwatch::collector
