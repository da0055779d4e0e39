// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/file_symbolizer.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "collector/symbols/mapping/mapping_id.h"

namespace lagwatch::collector {

namespace {

constexpr size_t kBatchPlaces = 1000;
constexpr size_t kMaxProblems = 10'000;

}  // namespace

FileSymbolizer::FileSymbolizer(std::vector<SymbolSource*> sources, WorkerPool* pool,
                               FileSymbolizerLimits limits)
    : sources_(std::move(sources)), pool_(pool), limits_(limits), cache_(limits.cache_bytes) {}

void FileSymbolizer::OnNewFile(std::function<void(std::string_view build_id)> callback) {
  on_new_file_ = std::move(callback);
}

void FileSymbolizer::NoteNewFile(const BuildId& build_id) {
  {
    std::lock_guard lock(mutex_);
    ++new_files_;
    cache_.Drop(build_id);
    problems_.erase(build_id);
  }
  if (on_new_file_) on_new_file_(build_id.bytes());
}

Result<SymbolizedFrames> FileSymbolizer::Symbolize(std::string_view build_id,
                                                   std::span<const CodePlace> places) {
  auto id = BuildId::FromBytes(build_id);
  if (!id) return Status(StatusCode::kNotFound, "the module has no build id to find files by");
  std::map<CodePlace, std::vector<NamedFrame>> frames;
  std::vector<CodePlace> unknown = FindKnown(*id, places, &frames);
  if (!unknown.empty()) {
    auto answers = LAGWATCH_TRY(Ask(*id, unknown));
    for (size_t i = 0; i < unknown.size(); ++i) frames[unknown[i]] = std::move(answers[i]);
  }
  SymbolizedFrames in_order;
  for (const CodePlace& place : places) in_order.push_back(frames[place]);
  return in_order;
}

std::optional<Result<SymbolizedFrames>> FileSymbolizer::TryFind(std::string_view build_id,
                                                                std::span<const CodePlace> places) {
  const auto id = BuildId::FromBytes(build_id);
  if (!id) return Symbolize(build_id, places);
  std::map<CodePlace, std::vector<NamedFrame>> frames;
  if (!FindKnown(*id, places, &frames).empty()) {
    Status known = KnownProblem(*id);
    return known.ok() ? std::nullopt : std::optional(Result<SymbolizedFrames>(std::move(known)));
  }
  SymbolizedFrames in_order;
  for (const CodePlace& place : places) in_order.push_back(frames[place]);
  return in_order;
}

std::vector<CodePlace> FileSymbolizer::FindKnown(const BuildId& build_id, std::span<const CodePlace> places,
                                                 std::map<CodePlace, std::vector<NamedFrame>>* frames) {
  std::vector<CodePlace> unknown(places.begin(), places.end());
  std::sort(unknown.begin(), unknown.end());
  unknown.erase(std::unique(unknown.begin(), unknown.end()), unknown.end());
  std::lock_guard lock(mutex_);
  std::erase_if(unknown, [&](const CodePlace& place) {
    const std::vector<NamedFrame>* known = cache_.Find(build_id, place);
    if (known != nullptr) frames->emplace(place, *known);
    return known != nullptr;
  });
  return unknown;
}

Result<SymbolizedFrames> FileSymbolizer::Ask(const BuildId& build_id, const std::vector<CodePlace>& places) {
  if (Status known = KnownProblem(build_id); !known.ok()) return known;
  uint64_t new_files = 0;
  {
    std::lock_guard lock(mutex_);
    new_files = new_files_;
  }
  ModuleFiles files = FindFiles(build_id);
  if (files.files.empty()) {
    return Remember(build_id,
                    {StatusCode::kNotFound, "no symbol file has build id " + build_id.hex() +
                                                "; upload it with `lagwatch symbols upload`"},
                    limits_.missing_file_s);
  }
  SymbolizedFrames frames;
  while (frames.size() < places.size()) {
    auto rest = std::span(places).subspan(frames.size());
    auto answer = AskPool(build_id, files, rest.first(std::min(rest.size(), kBatchPlaces)));
    if (!answer.ok()) {
      Status status(answer.status().code(),
                    "symbols of build id " + build_id.hex() + ": " + answer.status().message());
      return status.code() == StatusCode::kInvalid ? Remember(build_id, status, limits_.bad_file_s) : status;
    }
    const bool wants_alt = !answer->missing_alt_build_id.empty() && !files.alt && frames.empty();
    auto alt_id = BuildId::FromBytes(answer->missing_alt_build_id);
    if (wants_alt && alt_id) {
      for (SymbolSource* source : sources_) {
        if (!files.alt) files.alt = source->OpenFile(*alt_id, SymbolKind::kDebug);
      }
      if (files.alt) continue;
    }
    if (on_note_ && !answer->note.empty()) on_note_(build_id, answer->note);
    std::move(answer->frames.begin(), answer->frames.end(), std::back_inserter(frames));
  }
  std::lock_guard lock(mutex_);
  if (new_files == new_files_) {
    for (size_t i = 0; i < places.size(); ++i) cache_.Add(build_id, places[i], frames[i]);
  }
  return frames;
}

Result<WorkerAnswer> FileSymbolizer::AskPool(const BuildId& build_id, const ModuleFiles& files,
                                             std::span<const CodePlace> places) {
  std::vector<int> fds;
  for (const base::OwnedFd& file : files.files) fds.push_back(file.get());
  if (files.alt) fds.push_back(files.alt.get());
  return pool_->Symbolize(build_id.bytes(), fds, static_cast<bool>(files.alt), places);
}

FileSymbolizer::ModuleFiles FileSymbolizer::FindFiles(const BuildId& build_id) {
  ModuleFiles found;
  if (IsMappingId(build_id.bytes())) {
    for (SymbolSource* source : sources_) {
      base::OwnedFd mapping = source->OpenFile(build_id, SymbolKind::kMapping);
      if (mapping && found.files.empty()) found.files.push_back(std::move(mapping));
    }
    return found;
  }
  base::OwnedFd executable;
  for (SymbolSource* source : sources_) {
    base::OwnedFd debug = source->OpenFile(build_id, SymbolKind::kDebug);
    if (!executable) executable = source->OpenFile(build_id, SymbolKind::kExecutable);
    if (!debug) continue;
    found.files.push_back(std::move(debug));
    break;
  }
  if (executable) found.files.push_back(std::move(executable));
  return found;
}

Status FileSymbolizer::KnownProblem(const BuildId& build_id) {
  std::lock_guard lock(mutex_);
  auto problem = problems_.find(build_id);
  if (problem == problems_.end()) return {};
  if (base::SystemClock().MonoNs() < problem->second.until_mono_ns) return problem->second.status;
  problems_.erase(problem);
  return {};
}

Status FileSymbolizer::Remember(const BuildId& build_id, Status status, int64_t time_s) {
  std::lock_guard lock(mutex_);
  if (problems_.size() >= kMaxProblems) problems_.clear();
  problems_.insert_or_assign(build_id,
                             Problem{status, base::SystemClock().MonoNs() + time_s * base::kNsPerSecond});
  return status;
}

}  // namespace lagwatch::collector
