// SPDX-License-Identifier: Apache-2.0
// Answers of a ProbeService to the questions of consoles.
#include <algorithm>
#include <ctime>

#include "base/clock.h"
#include "sdk/probe/loop_sites.h"
#include "sdk/probe/probe_service.h"
#include "trace/hooks/frame_pointer_walk.h"

namespace lagwatch::sdk {
namespace {

constexpr size_t kMostPrograms = 32;

}  // namespace

std::string ProbeService::Answer(Console* console, ProbeMessageKind kind, std::string_view body) {
  switch (kind) {
    case ProbeMessageKind::kArm:
      return Arm(console, body);
    case ProbeMessageKind::kDisarm:
      return Disarm(console, body);
    case ProbeMessageKind::kList:
      return List();
    case ProbeMessageKind::kFollow:
      return Follow(console, body);
    case ProbeMessageKind::kRead:
      return Read(console, body);
    case ProbeMessageKind::kEvent:
      return Event(body);
    case ProbeMessageKind::kLevel:
      return Level(body);
    case ProbeMessageKind::kExamine:
      return Examine(body);
    default:
      return EncodeRefusal("this is no question");
  }
}

ProbeTicks ProbeService::MeasureTicks() {
  constexpr int64_t kLeastNs = 50 * base::kNsPerMs;  // for 1 in 10^4
  const timespec pause{.tv_sec = 0, .tv_nsec = base::kNsPerMs};
  while (base::SystemClock().MonoNs() - first_ticks_.mono_ns < kLeastNs) nanosleep(&pause, nullptr);
  const base::TickPair now = base::ReadTickPair(base::SystemClock());
  const auto ticks = static_cast<double>(now.ticks - first_ticks_.ticks);
  return {.ns_per_tick = static_cast<double>(now.mono_ns - first_ticks_.mono_ns) / ticks,
          .base_ticks = now.ticks,
          .base_mono_ns = now.mono_ns};
}

std::string ProbeService::Arm(Console* console, std::string_view body) {
  auto question = DecodeProbeBody<ArmQuestion>(body);
  if (!question) return EncodeRefusal("the question is damaged");
  if (programs_.size() >= kMostPrograms)
    return EncodeRefusal("it has as many probe scripts armed as there may be");
  const std::string title = question->title;
  auto created = ArmedProgram::Create(std::move(*question), next_id_, MeasureTicks());
  if (!created.ok()) return EncodeRefusal(created.status().message());
  std::unique_ptr<ArmedProgram> armed = std::move(created).value();
  if (armed->NeedsStacks() && !PrepareStackCaptures()) return EncodeRefusal("its stacks cannot be walked");
  if (armed->NeedsLoops() && !LoopSites::Instance().AreLoopsWatched())
    return EncodeRefusal(
        "its loops are not watched: `lagwatch attach PID` does that, or `lagwatch run` from its start");
  WriteAuditLine("user " + std::to_string(console->user) + ", process " + std::to_string(console->pid) +
                 ", arms a probe in this process: " + title);
  const trace::ProbeStats before = trace::FunctionProbeStats();
  ArmAnswer answer{.id = next_id_++, .ticks = armed->ticks(), .sites = armed->Arm(prober_, options_.java)};
  const bool is_useless = !answer.sites.empty() && armed->armed_sites() == 0;
  if (is_useless) {
    Retire(std::move(armed));
    answer.id = 0;
    return EncodeProbeMessage(ProbeMessageKind::kArmed, std::move(answer));
  }
  console->programs.insert(answer.id);
  programs_.push_back(
      {.armed = std::move(armed), .since_ns = base::SystemClock().MonoNs(), .before = before});
  is_followed_.store(true);  // the program may end as soon as it goes on
  has_armed_.store(true);
  armed_.Wake();
  return EncodeProbeMessage(ProbeMessageKind::kArmed, std::move(answer));
}

std::string ProbeService::Disarm(const Console* asker, std::string_view body) {
  const auto question = DecodeProbeBody<ProgramQuestion>(body);
  if (!question || Find(question->id) == nullptr) return EncodeRefusal("no such script is armed");
  for (const auto& console : consoles_) {
    if (console.get() != asker && console->programs.contains(question->id))
      AddLast(console.get(), question->id);
  }
  WriteAuditLine("disarms probe script " + std::to_string(question->id));
  Remove(question->id);
  const bool is_original =
      prober_->BytesAreOriginal() && (options_.java == nullptr || options_.java->CodeIsOriginal());
  return EncodeProbeMessage(ProbeMessageKind::kDone, NumberAnswer{is_original ? 1U : 0U});
}

uint32_t ProbeService::ConsolesOf(uint32_t id) const {
  return static_cast<uint32_t>(
      std::ranges::count_if(consoles_, [id](const auto& each) { return each->programs.contains(id); }));
}

void ProbeService::CollectCounts() {
  if (options_.java != nullptr) options_.java->CollectCounts();
}

std::string ProbeService::List() {
  CollectCounts();
  ListAnswer answer{.programs = {}, .caution = options_.java == nullptr ? "" : options_.java->Caution()};
  for (Program& program : programs_) {
    const probe::ProbeStats stats = program.armed->state().Stats();
    answer.programs.push_back({.id = program.armed->id(),
                               .title = program.armed->question().title,
                               .sites = static_cast<uint32_t>(program.armed->armed_sites()),
                               .hits = stats.hits,
                               .age_s = static_cast<uint64_t>(
                                   (base::SystemClock().MonoNs() - program.since_ns) / base::kNsPerSecond),
                               .consoles = ConsolesOf(program.armed->id()),
                               .stays = program.armed->question().stays,
                               .is_off = stats.is_off});
  }
  return EncodeProbeMessage(ProbeMessageKind::kListed, std::move(answer));
}

std::string ProbeService::Follow(Console* console, std::string_view body) {
  const auto question = DecodeProbeBody<ProgramQuestion>(body);
  Program* program = question ? Find(question->id) : nullptr;
  if (program == nullptr) return EncodeRefusal("no such script is armed");
  console->programs.insert(question->id);
  const ArmQuestion& armed = program->armed->question();
  return EncodeProbeMessage(ProbeMessageKind::kFollowed, FollowAnswer{.title = armed.title,
                                                                      .stays = armed.stays,
                                                                      .program = armed.program,
                                                                      .ticks = program->armed->ticks(),
                                                                      .sites = armed.sites});
}

size_t ProbeService::PendingBytes() const {
  size_t bytes = 0;
  for (const auto& console : consoles_) bytes += console->to_send.size();
  return bytes;
}

ReadAnswer ProbeService::DataOf(const Program& program, bool wants_snapshot, Console* console) {
  constexpr size_t kMostRecords = 4096;
  probe::ProbeState& state = program.armed->state();
  const trace::ProbeStats mechanism = trace::FunctionProbeStats();
  const probe::ProbeStats stats = state.Stats();
  ReadAnswer answer{.id = program.armed->id(),
                    .is_last = false,
                    .hits = stats.hits,
                    .skipped = stats.skipped,
                    .lost = stats.lost,
                    .faulted = stats.faulted,
                    .dropped_records = stats.dropped_records,
                    .dropped_keys = stats.dropped_keys + program.armed->locks().left_out(),
                    .dropped_stacks = stats.dropped_stacks,
                    .missed = mechanism.hits_missed - program.before.hits_missed,
                    .returns_missed = mechanism.returns_unnoticed - program.before.returns_unnoticed,
                    .is_off = stats.is_off,
                    .requests = 0,
                    .records = {},
                    .snapshot = {},
                    .frames = {}};
  for (const uint32_t request : state.TakeRequests()) answer.requests |= uint64_t{1} << request;
  state.TakeRecords(kMostRecords, &answer.records);
  if (wants_snapshot && PendingBytes() < options_.most_pending_bytes) answer.snapshot = state.Snapshot();
  // After the stacks: each of their methods is known by then.
  const bool has_stacks = !answer.snapshot.empty() || !answer.records.empty();
  if (options_.java != nullptr && has_stacks)
    answer.frames = options_.java->NamedFrames(&console->next_frame);
  return answer;
}

std::string ProbeService::Read(Console* console, std::string_view body) {
  const auto question = DecodeProbeBody<ReadQuestion>(body);
  Program* program = question ? Find(question->id) : nullptr;
  if (program == nullptr) return EncodeRefusal("no such script is armed");
  CollectCounts();
  return EncodeProbeMessage(ProbeMessageKind::kData, DataOf(*program, question->wants_snapshot, console));
}

std::string ProbeService::Event(std::string_view body) {
  const auto question = DecodeProbeBody<EventQuestion>(body);
  if (!question) return EncodeRefusal("the question is damaged");
  uint64_t count = 0;
  for (Program& program : programs_) count += program.armed->RunEvent(question->name, question->number);
  return EncodeProbeMessage(ProbeMessageKind::kDone, NumberAnswer{count});
}

std::string ProbeService::Level(std::string_view body) {
  const auto question = DecodeProbeBody<LevelQuestion>(body);
  Program* program = question ? Find(question->id) : nullptr;
  if (program == nullptr) return EncodeRefusal("no such script is armed");
  program->armed->state().SetLevel(question->level);
  return EncodeProbeMessage(ProbeMessageKind::kDone, NumberAnswer{question->level});
}

std::string ProbeService::ExamineJava(const std::string& pattern) {
  if (options_.java == nullptr)
    return EncodeRefusal("the JVM's agent does not serve it yet: end its scripts, and ask again");
  auto methods = options_.java->Examine(pattern);
  if (!methods.ok()) return EncodeRefusal(methods.status().message());
  return EncodeProbeMessage(ProbeMessageKind::kExamined,
                            ExamineAnswer{.sites = {}, .methods = std::move(methods).value()});
}

std::string ProbeService::Examine(std::string_view body) {
  const auto question = DecodeProbeBody<ExamineQuestion>(body);
  if (!question) return EncodeRefusal("the question is damaged");
  if (question->sites.size() == 1 && question->sites[0].role == SiteRole::kJavaMethod)
    return ExamineJava(question->sites[0].name);
  LoadedFiles files;
  ExamineAnswer answer;
  answer.sites.resize(question->sites.size());
  for (const bool are_notes : {false, true}) {
    std::vector<uint64_t> addresses;
    std::vector<size_t> places;
    for (size_t i = 0; i < answer.sites.size(); ++i) {
      if ((question->sites[i].role == SiteRole::kNote) != are_notes) continue;
      const uint64_t address = files.AddressOf(question->sites[i], &answer.sites[i].text);
      if (address == 0) continue;
      addresses.push_back(address);
      places.push_back(i);
    }
    const auto results =
        are_notes ? prober_->ExamineNotes(addresses) : prober_->Examine(addresses, question->wants_return);
    for (size_t i = 0; i < results.size(); ++i) {
      SiteResult& result = answer.sites[places[i]];
      result.is_armed = results[i].reason == trace::ProbeReason::kNone;
      result.text =
          result.is_armed ? trace::ProbeTierText(results[i].tier) : trace::ProbeReasonText(results[i].reason);
    }
  }
  return EncodeProbeMessage(ProbeMessageKind::kExamined, std::move(answer));
}

}  // namespace lagwatch::sdk
