// SPDX-License-Identifier: Apache-2.0
#include "report/upload/upload_ledger.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/crc32c.h"
#include "base/hash.h"
#include "base/text.h"

namespace lagwatch::report {
namespace {

using nlohmann::json;
using policies::QuotaUse;

constexpr int kVersion = 1;

// Thrown for a malformed ledger; an exception because JSON's accessors throw as well.
struct MalformedLedger {};

void Check(bool is_well_formed) {
  if (!is_well_formed) throw MalformedLedger{};
}

std::string FromHex(const std::string& hex) {
  Check(hex.size() % 2 == 0);
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    uint8_t byte = 0;
    const char* const end = hex.data() + i + 2;
    Check(std::from_chars(hex.data() + i, end, byte, 16).ptr == end);
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

json ToJson(const SegmentDecision& decision) {
  return {{"rate_ppm", decision.sample_rate_ppm},
          {"dropped", decision.dropped},
          {"forced", decision.forced},
          {"done", decision.is_done},
          {"damaged", decision.is_damage_counted}};
}

SegmentDecision ToDecision(const json& text) {
  return {.sample_rate_ppm = text.at("rate_ppm").get<uint32_t>(),
          .dropped = text.at("dropped").get<std::set<uint64_t>>(),
          .forced = text.at("forced").get<std::set<uint64_t>>(),
          .is_done = text.at("done").get<bool>(),
          .is_damage_counted = text.at("damaged").get<bool>()};
}

json ToJson(uint64_t key, const QuotaUse& use) {
  json clusters = json::array();
  for (uint32_t i = 0; i < use.cluster_count; ++i)
    clusters.push_back({use.clusters[i].key, use.clusters[i].count});
  return {{"of", key},
          {"day", use.day},
          {"latest_day", use.latest_day},
          {"count", use.count},
          {"causes", std::move(clusters)}};
}

QuotaUse ToQuotaUse(const json& text) {
  QuotaUse use;
  use.day = text.at("day").get<int64_t>();
  use.latest_day = text.at("latest_day").get<int64_t>();
  use.count = text.at("count").get<uint32_t>();
  const json& clusters = text.at("causes");
  Check(clusters.is_array() && clusters.size() <= QuotaUse::kMaxClusters);
  for (const json& cluster : clusters)
    use.clusters[use.cluster_count++] = {cluster.at(0).get<uint64_t>(), cluster.at(1).get<uint32_t>()};
  return use;
}

// In the form in which they are sent: texts of the program's need not be what JSON can hold.
json ToJson(const std::vector<Losses>& all) {
  json list = json::array();
  for (const Losses& losses : all) list.push_back(base::ToHex(EncodeLosses(losses)));
  return list;
}

std::vector<Losses> ToLosses(const json& list) {
  Check(list.is_array() && list.size() <= UploadLedger::kMaxOrigins);
  std::vector<Losses> all;
  for (const json& item : list) {
    auto losses = DecodeLosses(FromHex(item.get<std::string>()));
    Check(losses.ok());
    all.push_back(std::move(*losses));
  }
  return all;
}

UploadLedger ToLedger(const json& text) {
  Check(text.is_object() && text.at("version").get<int>() == kVersion);
  UploadLedger ledger;
  ledger.installation = text.at("installation").get<std::string>();
  Check(!ledger.installation.empty());
  const json& segments = text.at("segments");
  Check(segments.is_object());
  for (const auto& [name, decision] : segments.items()) ledger.segments.emplace(name, ToDecision(decision));
  const json& dropped = text.at("dropped_reports");
  Check(dropped.is_array() && dropped.size() <= UploadLedger::kMaxDroppedReports);
  for (const json& item : dropped) {
    const auto id = base::TryParseUuid(item.get<std::string>());
    Check(id.has_value());
    ledger.dropped_reports.push_back(*id);
  }
  const json& quota = text.at("quota");
  Check(quota.is_array() && quota.size() <= UploadLedger::kMaxQuotaUses);
  for (const json& use : quota) ledger.quota_uses.emplace(use.at("of").get<uint64_t>(), ToQuotaUse(use));
  ledger.losses = ToLosses(text.at("losses"));
  ledger.frozen = ToLosses(text.at("losses_sent"));
  return ledger;
}

bool IsSame(const Losses& losses, const Origin& origin) {
  return origin == Origin{losses.app, losses.app_version, losses.user};
}

// A number that lost a bit would be believed. The checksum is the last line, of all before it.
constexpr size_t kChecksumBytes = 9;

std::string ChecksumOf(std::string_view content) {
  const uint32_t checksum = base::Crc32c(content.data(), content.size());
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(checksum >> shift));
  return base::ToHex(bytes) + "\n";
}

std::string WithChecksum(std::string content) { return content += ChecksumOf(content); }

// None when it is damaged.
std::optional<std::string_view> ContentOf(std::string_view text) {
  if (text.size() < kChecksumBytes) return std::nullopt;
  const std::string_view content = text.substr(0, text.size() - kChecksumBytes);
  return text.substr(content.size()) == ChecksumOf(content) ? std::optional(content) : std::nullopt;
}

}  // namespace

std::string StemOf(std::string_view file_name) {
  return std::string(file_name.substr(0, file_name.rfind('.')));
}

void UploadLedger::CountLoss(const Origin& origin, const Loss& loss, int64_t now_wall_ms) {
  const auto now_ms = static_cast<uint64_t>(std::max<int64_t>(0, now_wall_ms));
  auto of_origin = std::ranges::find_if(losses, [&](const Losses& known) { return IsSame(known, origin); });
  if (of_origin == losses.end()) {
    if (losses.size() == kMaxOrigins) {
      of_origin = losses.begin();  // under another one's name rather than not at all
    } else {
      losses.push_back({.id = base::CreateUuidV7(now_wall_ms),
                        .app = origin.app,
                        .app_version = origin.app_version,
                        .user = origin.user,
                        .begin_wall_ms = now_ms,
                        .end_wall_ms = now_ms});
      of_origin = losses.end() - 1;
    }
  }
  of_origin->begin_wall_ms = std::min(of_origin->begin_wall_ms, now_ms);
  of_origin->end_wall_ms = std::max(of_origin->end_wall_ms, now_ms);
  std::vector<Loss>& counts = of_origin->losses;
  auto count_as = [&](uint64_t cause) {
    auto known = std::ranges::find_if(counts, [&](const Loss& other) {
      return other.reason == loss.reason && other.cause == cause &&
             other.sample_rate_ppm == loss.sample_rate_ppm;
    });
    if (known != counts.end()) known->count += loss.count;
    return known != counts.end();
  };
  if (count_as(loss.cause)) return;
  const bool is_full = counts.size() >= kMaxLossesOfOrigin;
  if (is_full && count_as(0)) return;
  counts.push_back(loss);
  if (is_full) counts.back().cause = 0;
}

void UploadLedger::FreezeLosses() {
  if (frozen.empty()) frozen.swap(losses);
}

std::optional<int64_t> UploadLedger::LossesWaitSince() const {
  if (!frozen.empty()) return 0;
  if (losses.empty()) return std::nullopt;
  return static_cast<int64_t>(std::ranges::min(losses, {}, &Losses::begin_wall_ms).begin_wall_ms);
}

void UploadLedger::NoteDropped(const base::Uuid& report_id) {
  dropped_reports.push_back(report_id);
  if (dropped_reports.size() > kMaxDroppedReports) dropped_reports.pop_front();
}

bool UploadLedger::IsDropped(const base::Uuid& report_id) const {
  return std::ranges::find(dropped_reports, report_id) != dropped_reports.end();
}

QuotaUse* UploadLedger::QuotaUseOf(const Origin& origin, Quota quota) {
  const std::string& user = origin.user.empty() ? installation : origin.user;
  uint64_t key = base::HashBytes(user, base::HashBytes("\n", base::HashBytes(origin.app)));
  if (quota == Quota::kTraces) key = base::HashBytes("\ntraces", key);
  if (quota == Quota::kSlow) key = base::HashBytes("\nslow", key);
  if (quota == Quota::kTraceKib) key = base::HashBytes("\ntrace KiB", key);
  if (!quota_uses.contains(key) && quota_uses.size() == kMaxQuotaUses) {
    quota_uses.erase(
        std::ranges::min_element(quota_uses, {}, [](const auto& use) { return use.second.latest_day; }));
  }
  return &quota_uses[key];
}

std::string UploadLedger::ToText() const {
  json decisions = json::object();
  for (const auto& [name, decision] : segments) decisions[name] = ToJson(decision);
  json dropped = json::array();
  for (const base::Uuid& id : dropped_reports) dropped.push_back(base::ToString(id));
  json quota = json::array();
  for (const auto& [key, use] : quota_uses) quota.push_back(ToJson(key, use));
  const json text = {{"version", kVersion},
                     {"installation", installation},
                     {"segments", std::move(decisions)},
                     {"dropped_reports", std::move(dropped)},
                     {"quota", std::move(quota)},
                     {"losses", ToJson(losses)},
                     {"losses_sent", ToJson(frozen)}};
  return WithChecksum(text.dump(1) + "\n");
}

base::Result<UploadLedger> UploadLedger::Parse(std::string_view text) {
  const base::Status malformed(base::StatusCode::kInvalid, "the ledger is damaged");
  const std::optional<std::string_view> content = ContentOf(text);
  if (!content) return malformed;
  try {
    return ToLedger(json::parse(*content));
  } catch (const json::exception&) {
    return malformed;
  } catch (const MalformedLedger&) {
    return malformed;
  }
}

UploadLedger UploadLedger::New(int64_t now_wall_ms) {
  UploadLedger ledger;
  ledger.installation = base::ToString(base::CreateUuidV7(now_wall_ms));
  return ledger;
}

}  // namespace lagwatch::report
