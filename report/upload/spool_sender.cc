// SPDX-License-Identifier: Apache-2.0
#include "report/upload/spool_sender.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <iterator>
#include <map>
#include <utility>

#include "report/format/losses.h"
#include "report/format/packed_batch.h"
#include "report/format/report.h"
#include "report/spool/segment_format.h"
#include "report/upload/counted_sweep.h"
#include "report/upload/name_frames.h"
#include "report/upload/transport/gzip.h"

namespace lagwatch::report {
namespace {

using AnswerKind = UploadAnswer::Kind;

// Of one request.
constexpr size_t kMaxRecords = 200;
constexpr size_t kMaxBytes = 1 << 20;  // before compression
// Of one round: what is decided about together.
constexpr size_t kMaxRoundBytes = 4 << 20;
constexpr size_t kMaxRoundSegments = 512;
// The types of records that a collector of any version counts in its answer.
constexpr RecordType kLastKnownToAll = RecordType::kUsage;

// A sealed record counts too: its collector has given out a key to seal with. So one that does not know them
// cannot make reports vanish.
bool IsKnownToAll(RecordType type) { return type <= kLastKnownToAll || type == RecordType::kSealed; }

bool HasOnlyTraces(const SegmentFacts& segment) {
  auto is_trace = [](const RecordFacts& facts) { return facts.type == RecordType::kTrace; };
  return !segment.records.empty() && std::ranges::all_of(segment.records, is_trace);
}

struct Leaving {
  LedgerFile* file;
  ~Leaving() { file->Leave(); }
};

bool FitsOneRequest(size_t record_count, size_t size_bytes) {
  return record_count <= kMaxRecords && size_bytes <= kMaxBytes;
}

}  // namespace

SpoolSender::SpoolSender(base::Env* env, const std::string& spool_directory, Transport* transport,
                         FrameNamer* namer, const base::Clock& clock)
    : env_(env),
      spool_directory_(spool_directory),
      reader_(env, spool_directory),
      ledger_file_(env, spool_directory),
      transport_(transport),
      namer_(namer),
      clock_(clock) {}

std::optional<UploadAnswer> SpoolSender::UploadOnce() {
  std::optional<UploadAnswer> answer;
  try {
    answer = TryUploadOnce();
  } catch (const std::exception& error) {
    answer = {.message = std::string("the upload failed: ") + error.what()};
  }
  if (answer && answer->kind != AnswerKind::kDelivered) {
    NoteProblem(answer->message);
    std::lock_guard lock(stats_mutex_);
    ++stats_.failures;
  }
  return answer;
}

std::optional<UploadAnswer> SpoolSender::TryUploadOnce() {
  const UploadPolicies policies = policies_();
  SweepIfTimeTo(policies);
  if (policies.is_on_hold) return std::nullopt;
  if (ListSegments().empty() && !MayHaveLossesToSend(policies)) return std::nullopt;
  base::Status entered = ledger_file_.Enter(clock_.WallMs());
  if (entered.code() == base::StatusCode::kUnavailable) return std::nullopt;
  if (!entered.ok()) return UploadAnswer{.message = entered.message()};
  const Leaving leaving{&ledger_file_};
  // Segments that another process sent in the meantime are gone.
  std::optional<UploadAnswer> answer = RunRound(policies, ListSegments());
  idle_ledger_.reset();
  if (!answer) idle_ledger_ = {ledger_file_.Version(), ledger_file_.ledger()->LossesWaitSince()};
  return answer;
}

bool SpoolSender::MayHaveLossesToSend(const UploadPolicies& policies) const {
  const std::optional<LedgerVersion> version = ledger_file_.Version();
  if (!version) return false;
  if (!idle_ledger_ || idle_ledger_->version != version) return true;
  return policies.AreLossesDue(idle_ledger_->losses_wait_since_wall_ms, clock_.WallMs());
}

void SpoolSender::SweepIfTimeTo() {
  try {
    SweepIfTimeTo(policies_());
  } catch (const std::exception& error) {
    NoteProblem(std::string("the sweep failed: ") + error.what());
  }
}

void SpoolSender::SweepIfTimeTo(const UploadPolicies& policies) {
  constexpr int64_t kPeriodNs = 600 * base::kNsPerSecond;
  const int64_t now_mono_ns = clock_.MonoNs();
  if (policies.retention.longest_ms == INT64_MAX ||
      now_mono_ns - last_sweep_mono_ns_.value_or(INT64_MIN / 2) < kPeriodNs)
    return;
  std::vector<std::string> names;
  if (env_->List(spool_directory_, &names) != 0 || names.empty()) return;
  const base::Status entered = ledger_file_.Enter(clock_.WallMs());
  if (entered.code() == base::StatusCode::kUnavailable) return;
  last_sweep_mono_ns_ = now_mono_ns;
  if (!entered.ok()) return NoteProblem(entered.message());
  const Leaving leaving{&ledger_file_};
  Sweep(policies);
}

void SpoolSender::Sweep(const UploadPolicies& policies) {
  if (base::Status noted = NotePresent(ListSegments()); !noted.ok()) return NoteProblem(noted.message());
  UploadGate gate(policies, ledger_file_.ledger(), clock_.WallMs());
  bool is_any_removed = false;
  const SweepHooks hooks{.on_counted = [this](const std::string& name) { present_.insert(StemOf(name)); },
                         .save =
                             [&] {
                               const bool is_saved = SaveOrNote();
                               if (is_saved) CountLosses(gate.TakeCounted());
                               return is_saved;
                             },
                         .on_removed =
                             [&](const std::string& name) {
                               present_.erase(StemOf(name));
                               is_any_removed = true;
                             },
                         .goes_on = [this] { return !is_hurried_; }};
  const base::Status swept =
      SweepCounted(env_, spool_directory_, policies.retention, clock_.WallMs(), &gate, hooks);
  if (!swept.ok()) NoteProblem(swept.message());
  // Of the last ones, too, the decisions are forgotten.
  if (is_any_removed) SaveOrNote();
}

std::optional<UploadAnswer> SpoolSender::RunRound(const UploadPolicies& policies,
                                                  const std::vector<std::string>& files) {
  if (base::Status noted = NotePresent(files); !noted.ok()) return UploadAnswer{.message = noted.message()};
  Load load = NextLoad(files);
  PutTracesLast(&load);
  UploadGate gate(policies, ledger_file_.ledger(), clock_.WallMs());
  gate.Decide(load.segments);
  std::vector<Pending> records = ToSend(&gate, &load);
  if (load.segments.empty() && records.empty()) return std::nullopt;
  // Nothing is sent or removed before the disk has what that was decided by.
  if (base::Status saved = Save(); !saved.ok()) return UploadAnswer{.message = saved.message()};
  CountLosses(gate.TakeCounted());
  Rejected rejected;
  UploadAnswer answer = Send(records, &rejected);
  if (answer.kind != AnswerKind::kDelivered) return answer;
  const bool had_losses = !records.empty() && records.back().segment == kNoSegment;
  if (base::Status settled = Settle(load, rejected, had_losses, &gate); !settled.ok())
    return UploadAnswer{.message = settled.message()};
  Remove(load);
  CountLosses(gate.TakeCounted());
  std::lock_guard lock(stats_mutex_);
  for (const Pending& pending : records) stats_.reports_delivered += pending.is_report;
  for (const Pending* pending : rejected) stats_.reports_delivered -= pending->is_report;
  stats_.records_rejected += rejected.size();
  return answer;
}

size_t SpoolSender::CountSegmentsLeft() const { return ListSegments().size(); }

UploadStats SpoolSender::stats() const {
  std::lock_guard lock(stats_mutex_);
  return stats_;
}

uint64_t SpoolSender::reports_delivered() const {
  std::lock_guard lock(stats_mutex_);
  return stats_.reports_delivered;
}

LossCounts SpoolSender::losses() const {
  std::lock_guard lock(stats_mutex_);
  return stats_.losses;
}

// No directory, no segments: the first writer makes it.
std::vector<std::string> SpoolSender::ListSegments() const {
  auto listed = reader_.List(SpoolReader::Include::kFinished);
  if (!listed.ok()) return {};
  std::erase_if(*listed, [&](const std::string& name) { return finished_.contains(name); });
  return std::move(listed).value();
}

// A decision is kept as long as its segment may be there: also where it cannot be looked at now, or could
// not be removed.
base::Status SpoolSender::NotePresent(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  if (int error = env_->List(spool_directory_, &names))
    return base::IoError("cannot list the spool directory " + spool_directory_, error);
  present_.clear();
  for (const std::string& file : files) present_.insert(StemOf(file));
  for (const std::string& name : names) {
    if (name.ends_with(kOpenSuffix) || name.ends_with(kSealedSuffix)) present_.insert(StemOf(name));
  }
  return {};
}

// One that cannot be read holds up no others.
SpoolSender::Load SpoolSender::NextLoad(const std::vector<std::string>& files) {
  Load load;
  size_t size_bytes = 0;
  for (const std::string& file : files) {
    auto segment = reader_.Read(file);
    if (!segment.ok()) {
      if (segment.status().code() != base::StatusCode::kNotFound) NoteProblem(segment.status().message());
      continue;
    }
    for (const OwnedRecord& record : segment->records) size_bytes += record.payload.size();
    if (!load.segments.empty() && size_bytes > kMaxRoundBytes) break;
    load.files.push_back(file);
    load.segments.emplace_back(StemOf(file), std::move(*segment));
    if (load.segments.size() == kMaxRoundSegments) break;
  }
  return load;
}

// Reports are not to wait for what is large and matters less.
void SpoolSender::PutTracesLast(Load* load) {
  Load traces;
  Load others;
  for (size_t i = 0; i < load->files.size(); ++i) {
    Load& part = HasOnlyTraces(load->segments[i].facts) ? traces : others;
    part.files.push_back(std::move(load->files[i]));
    part.segments.push_back(std::move(load->segments[i]));
  }
  std::ranges::move(traces.files, std::back_inserter(others.files));
  std::ranges::move(traces.segments, std::back_inserter(others.segments));
  *load = std::move(others);
}

// Of the first segments what one request takes, of one at least; the others leave the load. Losses last.
std::vector<SpoolSender::Pending> SpoolSender::ToSend(UploadGate* gate, Load* load) {
  std::vector<Pending> records;
  size_t size_bytes = 0;
  size_t taken = 0;
  for (; taken < load->segments.size(); ++taken) {
    std::vector<Pending> more = ToSend(load->segments[taken], taken, *gate);
    for (const Pending& pending : more) size_bytes += pending.record.payload.size();
    if (!records.empty() && !FitsOneRequest(records.size() + more.size(), size_bytes)) break;
    std::ranges::move(more, std::back_inserter(records));
  }
  load->files.resize(taken);
  load->segments.erase(load->segments.begin() + static_cast<std::ptrdiff_t>(taken), load->segments.end());
  for (const Losses& losses : gate->LossesToSend(!records.empty()))
    records.push_back({{RecordType::kLosses, EncodeLosses(losses)}, kNoSegment, 0});
  return records;
}

std::vector<SpoolSender::Pending> SpoolSender::ToSend(const WaitingSegment& segment, size_t index,
                                                      const UploadGate& gate) {
  std::vector<Pending> records;
  for (size_t i = 0; i < segment.records.size(); ++i) {
    const RecordFacts& facts = segment.facts.records[i];
    if (!gate.IsSent(segment.name, facts)) continue;
    Pending& pending =
        records.emplace_back(Pending{segment.records[i], index, i, facts.type == RecordType::kReport});
    gate.Annotate(segment.name, facts, &pending.record);
    if (segment.reports[i] != nullptr) NameFrames(*segment.reports[i], namer_, &pending.record.payload);
  }
  return records;
}

// In as few requests as may be.
UploadAnswer SpoolSender::Send(std::span<const Pending> records, Rejected* rejected) {
  UploadAnswer answer{.kind = AnswerKind::kDelivered};
  while (!records.empty() && answer.kind == AnswerKind::kDelivered) {
    size_t count = 1;
    size_t size_bytes = records.front().record.payload.size();
    for (; count < records.size(); ++count) {
      size_bytes += records[count].record.payload.size();
      if (!FitsOneRequest(count + 1, size_bytes)) break;
    }
    answer = SendOrHalve(records.first(count), rejected);
    records = records.subspan(count);
  }
  return answer;
}

// Down to the guilty records. One that only the way does not let through is kept.
UploadAnswer SpoolSender::SendOrHalve(std::span<const Pending> records, Rejected* rejected) {
  UploadAnswer answer = SendWhole(records, rejected);
  const bool is_too_large = answer.kind == AnswerKind::kTooLarge;
  const bool is_refused = answer.kind == AnswerKind::kRejected || is_too_large;
  if (is_refused && records.size() > 1) return SendHalves(records, rejected);
  if (is_too_large) answer.kind = AnswerKind::kTryLater;
  if (answer.kind != AnswerKind::kRejected) return answer;
  NoteProblem(answer.message);
  rejected->push_back(&records.front());
  return {.kind = AnswerKind::kDelivered};
}

UploadAnswer SpoolSender::SendHalves(std::span<const Pending> records, Rejected* rejected) {
  const size_t half = records.size() / 2;
  UploadAnswer answer = SendOrHalve(records.first(half), rejected);
  return answer.kind == AnswerKind::kDelivered ? SendOrHalve(records.subspan(half), rejected) : answer;
}

UploadAnswer SpoolSender::SendWhole(std::span<const Pending> records, Rejected* rejected) {
  UploadAnswer answer = Post(records);
  size_t known_records = 0;
  for (const Pending& pending : records) known_records += IsKnownToAll(pending.record.type);
  if (!FitsBatch(answer, records.size(), known_records)) {
    return {.http_status = answer.http_status,
            .message = "the collector's answer does not fit what was sent"};
  }
  for (const RecordRefusal& refusal : answer.refusals) {
    NoteProblem(refusal.why);
    rejected->push_back(&records[refusal.record]);
  }
  if (answer.config_version) {
    std::lock_guard lock(stats_mutex_);
    stats_.config_version = answer.config_version;
  }
  return answer;
}

UploadAnswer SpoolSender::Post(std::span<const Pending> pending) {
  UploadAnswer answer = PostPacked(pending);
  const uint32_t known =
      static_cast<uint32_t>(std::clamp<uint64_t>(answer.packed_version, 1, kPackedVersion));
  const bool was_newer = std::exchange(packed_version_, known) > known;
  // An older collector, which took the place of the one before, refuses a newer batch whatever is in it.
  return was_newer && answer.kind == AnswerKind::kRejected ? PostPacked(pending) : answer;
}

UploadAnswer SpoolSender::PostPacked(std::span<const Pending> pending) {
  std::vector<Record> records;
  bool can_be_packed = true;
  for (const Pending& each : pending) {
    records.push_back(each.record);
    // No packed batch holds another one; what put it into the spool is not known here.
    can_be_packed = can_be_packed && each.record.type != RecordType::kPacked;
  }
  std::string batch;
  if (can_be_packed) {
    AppendToBatch({RecordType::kPacked, PackBatch(records, packed_version_)}, &batch);
  } else {
    for (const Record& record : records) AppendToBatch(record, &batch);
  }
  return transport_->Post(Gzip(batch));
}

// Saves the answer's changes before the segments are removed: refused records would not be counted otherwise.
base::Status SpoolSender::Settle(const Load& load, const Rejected& rejected, bool had_losses,
                                 UploadGate* gate) {
  if (rejected.empty() && !had_losses) return {};
  if (base::Status kept = SetAside(load, rejected); !kept.ok()) NoteProblem(kept.message());
  UploadLedger* ledger = ledger_file_.ledger();
  for (const Pending* pending : rejected) {
    if (pending->segment == kNoSegment) continue;
    const WaitingSegment& segment = load.segments[pending->segment];
    gate->CountRefused(segment.name, segment.facts.records[pending->index]);
  }
  for (const WaitingSegment& segment : load.segments) ledger->segments[segment.name].is_done = true;
  if (had_losses) ledger->frozen.clear();
  return Save();
}

// One file of refused records for each segment that held some, in the segments' own format.
base::Status SpoolSender::SetAside(const Load& load, const Rejected& rejected) {
  std::map<std::string, std::string> files;
  for (const Pending* pending : rejected) {
    if (pending->segment == kNoSegment) continue;
    std::string& file = files[load.segments[pending->segment].name];
    size_t at = file.size();
    file.append(sizeof(RecordHeader), '\0').append(pending->record.payload);
    FrameRecord(pending->record.type, pending->record.payload.size(), file.data() + at);
  }
  for (const auto& [name, content] : files) {
    const std::string path = (spool_directory_ + "/" + name).append(kRejectedSuffix);
    int fd;
    int error = env_->CreateLocked(path.c_str(), &fd);
    if (error == EEXIST) {  // of a process that was killed before the refusals were counted
      env_->Remove(path.c_str());
      error = env_->CreateLocked(path.c_str(), &fd);
    }
    if (error == 0) {
      error = env_->Append(fd, content.data(), content.size());
      env_->Close(fd);
    }
    if (error != 0) return base::IoError("cannot keep refused records in " + path, error);
  }
  return {};
}

base::Status SpoolSender::Save() {
  {
    std::lock_guard lock(stats_mutex_);
    stats_.ledgers_damaged = ledger_file_.damaged_count();
  }
  return ledger_file_.Save(present_);
}

bool SpoolSender::SaveOrNote() {
  const base::Status saved = Save();
  if (!saved.ok()) NoteProblem(saved.message());
  return saved.ok();
}

void SpoolSender::CountLosses(const LossCounts& counted) {
  std::lock_guard lock(stats_mutex_);
  for (size_t reason = 0; reason < counted.size(); ++reason) stats_.losses[reason] += counted[reason];
}

// Segments that could not be removed are marked as sent, so that no sweep counts them as lost.
void SpoolSender::Remove(const Load& load) {
  bool is_any_left = false;
  for (size_t i = 0; i < load.files.size(); ++i) {
    base::Status removed = reader_.Remove(load.files[i]);
    if (!removed.ok()) {
      finished_.insert(load.files[i]);
      NoteProblem(removed.message());
      ledger_file_.ledger()->segments[load.segments[i].name].is_done = true;
      is_any_left = true;
    }
    std::lock_guard lock(stats_mutex_);
    stats_.bytes_skipped += load.segments[i].facts.skipped_bytes;
  }
  if (is_any_left) SaveOrNote();
}

void SpoolSender::NoteProblem(const std::string& problem) {
  std::lock_guard lock(stats_mutex_);
  stats_.last_problem = problem;
}

}  // namespace lagwatch::report
