// SPDX-License-Identifier: Apache-2.0
#include "collector/keys/key_ring.h"

#include <openssl/crypto.h>
#include <spdlog/spdlog.h>
#include <strings.h>

#include <algorithm>
#include <utility>

namespace lagwatch::collector {
namespace {

constexpr double kSecondsOfADay = 86'400;
constexpr int64_t kRetryMs = 1000;
constexpr double kBurstS = 10;  // of reports: they come in batches

std::string_view KeyOf(std::string_view authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  if (authorization.size() <= kScheme.size() ||
      strncasecmp(authorization.data(), kScheme.data(), kScheme.size()) != 0)
    return {};
  authorization.remove_prefix(kScheme.size());
  const size_t first = authorization.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return authorization.substr(first, authorization.find_last_not_of(' ') - first + 1);
}

constexpr double kPartOfANetwork = 1.0 / 16;
constexpr size_t kMostNetworks = 4096;

// A quota is there to be used in parts: no bucket is smaller than one report.
double ReportCapacity(const Quota& quota, double part) {
  return std::max(1.0, quota.reports_per_s * kBurstS * part);
}

}  // namespace

KeyRing::KeyRing(const std::vector<GivenKey>& given, std::optional<KeyFile> file) : file_(std::move(file)) {
  for (const GivenKey& key : given) {
    given_.push_back({.name = "given-" + std::to_string(given_.size() + 1),
                      .access = key.access,
                      .digest = DigestOf(key.text)});
  }
  keys_ = given_;
}

KeyCheck KeyRing::Check(std::string_view authorization, int64_t now_wall_ms) {
  return CheckText(KeyOf(authorization), now_wall_ms);
}

KeyCheck KeyRing::CheckText(std::string_view text, int64_t now_wall_ms) {
  if (text.empty()) return {};
  const KeyDigest digest = DigestOf(text);
  std::lock_guard lock(mutex_);
  Refresh(now_wall_ms);
  const KeyRecord* found = nullptr;
  for (const KeyRecord& key : keys_) {
    if (CRYPTO_memcmp(key.digest.data(), digest.data(), digest.size()) == 0) found = &key;
  }
  if (found == nullptr) return {};
  using Outcome = KeyCheck::Outcome;
  return {found->IsExpired(now_wall_ms) ? Outcome::kExpired : Outcome::kKnown, *found};
}

void KeyRing::Refresh(int64_t now_wall_ms) {
  if (!file_) return;
  const FileStamp stamp = FileStamp::Of(file_->path());
  // A change that makes the file readable again, such as a chmod, may leave the stamp unchanged.
  const bool is_retry = retry_wall_ms_ != 0 && now_wall_ms >= retry_wall_ms_;
  if (stamp_ == stamp && !is_retry) return;
  stamp_ = stamp;
  auto records = file_->Read();
  retry_wall_ms_ = records.ok() ? 0 : now_wall_ms + kRetryMs;
  if (!records.ok()) {
    spdlog::error("{}; the previous keys stay valid", records.status().message());
    return;
  }
  keys_ = given_;
  keys_.insert(keys_.end(), records->begin(), records->end());
  meters_.clear();  // quotas may be others now
}

KeyRing::Buckets KeyRing::BucketsOf(const Quota& quota, double part, int64_t now_mono_ns) {
  const double bytes = static_cast<double>(quota.bytes_per_day) * part;
  return {.reports = {ReportCapacity(quota, part), quota.reports_per_s * part, now_mono_ns},
          .bytes = {bytes, bytes / kSecondsOfADay, now_mono_ns}};
}

KeyRing::Meter* KeyRing::MeterOf(const KeyRecord& key, int64_t now_mono_ns) {
  if (key.quota.reports_per_s <= 0 && key.quota.bytes_per_day == 0) return nullptr;
  return &meters_.try_emplace(key.digest, Meter{.all = BucketsOf(key.quota, 1, now_mono_ns)}).first->second;
}

// A full one is forgotten: a new one is full.
KeyRing::Buckets* KeyRing::PartOf(const KeyRecord& key, const std::string& network, int64_t now_mono_ns,
                                  Meter* meter) {
  if (meter->networks.size() >= kMostNetworks && !meter->networks.contains(network)) {
    for (auto each = meter->networks.begin(); each != meter->networks.end();) {
      const bool is_full = each->second.reports.IsFull(now_mono_ns) && each->second.bytes.IsFull(now_mono_ns);
      each = is_full ? meter->networks.erase(each) : std::next(each);
    }
    if (meter->networks.size() >= kMostNetworks) meter->networks.erase(meter->networks.begin());
  }
  return &meter->networks.try_emplace(network, BucketsOf(key.quota, kPartOfANetwork, now_mono_ns))
              .first->second;
}

std::optional<QuotaRefusal> KeyRing::CheckQuota(const KeyRecord& key, uint64_t size_bytes,
                                                int64_t now_mono_ns, const std::string& network) {
  std::lock_guard lock(mutex_);
  Meter* meter = MeterOf(key, now_mono_ns);
  if (meter == nullptr) return std::nullopt;
  const auto wait = [&](TokenBucket Buckets::*bucket, double amount) -> int64_t {
    TokenBucket* const all = &(meter->all.*bucket);
    const int64_t wait_s = all->WaitS(amount, now_mono_ns);
    if (wait_s > 0 || network.empty() || all->IsHalfFull(now_mono_ns)) return wait_s;
    return (PartOf(key, network, now_mono_ns, meter)->*bucket).WaitS(amount, now_mono_ns);
  };
  if (key.quota.reports_per_s > 0) {
    if (const int64_t wait_s = wait(&Buckets::reports, 1); wait_s > 0)
      return QuotaRefusal{wait_s, "this key has reached its limit of reports"};
  }
  if (key.quota.bytes_per_day > 0) {
    if (const int64_t wait_s = wait(&Buckets::bytes, static_cast<double>(size_bytes)); wait_s > 0)
      return QuotaRefusal{wait_s, "this key has reached its limit of bytes per day"};
  }
  return std::nullopt;
}

void KeyRing::Charge(const KeyRecord& key, uint64_t size_bytes, uint64_t reports, int64_t now_mono_ns,
                     const std::string& network) {
  std::lock_guard lock(mutex_);
  Meter* meter = MeterOf(key, now_mono_ns);
  if (meter == nullptr) return;
  const auto charge = [&](TokenBucket Buckets::*bucket, double amount) {
    // The half that is free for all is not charged to the network.
    const bool is_scarce = !network.empty() && !(meter->all.*bucket).IsHalfFull(now_mono_ns);
    (meter->all.*bucket).Use(amount, now_mono_ns);
    if (is_scarce) (PartOf(key, network, now_mono_ns, meter)->*bucket).Use(amount, now_mono_ns);
  };
  if (key.quota.reports_per_s > 0) charge(&Buckets::reports, static_cast<double>(reports));
  if (key.quota.bytes_per_day > 0) charge(&Buckets::bytes, static_cast<double>(size_bytes));
}

std::vector<KeyUse> KeyRing::Uses(int64_t now_mono_ns) {
  std::lock_guard lock(mutex_);
  std::vector<KeyUse> uses;
  for (const KeyRecord& key : keys_) {
    const auto found = meters_.find(key.digest);
    if (found == meters_.end()) continue;
    uses.push_back({.name = key.name,
                    .quota = key.quota,
                    .reports_left = found->second.all.reports.Left(now_mono_ns),
                    .bytes_left = found->second.all.bytes.Left(now_mono_ns)});
  }
  return uses;
}

}  // namespace lagwatch::collector
