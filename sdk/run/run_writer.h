// SPDX-License-Identifier: Apache-2.0
// Writes the record of the present run. The record is a mapped page of a file: its content is there for the
// next start however the process ends, and no descriptor is left open.
//
// Nothing here can raise SIGBUS, whatever happens to the file: the kernel copies into the mapping, and data
// that it cannot copy is dropped.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "policies/scrubbing.h"
#include "sdk/run/run_record.h"
#include "sdk/run/text_cell.h"

namespace lagwatch::sdk {

// Thread safety: one thread at a time.
class RunWriter {
 public:
  // Creates SPOOL/runs/SESSION.run. `scene`, which goes through the scrubber, is borrowed. Where `facts` say
  // that the run is masked, all that is kept is. Errors: kIo. Context: background.
  static base::Result<std::unique_ptr<RunWriter>> Create(const std::string& spool_directory,
                                                         const RunFacts& facts, const TextCell* scene,
                                                         const policies::Scrubber& scrubber = {});
  // Lets go of the record; the file stays. Context: background.
  ~RunWriter();
  RunWriter(const RunWriter&) = delete;
  RunWriter& operator=(const RunWriter&) = delete;

  // A hang was seen, `elapsed_ns` after it began. More reports of the same hang change nothing. Context:
  // watchdog, as are the next two.
  void HangBegan(const base::Uuid& hang_id, const char* loop_name, int64_t elapsed_ns);
  void HangEnded(const base::Uuid& hang_id);
  // Sets the loops' usage that is left to report; sequence and checksum are ignored. An empty one:
  // nothing is left, which is written at once; other values by Refresh(), often while a run is young, and
  // then once a minute.
  void NoteUsage(const RunUsage& usage);
  // Writes the usage noted last, at the end of the run.
  void WriteLastUsage();
  // To be called at every round of the watchdog: writes when there is something new, and from time to time
  // that the run goes on.
  void Refresh();

  // Whether another process has asked for a dump since the last call. Context: watchdog.
  bool TakeDumpCall();
  // Changes when it asks; for Sleeper::SetSharedWord. Null in a forked child.
  const uint32_t* call_word() const;

  // The run is not worth a record: removes the file. Context: background.
  void Discard();
  // The run ends well.
  void MarkEnded();
  // To be called in the child of a fork(), where the page is not mapped. Context: background.
  void AbandonInForkedChild();

 private:
  static constexpr size_t kMaxHangs = 64;

  struct Hang {
    base::Uuid id;
    int64_t begin_mono_ns;
    int64_t lasted_ns;
    int64_t begin_wall_ms;
    char loop_name[sizeof RunProgress::hang_loop];
  };

  RunWriter(char* page, std::string path, const RunFacts& facts, const TextCell* scene,
            const policies::Scrubber& scrubber);
  void AgeHangs(int64_t mono_ns);
  void Write(int64_t mono_ns);
  void WriteUsage(int64_t mono_ns);

  char* page_;
  std::string path_;
  std::string oom_group_path_;
  bool is_masked_;
  const TextCell* scene_;
  policies::Scrubber scrubber_;
  uint32_t dumps_taken_ = 0;
  uint64_t sequence_ = 0;
  uint64_t written_scene_ = 0;
  int64_t last_age_ns_ = 0;  // when the hangs were last aged
  int64_t last_write_ns_ = 0;
  int64_t last_count_ns_ = 0;
  int64_t oom_kills_in_group_ = -1;
  int64_t oom_kills_on_machine_ = -1;
  RunUsage usage_{};
  RunUsage written_usage_{};
  uint64_t usage_sequence_ = 0;
  int64_t last_usage_write_ns_ = 0;
  size_t hang_count_ = 0;
  Hang hangs_[kMaxHangs];
};

// Notes of the program on the run that goes on, if this process has one. Context: any, signal included.
void NoteRunEnded();
void NoteRunGoesOn();       // takes NoteRunEnded() back: the program could not end, or not become another
void NoteRunAskedToStop();  // to stop
void NoteRunCrashed(int32_t signal_number);
void NoteRunStopped(StopCause cause);

}  // namespace lagwatch::sdk
