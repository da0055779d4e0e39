// SPDX-License-Identifier: Apache-2.0
#include "report/config/config_fetcher.h"

#include <algorithm>

namespace lagwatch::report {

void ConfigFetcher::Poll(int64_t now_mono_ms, int64_t now_wall_ms, uint64_t random) {
  const bool is_early_due = is_asked_for_ && failures_ == 0 && now_mono_ms - last_mono_ms_ >= kShortestGapMs;
  if (has_fetched_ && now_mono_ms < next_mono_ms_ && !is_early_due) return;
  Fetch(now_wall_ms);
  has_fetched_ = true;
  is_asked_for_ = false;
  last_mono_ms_ = now_mono_ms;
  next_mono_ms_ = now_mono_ms + DelayMs(random);
}

void ConfigFetcher::NoteVersion(uint64_t version, int64_t now_wall_ms) {
  const auto config = store_->Current(now_wall_ms);
  if (version == 0 || version == noted_version_ || (config && config->version == version)) return;
  noted_version_ = version;
  is_asked_for_ = true;
}

void ConfigFetcher::Fetch(int64_t now_wall_ms) {
  // An expired or refused config is requested as a whole.
  if (!store_->Current(now_wall_ms)) etag_.clear();
  ConfigAnswer answer = source_->Fetch(etag_);
  bool is_good = answer.kind != ConfigAnswer::AnswerKind::kFailed;
  if (answer.kind == ConfigAnswer::AnswerKind::kDocument) {
    const base::Status status = store_->Accept(answer.envelope, now_wall_ms);
    is_good = status.ok() || status.code() == base::StatusCode::kIo;
    if (is_good) etag_ = std::move(answer.etag);
  }
  failures_ = is_good ? 0 : failures_ + 1;
  constexpr int64_t kLongestRetryAfterS = 24 * 3600;
  retry_after_ms_ = std::clamp<int64_t>(answer.retry_after_s, 0, kLongestRetryAfterS) * 1'000;
}

int64_t ConfigFetcher::DelayMs(uint64_t random) const {
  if (failures_ > 0) return std::max(upload_backoff_.DelayMs(failures_, random), retry_after_ms_);
  // A tenth to and fro: clients that were started together do not come together for ever.
  return kPeriodMs - kPeriodMs / 10 + static_cast<int64_t>(random % (kPeriodMs / 5));
}

}  // namespace lagwatch::report
