// SPDX-License-Identifier: Apache-2.0
#include "report/upload/spool_sender.h"

#include <exception>
#include <map>
#include <utility>

#include "report/format/report.h"
#include "report/spool/segment_format.h"
#include "report/upload/gzip.h"
#include "report/upload/name_frames.h"

namespace lagwatch::report {
namespace {

// Of one request.
constexpr size_t kMaxRecords = 100;
constexpr size_t kMaxBytes = 4 << 20;  // before compression

bool FitsOneRequest(size_t record_count, size_t size_bytes) {
  return record_count <= kMaxRecords && size_bytes <= kMaxBytes;
}

std::string RejectedName(std::string_view segment_name) {
  return std::string(segment_name.substr(0, segment_name.rfind('.'))).append(kRejectedSuffix);
}

}  // namespace

SpoolSender::SpoolSender(base::Env* env, const std::string& spool_directory, Transport* transport,
                         FrameNamer* namer)
    : env_(env),
      spool_directory_(spool_directory),
      reader_(env, spool_directory),
      transport_(transport),
      namer_(namer) {}

std::optional<UploadAnswer> SpoolSender::UploadOnce() {
  std::optional<UploadAnswer> answer;
  try {
    answer = TryUploadOnce();
  } catch (const std::exception& error) {
    answer = {.message = std::string("the upload failed: ") + error.what()};
  }
  if (answer && answer->kind != UploadAnswer::Kind::kDelivered) {
    NoteProblem(answer->message);
    std::lock_guard lock(stats_mutex_);
    ++stats_.failures;
  }
  return answer;
}

std::optional<UploadAnswer> SpoolSender::TryUploadOnce() {
  Load load = NextLoad();
  if (load.segments.empty()) return std::nullopt;
  Rejected rejected;
  UploadAnswer answer = Send(load.records, &rejected);
  if (answer.kind == UploadAnswer::Kind::kDelivered) Finish(load, rejected);
  return answer;
}

size_t SpoolSender::CountSegmentsLeft() const { return ListSegments().size(); }

UploadStats SpoolSender::stats() const {
  std::lock_guard lock(stats_mutex_);
  return stats_;
}

// No directory, no segments: the first writer makes it.
std::vector<std::string> SpoolSender::ListSegments() const {
  auto listed = reader_.List(SpoolReader::Include::kFinished);
  if (!listed.ok()) return {};
  std::erase_if(*listed, [&](const std::string& name) { return finished_.contains(name); });
  return std::move(listed).value();
}

SpoolSender::Load SpoolSender::NextLoad() {
  Load load;
  for (const std::string& name : ListSegments()) {
    if (!TryAdd(name, &load)) break;
  }
  return load;
}

// False when the segment has to wait for the next request. One that cannot be read holds up no others.
bool SpoolSender::TryAdd(const std::string& segment_name, Load* load) {
  auto segment = reader_.Read(segment_name);
  if (!segment.ok()) {
    if (segment.status().code() != base::StatusCode::kNotFound) NoteProblem(segment.status().message());
    return true;
  }
  size_t size_bytes = load->size_bytes;
  for (SpoolRecord& record : segment->records) {
    if (record.type == RecordType::kReport) record.payload = NameFrames(record.payload, namer_);
    size_bytes += record.payload.size();
  }
  bool is_first = load->segments.empty();
  if (!is_first && !FitsOneRequest(load->records.size() + segment->records.size(), size_bytes)) return false;
  for (SpoolRecord& record : segment->records) {
    load->records.push_back({std::move(record), load->segments.size()});
  }
  load->segments.push_back(segment_name);
  load->size_bytes = size_bytes;
  std::lock_guard lock(stats_mutex_);
  stats_.bytes_skipped += segment->skipped_bytes;
  return true;
}

// Halves what is too much for one request, and what the collector refuses, down to the guilty records.
UploadAnswer SpoolSender::Send(std::span<const PendingRecord> records, Rejected* rejected) {
  if (records.empty()) return {.kind = UploadAnswer::Kind::kDelivered};
  size_t size_bytes = 0;
  for (const PendingRecord& pending : records) size_bytes += pending.record.payload.size();
  if (records.size() == 1 || FitsOneRequest(records.size(), size_bytes)) {
    UploadAnswer answer = Post(records);
    if (answer.kind != UploadAnswer::Kind::kRejected) return answer;
    if (records.size() == 1) {
      NoteProblem(answer.message);
      rejected->push_back(&records.front());
      return {.kind = UploadAnswer::Kind::kDelivered};
    }
  }
  size_t half = records.size() / 2;
  UploadAnswer answer = Send(records.first(half), rejected);
  return answer.kind == UploadAnswer::Kind::kDelivered ? Send(records.subspan(half), rejected) : answer;
}

UploadAnswer SpoolSender::Post(std::span<const PendingRecord> records) {
  std::string batch;
  for (const PendingRecord& pending : records) {
    AppendToBatch({pending.record.type, pending.record.payload}, &batch);
  }
  return transport_->Post(Gzip(batch));
}

// One file of refused records for each segment that held some, in the segments' own format.
void SpoolSender::SetAside(const Load& load, const Rejected& rejected) {
  std::map<std::string, std::string> files;
  for (const PendingRecord* pending : rejected) {
    const SpoolRecord& record = pending->record;
    std::string& file = files[RejectedName(load.segments[pending->segment])];
    size_t at = file.size();
    file.append(sizeof(RecordHeader), '\0').append(record.payload);
    FrameRecord(record.type, record.payload.size(), file.data() + at);
  }
  for (const auto& [name, content] : files) {
    std::string path = spool_directory_ + "/" + name;
    int fd;
    int error = env_->CreateLocked(path.c_str(), &fd);
    if (error == 0) {
      error = env_->Append(fd, content.data(), content.size());
      env_->Close(fd);
    }
    if (error != 0) NoteProblem(base::IoError("cannot keep refused records in " + path, error).message());
  }
}

void SpoolSender::Finish(const Load& load, const Rejected& rejected) {
  SetAside(load, rejected);
  for (const std::string& name : load.segments) {
    base::Status removed = reader_.Remove(name);
    if (removed.ok()) continue;
    finished_.insert(name);
    NoteProblem(removed.message());
  }
  std::lock_guard lock(stats_mutex_);
  stats_.records_delivered += load.records.size() - rejected.size();
  stats_.records_rejected += rejected.size();
}

void SpoolSender::NoteProblem(const std::string& problem) {
  std::lock_guard lock(stats_mutex_);
  stats_.last_problem = problem;
}

}  // namespace lagwatch::report
