// SPDX-License-Identifier: Apache-2.0
#include "sdk/run/run_record.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/hash.h"
#include "base/text.h"

namespace lagwatch::sdk {
namespace {

static_assert(std::endian::native == std::endian::little, "run records are little-endian");

constexpr uint32_t kMaxSignal = 64;

template <size_t kSize>
void PutText(std::string_view text, char (&field)[kSize]) {
  size_t size = std::min(text.size(), kSize);
  std::memcpy(field, text.data(), size);
}

template <size_t kSize>
std::string TextOf(const char (&field)[kSize]) {
  return {field, strnlen(field, kSize)};
}

uint32_t HeaderCrc32c(const RunHeader& header) {
  constexpr size_t kBegin = offsetof(RunHeader, keeps_lock);
  return base::Crc32c(reinterpret_cast<const char*>(&header) + kBegin, sizeof header - kBegin);
}

template <typename T>
T Read(std::string_view page, size_t at) {
  T value;
  std::memcpy(&value, page.data() + at, sizeof value);
  return value;
}

// The later of the whole copies.
template <typename T>
std::optional<T> LastWhole(std::string_view page, const size_t (&places)[2], uint32_t (*crc32c)(const T&)) {
  std::optional<T> last;
  for (size_t at : places) {
    T copy = Read<T>(page, at);
    bool is_whole = copy.sequence != 0 && copy.crc32c == crc32c(copy);
    if (is_whole && (!last || copy.sequence > last->sequence)) last = copy;
  }
  return last;
}

// Numbers are only ever displayed; a negative one becomes 0.
void ReadUsage(const RunUsage& page, RunRecord* record) {
  auto at_least_0 = [](int64_t number) { return std::max<int64_t>(number, 0); };
  record->usage_id = page.id;
  record->usage_begin_wall_ms = at_least_0(page.begin_wall_ms);
  record->usage_end_wall_ms = at_least_0(page.end_wall_ms);
  record->usage_loop = TextOf(page.loop);
  record->usage = {.watched_ns = at_least_0(page.watched_ns),
                   .dispatches = page.dispatches,
                   .untimed_dispatches = page.untimed_dispatches,
                   .hangs = page.hangs,
                   .hang_ns = at_least_0(page.hang_ns)};
  std::copy(std::begin(page.durations), std::end(page.durations), record->usage.durations.counts.begin());
  record->usage.background = {.watched_ns = page.background_watched_ms * base::kNsPerMs,
                              .hangs = page.background_hangs,
                              .hang_ns = page.background_hang_ms * base::kNsPerMs};
  std::copy_n(page.suppressed, record->suppressed.size(), record->suppressed.begin());
}

bool HasOnlyZeros(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 0; });
}

// As hexadecimal digits, so that it holds no NUL.
std::string FingerprintOf(const base::Uuid& session_id, const std::string& text) {
  if (text.empty()) return {};
  return base::ToHex(base::HashBytes(text, base::HashBytes(session_id.as_bytes())));
}

bool IsOf(const std::string& fingerprint, const base::Uuid& session_id, const std::string& text) {
  return !fingerprint.empty() && fingerprint == FingerprintOf(session_id, text);
}

}  // namespace

RunHeader ToHeader(const RunFacts& facts, bool keeps_lock) {
  RunHeader header{};
  header.magic = kRunMagic;
  header.version = facts.is_masked ? kMaskedRunVersion : kRunVersion;
  header.keeps_lock = keeps_lock ? 1 : 0;
  header.session_id = facts.session_id;
  header.boot_id = facts.boot_id;
  header.machine = facts.machine;
  header.pid_namespace = facts.pid_namespace;
  header.start_ticks = facts.start_ticks;
  header.start_wall_ms = facts.start_wall_ms;
  header.oom_group_inode = facts.oom_group_inode;
  header.pid = facts.pid;
  header.build_id_size = static_cast<uint32_t>(std::min(facts.build_id.size(), sizeof header.build_id));
  PutText(facts.build_id, header.build_id);
  PutText(facts.app, header.app);
  PutText(facts.app_version, header.app_version);
  PutText(facts.user, header.user);
  PutText(facts.program, header.program);
  // A path cut short would be another one.
  if (facts.oom_group_path.size() < sizeof header.oom_group_path)
    PutText(facts.oom_group_path, header.oom_group_path);
  header.crc32c = HeaderCrc32c(header);
  return header;
}

bool IsWhole(const RunHeader& header) {
  return header.magic == kRunMagic && header.version >= kRunVersion && header.version <= kMaskedRunVersion &&
         header.crc32c == HeaderCrc32c(header);
}

uint32_t ProgressCrc32c(const RunProgress& progress) {
  return base::Crc32c(&progress, offsetof(RunProgress, crc32c));
}

uint32_t UsageCrc32c(const RunUsage& usage) { return base::Crc32c(&usage, offsetof(RunUsage, crc32c)); }

bool RunRecord::has_hung_since_crash() const {
  if (crash_signal == 0 || crash_moment != CrashMoment::kOutsideHang || !was_in_hang()) return false;
  // Trusts no number: in floating point none overflows.
  const auto before_ms = static_cast<double>(crash_wall_ms) - static_cast<double>(hang_begin_wall_ms);
  const auto since_ms = static_cast<double>(seen_wall_ms) - static_cast<double>(crash_wall_ms);
  return since_ms >= before_ms;
}

RunFile ParseRunRecord(std::string_view bytes, RunRecord* record) {
  if (HasOnlyZeros(bytes)) return RunFile::kDamaged;
  uint32_t begin[2] = {};  // magic and version
  std::memcpy(begin, bytes.data(), std::min(bytes.size(), sizeof begin));
  if (begin[0] != kRunMagic || begin[1] > kMaskedRunVersion) return RunFile::kForeign;
  if (begin[1] < kRunVersion || bytes.size() != RunPage::kBytes) return RunFile::kDamaged;
  const auto header = Read<RunHeader>(bytes, 0);
  if (header.crc32c != HeaderCrc32c(header)) return RunFile::kDamaged;

  *record = {};
  RunFacts& run = record->run;
  run.is_masked = header.version == kMaskedRunVersion;
  run.session_id = header.session_id;
  run.boot_id = header.boot_id;
  run.machine = header.machine;
  run.pid_namespace = header.pid_namespace;
  run.pid = header.pid;
  run.start_ticks = header.start_ticks;
  run.start_wall_ms = header.start_wall_ms;
  run.app = TextOf(header.app);
  run.app_version = TextOf(header.app_version);
  run.user = TextOf(header.user);
  run.program = TextOf(header.program);
  run.build_id.assign(header.build_id, std::min<size_t>(header.build_id_size, sizeof header.build_id));
  run.oom_group_path = TextOf(header.oom_group_path);
  run.oom_group_inode = header.oom_group_inode;
  record->keeps_lock = header.keeps_lock != 0;
  const auto marks = Read<RunMarks>(bytes, RunPage::kMarksAt);
  record->has_ended = marks.has_ended != 0;
  record->was_asked_to_stop = marks.was_asked_to_stop != 0;
  if (marks.stop_cause == static_cast<uint32_t>(StopCause::kSeccomp))
    record->stop_cause = StopCause::kSeccomp;
  record->crash_signal = static_cast<int32_t>(std::min(marks.crash_signal, kMaxSignal));
  if (marks.crash_moment <= static_cast<uint32_t>(CrashMoment::kInHang))
    record->crash_moment = static_cast<CrashMoment>(marks.crash_moment);
  record->crash_wall_ms = marks.crash_wall_ms;
  run.run_pid = Read<RunCalls>(bytes, RunPage::kCallsAt).run_pid;
  record->seen_wall_ms = header.start_wall_ms;
  if (auto usage = LastWhole<RunUsage>(bytes, RunPage::kUsageAt, &UsageCrc32c)) ReadUsage(*usage, record);
  const auto progress = LastWhole<RunProgress>(bytes, RunPage::kProgressAt, &ProgressCrc32c);
  if (!progress) return RunFile::kRecord;
  record->seen_wall_ms = progress->seen_wall_ms;
  record->oom_kills_in_group = progress->oom_kills_in_group;
  record->oom_kills_on_machine = progress->oom_kills_on_machine;
  record->hang_id = progress->hang_id;
  record->hang_begin_wall_ms = progress->hang_begin_wall_ms;
  record->hang_ns = std::max<int64_t>(progress->hang_ns, 0);
  record->hang_loop = TextOf(progress->hang_loop);
  record->scene = TextOf(progress->scene);
  return RunFile::kRecord;
}

RunFacts MaskRun(const RunFacts& facts) {
  RunFacts masked = facts;
  masked.is_masked = true;
  for (std::string* text :
       {&masked.app, &masked.app_version, &masked.program, &masked.build_id, &masked.oom_group_path}) {
    *text = FingerprintOf(facts.session_id, *text);
  }
  masked.user.clear();
  return masked;
}

void UnmaskRun(const RunFacts& now, RunFacts* run) {
  auto unmask = [&](const std::string& own, size_t kept_bytes, std::string* text) {
    *text = IsOf(*text, run->session_id, own) ? own.substr(0, kept_bytes) : std::string();
  };
  unmask(now.app, sizeof RunHeader::app, &run->app);
  unmask(now.app_version, sizeof RunHeader::app_version, &run->app_version);
  unmask(now.program, sizeof RunHeader::program, &run->program);
  unmask(now.oom_group_path, sizeof RunHeader::oom_group_path, &run->oom_group_path);
  if (IsOf(run->build_id, run->session_id, now.build_id))
    run->build_id = now.build_id.substr(0, sizeof RunHeader::build_id);
}

}  // namespace lagwatch::sdk
