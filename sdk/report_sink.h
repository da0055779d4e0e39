// SPDX-License-Identifier: Apache-2.0
// Joins watchdog and report: turns lag events into records of the spool.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "base/counter.h"
#include "base/mapped_memory.h"
#include "base/uuid.h"
#include "policies/scrubbing.h"
#include "report/format/report_encoder.h"
#include "report/spool/spool_writer.h"
#include "sdk/frame_slices.h"
#include "sdk/program_words.h"
#include "sdk/record_writer.h"
#include "sdk/run_writer.h"
#include "sdk/start_up.h"
#include "watchdog/hang_sink.h"

namespace lagwatch::sdk {

// What every report of this run says of the program.
struct ProgramFacts {
  std::string app;
  std::string app_version;
  std::string user;
  std::string os;
  std::string machine;
  uint32_t pid = 0;
  base::Uuid session_id;
  policies::Scrubber scrubber{};  // what all other texts go through

  // Fills in what is the same in all reports.
  void Fill(report::ReportHeader* header) const;
};

// The facts that the system knows: os, machine, pid, a new session id. Context: background.
ProgramFacts SystemFacts();

// Adds what the program says of itself, its scene and its values, as facts. Context: any.
void AddProgramWords(const ProgramWords& words, const policies::Scrubber& scrubber,
                     report::ReportEncoder* encoder);

// The cause of the stack that is told as the expensive one; 0 when there is none. Context: watchdog.
uint64_t CauseOf(const watchdog::LagEvent& event);

// Context: watchdog, but for the construction (background; allocates all that will be needed).
class ReportSink final : public watchdog::HangSink {
 public:
  // `spool`, `words`, `run` and `sealer`, of which the last two may be null, are borrowed. With `saves_files`
  // no file is made that tells of no lag.
  ReportSink(ProgramFacts facts, report::SpoolWriter* spool, RunWriter* run, const ProgramWords* words,
             bool saves_files = false, report::Sealer* sealer = nullptr);
  // False when there is no memory for its records: then it may not be used.
  bool ok() const { return bytes_ != nullptr; }
  // What is to be told of the program's start. `start_up` and `registry` are borrowed. To be called once,
  // before all else; nothing is told if it is not.
  void WatchStart(const StartPlan& plan, StartUp* start_up, watchdog::LoopRegistry* registry);

  bool OnLag(const watchdog::LagEvent& event) override;
  void OnLagEnd(const base::Uuid& event_id, int64_t duration_ns) override;
  void OnFrames(const watchdog::FrameEvent& event) override;
  bool OnUsage(const watchdog::UsageEvent& event) override;
  void OnUsageSoFar(const watchdog::UsageEvent& event) override;
  // Opens a segment ahead: see report::SpoolWriter::Prepare().
  void OnStart() override { spool_->Prepare(); }
  // Seals what the round has written. Where the watchdog shares the program's descriptor table, no file is
  // open between two rounds: a program that closes descriptors it does not know would make us write into its
  // own.
  void OnRoundDone() override;
  void OnStop() override;

  // Reports that did not fit their buffer. Context: any.
  uint64_t too_large_count() const { return too_large_.value(); }

 private:
  static constexpr size_t kBufferBytes = 1 << 20;
  // Past these, usage waits for a report or for the next start, as long as nobody sends the spool.
  static constexpr uint32_t kMaxUnsentUsages = 24;

  // What was encoded last; false when it was dropped.
  bool Append(report::RecordType type, const OutsideFacts& outside, const report::RecordNote& note = {});
  // What the spool is to know of a report, or of a lag's end.
  report::RecordNote NoteOf(const watchdog::LagEvent& event);
  report::RecordNote NoteOfEnd(const base::Uuid& event_id) const;
  // Reports that did not reach the disk, or had to make room there.
  uint64_t NotWritten() const { return not_written_.value() + spool_->counters().reports_removed; }
  void Write(const FrameSlice& slice);
  // What was put off until a round is done.
  void WriteDeferred();
  // Whether that was before the program said that it is ready.
  bool IsInStart(int64_t mono_ns) const;
  // Once: when the program is ready, and was not in time.
  void TellStart();
  bool EncodeStart(const base::Uuid& id, int64_t ready_ns);
  bool Encode(const watchdog::LagEvent& event);
  // What the watchdog counts, and what is counted here.
  policies::SuppressedCounts SuppressedOf(const watchdog::UsageEvent& event) const;
  void EncodeWaits(const watchdog::LagEvent& event, report::ReportEncoder* encoder);
  void EncodeHistory(const watchdog::LagEvent& event, report::ReportEncoder* encoder);
  void EncodeThreads(const watchdog::LagEvent& event, report::ReportEncoder* encoder);
  uint32_t EncodeStack(const stack::Stack& stack, const stack::ModuleMap& modules,
                       report::ReportEncoder* encoder);
  // The same, but for a stack that may be missing or empty: report::kNoStack.
  uint32_t EncodeOptionalStack(const stack::Stack* stack, const stack::ModuleMap& modules,
                               report::ReportEncoder* encoder);
  uint32_t EncodedModule(uint32_t module, const stack::ModuleMap& modules, report::ReportEncoder* encoder);
  void ForgetModulesFrom(uint32_t first_encoded_index);

  ProgramFacts facts_;
  report::SpoolWriter* spool_;
  RecordWriter writer_;
  RunWriter* run_;
  const ProgramWords* words_;
  bool saves_files_;
  std::unique_ptr<FrameSlices> frame_slices_;
  StartPlan start_;
  int64_t lags_in_start_ = 0;
  StartUp* start_up_ = nullptr;
  watchdog::LoopRegistry* registry_ = nullptr;
  uint32_t unsent_usages_ = 0;  // in files of their own, one after the other
  // The first reports of the last freezes: their ends are told at once, too.
  std::array<base::Uuid, 16> freezes_{};
  size_t freeze_count_ = 0;
  base::Counter too_large_;
  base::Counter not_written_;
  uint64_t told_too_large_ = 0;
  uint64_t told_not_written_ = 0;
  base::MappedBlock<char> bytes_;
  report::FixedBuffer buffer_;
  std::unique_ptr<uint32_t[]> encoded_modules_;  // by index in the ModuleMap: the report's index plus 1, or 0
};

}  // namespace lagwatch::sdk
