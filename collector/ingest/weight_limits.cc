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

int64_t BeginOf(const ReportRow& row) { return WallMsOf(row.id) - row.elapsed_ns / base::kNsPerMs; }

double Weighted(int64_t ns, int64_t rate_ppm) { return static_cast<double>(ns) * WeightOf(rate_ppm); }

}  // namespace

WeightLimits::WeightLimits(const WeightBounds& bounds, ConfiguredRate configured_rate_ppm)
    : bounds_(bounds), configured_rate_ppm_(std::move(configured_rate_ppm)), seed_(std::random_device()()) {}

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

bool WeightLimits::BoundReport(const Sender& sender, ReportRow* row, double* capped_ns) {
  auto rate_ppm = static_cast<uint32_t>(std::clamp<int64_t>(row->sample_rate_ppm, 0, UINT32_MAX));
  const double said_ns = Weighted(row->elapsed_ns, rate_ppm);
  bool is_bounded = BoundRate(&rate_ppm);
  Used no_user, no_network;
  const uint64_t user_hash = HashOf(sender.key, row->user);
  Used* const user = UserOf(user_hash, &no_user);
  Used* const network = NetworkOf(sender, &no_network);
  bool is_new = false;
  OpenHang* const hang = open_.Add(
      row->id, row->hang_id, {.user = user_hash, .begin_ms = BeginOf(*row), .rate_ppm = rate_ppm}, &is_new);
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
  if (is_bounded) *capped_ns = std::max(said_ns - Weighted(counted_ns, rate_ppm), 0.0);
  return is_bounded;
}

void WeightLimits::NoteReport(const Sender& sender, const ReportRow& row) {
  const auto rate_ppm = static_cast<uint32_t>(std::clamp<int64_t>(row.sample_rate_ppm, 0, UINT32_MAX));
  bool is_new = false;
  OpenHang* const hang = open_.Add(
      row.id, row.hang_id,
      {.user = HashOf(sender.key, row.user), .begin_ms = BeginOf(row), .rate_ppm = rate_ppm}, &is_new);
  hang->rate_ppm = LesserWeight(hang->rate_ppm, rate_ppm);
}

WeightLimits::Result WeightLimits::BoundUnmatched(const Sender& sender, const base::Uuid& report_id,
                                                  int64_t* duration_ns) {
  Used unknown;
  Used* const network = NetworkOf(sender, &unknown);
  const int64_t left_ns =
      std::min(bounds_.unmatched_ns, bounds_.network_unmatched_ns - network->unmatched_ns);
  if (*duration_ns <= left_ns) {
    network->unmatched_ns += std::max(*duration_ns, base::kNsPerSecond);
    bool is_new = false;
    early_.Add(report_id, report_id, {}, &is_new);
    return Result::kAsItSays;
  }
  *duration_ns = std::max<int64_t>(left_ns, 0);
  return Result::kRefused;
}

WeightLimits::Result WeightLimits::BoundEnd(const Sender& sender, int64_t now_wall_ms,
                                            const base::Uuid& report_id, int64_t* duration_ns,
                                            double* capped_ns) {
  OpenHang* const hang = open_.Find(report_id);
  if (hang == nullptr) return BoundUnmatched(sender, report_id, duration_ns);
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
  const bool is_first = !std::exchange(hang->has_end, true);
  const int64_t cut_ns = *duration_ns - hang->counted_ns;
  if (cut_ns <= 0) return Result::kAsItSays;
  *duration_ns = hang->counted_ns;
  // Each report of the hang has an end, with the same length.
  if (is_first) *capped_ns = Weighted(cut_ns, hang->rate_ppm);
  return Result::kLess;
}

WeightLimits::Result WeightLimits::Bound(const Sender& sender, int64_t now_wall_ms, NewRecord* record) {
  const auto result_of = [](bool is_bounded) { return is_bounded ? Result::kLess : Result::kAsItSays; };
  std::lock_guard lock(mutex_);
  if (const int64_t day = now_wall_ms / kMsPerDay; std::exchange(day_, day) != day) {
    users_.Clear();
    networks_.Clear();
  }
  if (auto* added = std::get_if<NewReport>(record)) {
    if (IsHang(added->row.kind)) return result_of(BoundReport(sender, &added->row, &record->capped_ns));
    NoteReport(sender, added->row);
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
