// SPDX-License-Identifier: Apache-2.0
// Joins watchdog and report: turns hang events into records of the spool.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/counter.h"
#include "base/process/mapped_memory.h"
#include "base/uuid.h"
#include "report/spool/spool_writer.h"
#include "sdk/report/frame_slices.h"
#include "sdk/report/hang_encoder.h"
#include "sdk/report/hang_text.h"
#include "sdk/report/program_facts.h"
#include "sdk/report/record_writer.h"
#include "sdk/report/start_report.h"
#include "sdk/run/run_writer.h"
#include "watchdog/events/hang_sink.h"

namespace lagwatch::sdk {

// Context: watchdog; the construction: background (allocates everything in advance).
class ReportSink final : public watchdog::HangSink {
 public:
  // `spool`, `program`, `run` and `sealer`, of which the last two may be null, are borrowed. With
  // `saves_files` only hangs create files.
  ReportSink(ProgramFacts facts, report::SpoolWriter* spool, RunWriter* run, const ProgramContext* program,
             bool saves_files = false, report::Sealer* sealer = nullptr);
  // False when there is no memory for its records: then it may not be used.
  bool ok() const { return bytes_ != nullptr; }
  // Sets up reports of the program's start. `start_up` and `registry` are borrowed. To be called once, before
  // all else; without it nothing is reported.
  void WatchStart(const StartPlan& plan, StartUp* start_up, watchdog::LoopRegistry* registry);

  // Also puts each hang into words, from now on. To be called before all events. Context: background.
  void MakeTexts() { text_ = std::make_unique<HangText>(&facts_); }

  bool OnHang(const watchdog::HangEvent& event) override;
  const char* LastText() const override { return last_text_; }
  void OnPeers(const watchdog::HangEvent& event) override;
  void OnBlame(const base::Uuid& event_id) override;
  void OnHangEnd(const base::Uuid& event_id, int64_t duration_ns) override;
  void OnUnproven(const base::Uuid& id, const char* loop_name, int64_t elapsed_ns) override;
  void OnUnprovenEnd(const base::Uuid& id) override;
  void OnFrames(const watchdog::FrameEvent& event) override;
  bool OnUsage(const watchdog::UsageEvent& event) override;
  void OnUsageSoFar(const watchdog::UsageEvent& event) override;
  // Opens a segment ahead: see report::SpoolWriter::Prepare().
  void OnStart() override { spool_->Prepare(); }
  // Seals what the round has written. Where the watchdog shares the program's descriptor table, no file
  // is open between two rounds: a program that closes descriptors it does not know would make us write
  // into its own.
  void OnRoundDone() override;
  void OnStop() override;

  // Reports that did not fit their buffer. Context: any.
  uint64_t too_large_count() const { return too_large_.value(); }

 private:
  static constexpr size_t kBufferBytes = 1 << 20;
  // Past these, usage waits for a report or for the next start, as long as the spool is not sent.
  static constexpr uint32_t kMaxUnsentUsages = 24;

  // Appends the record that was encoded last; returns false if it was dropped.
  bool Append(report::RecordType type, const OutsideFacts& outside, const report::RecordNote& note = {});
  // Appends the report of the event, which was encoded last, once more; readers of the segment take the last
  // one (report/spool/spool_reader.h).
  void WriteAgain(const watchdog::HangEvent& event, const OutsideFacts& outside);
  // The spool's note on a report, or on a hang's end.
  report::RecordNote NoteOf(const watchdog::HangEvent& event);
  report::RecordNote NoteOfEnd(const base::Uuid& event_id) const;
  // Reports that did not reach the disk, or had to make room there.
  uint64_t NotWritten() const { return not_written_.value() + spool_->counters().reports_removed; }
  void Write(const FrameSlice& slice);
  // Writes what was deferred until a round is done.
  void WriteDeferred();
  // Once: when the program is ready, and was not in time.
  void ReportStart();
  // The watchdog's counts, and those of this object.
  policies::SuppressedCounts SuppressedOf(const watchdog::UsageEvent& event) const;

  ProgramFacts facts_;
  report::SpoolWriter* spool_;
  RecordWriter writer_;
  RunWriter* run_;
  const ProgramContext* program_;
  bool saves_files_;
  std::unique_ptr<FrameSlices> frame_slices_;
  StartReport start_;
  watchdog::LoopRegistry* registry_ = nullptr;
  uint32_t unsent_usages_ = 0;  // in files of their own, one after the other
  // The first reports of the last freezes: their ends are written at once, too.
  std::array<base::Uuid, 16> freezes_{};
  size_t freeze_count_ = 0;
  base::Uuid blamed_;  // the last that was
  base::Counter too_large_;
  base::Counter not_written_;
  uint64_t reported_too_large_ = 0;
  uint64_t reported_not_written_ = 0;
  base::MappedBlock<char> bytes_;
  report::FixedBuffer buffer_;
  HangEncoder encoder_;
  std::unique_ptr<HangText> text_;  // null: none is wanted
  const char* last_text_ = "";
};

}  // namespace lagwatch::sdk
