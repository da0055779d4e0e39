// SPDX-License-Identifier: Apache-2.0
// The record that a run of the program keeps of itself, in a file of one page that outlives it, and its
// decoding. Design and limits: docs/design/runs.md. Part of the on-disk format: nothing here ever changes its
// meaning. Context: pure; reading: background.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/process/process.h"
#include "base/uuid.h"
#include "policies/usage.h"
#include "sdk/run/text_cell.h"

namespace lagwatch::sdk {

inline constexpr char kRunDirectoryName[] = "runs";        // in the spool directory
inline constexpr std::string_view kRunSuffix = ".run";     // after the session's id
inline constexpr std::string_view kNewRunSuffix = ".new";  // while it is being created

inline constexpr uint32_t kRunMagic = 0x3152574c;  // "LWR1"
inline constexpr uint32_t kRunVersion = 1;
inline constexpr uint32_t kMaskedRunVersion = 2;  // the same, but texts as MaskRun() makes them

// The constant part of a run. Texts are cut to their arrays and end at the first NUL, if there is one.
struct RunHeader {
  uint32_t magic;
  uint32_t version;
  uint32_t crc32c;  // of all that follows in this struct
  uint32_t keeps_lock;
  base::Uuid session_id;
  base::Uuid boot_id;
  uint64_t machine;
  uint64_t pid_namespace;
  uint64_t start_ticks;
  int64_t start_wall_ms;
  uint64_t oom_group_inode;
  uint32_t pid;
  uint32_t build_id_size;
  char build_id[32];
  char app[128];
  char app_version[64];
  char user[128];
  char program[128];
  char oom_group_path[512];
};

// The changing part: written to the older of two copies, so that one is always whole.
struct RunProgress {
  uint64_t sequence;  // the higher one is the later; 0: never written
  int64_t seen_wall_ms;
  int64_t oom_kills_in_group;  // counted so far; -1: not known
  int64_t oom_kills_on_machine;
  base::Uuid hang_id;  // the id of the hang's first report; zero when in none
  int64_t hang_begin_wall_ms;
  int64_t hang_ns;  // its age at `seen_wall_ms`
  char hang_loop[64];
  char scene[TextCell::kMaxBytes];
  uint32_t unused;
  uint32_t crc32c;  // of all before it in this struct
};

// The usage of the run's loops that was not reported yet, all together; also in two copies. If the run is
// killed, this reports it.
struct RunUsage {
  uint64_t sequence;  // as in RunProgress
  base::Uuid id;      // of the period; zero: nothing is left to report
  int64_t begin_wall_ms;
  int64_t end_wall_ms;
  int64_t watched_ns;
  uint64_t dispatches;
  uint64_t untimed_dispatches;
  uint64_t hangs;
  int64_t hang_ns;
  char loop[32];  // its name, when there was only one
  uint32_t durations[policies::DurationHistogram::kBuckets];
  uint32_t suppressed[13];  // by policies::SuppressedReason
  // Of watched_ns, hangs and hang_ns; zeros where an older version wrote.
  uint32_t background_watched_ms;
  uint32_t background_hangs;
  uint32_t background_hang_ms;
  uint32_t unused;
  uint32_t crc32c;  // of all before it in this struct
};

// The reason why lagwatch stopped before the program's end, without a request of the program.
enum class StopCause : uint32_t {
  kNone = 0,
  kSeccomp = 1,  // the program was about to confine itself by a filter that may not know our calls
};

// Whether a loop was frozen when the program noted its crash.
enum class CrashMoment : uint32_t {
  kNotKnown = 0,
  kOutsideHang = 1,
  kInHang = 2,
};

// Single stores, which signal handlers and ending threads make.
struct RunMarks {
  uint32_t has_ended;
  uint32_t was_asked_to_stop;
  uint32_t crash_signal;
  uint32_t stop_cause;  // StopCause; 0 where an older version wrote
  // Of the first crash; zeros where an older version wrote.
  uint32_t crash_moment;  // CrashMoment
  uint32_t unused;
  int64_t crash_wall_ms;
};

// For other processes that look at one that runs. One asks for a dump: it counts `dumps_asked` up in the file
// and wakes those that wait there (FUTEX_WAKE). Zeros where an older version wrote.
struct RunCalls {
  uint32_t dumps_asked;
  uint32_t dumps_taken;  // what `dumps_asked` was when the watchdog last looked
  uint32_t is_heard;     // 1: the watchdog looks
  uint32_t run_pid;      // constant: RunFacts::run_pid
};

struct RunPage {
  static constexpr size_t kBytes = 4096;
  static constexpr size_t kMarksAt = 2048;
  static constexpr size_t kCallsAt = 2304;
  static constexpr size_t kProgressAt[2] = {2560, 3072};
  static constexpr size_t kUsageAt[2] = {3584, 3840};  // zeros where an older version wrote
};
static_assert(std::has_unique_object_representations_v<RunHeader> &&
              std::has_unique_object_representations_v<RunProgress> &&
              std::has_unique_object_representations_v<RunUsage>);  // checksums meet no padding
static_assert(sizeof(RunHeader) <= RunPage::kMarksAt && sizeof(RunProgress) <= 512 &&
              sizeof(RunUsage) <= 256);
static_assert(policies::kSuppressedReasons <= std::size(RunUsage{}.suppressed));

// A run, as background code handles it.
struct RunFacts {
  bool is_masked = false;  // its record is kept, or was, as MaskRun() makes it
  base::Uuid session_id;
  base::Uuid boot_id;
  uint64_t machine = 0;  // a hash of the machine's id; 0: not known
  uint64_t pid_namespace = 0;
  uint32_t pid = 0;
  uint64_t start_ticks = 0;  // of the process, since the machine's start: with the pid, its identity
  int64_t start_wall_ms = 0;
  uint32_t run_pid = 0;  // the process that `lagwatch run` became, if it started this one
  std::string app;
  std::string app_version;
  std::string user;
  std::string program;         // its file name
  std::string build_id;        // raw bytes; empty when it has none
  std::string oom_group_path;  // the file where its control group counts those killed for memory, or empty
  uint64_t oom_group_inode = 0;
};

struct RunRecord {
  RunFacts run;
  // The file's lock is held as long as the run's process lives.
  bool keeps_lock = false;
  bool has_ended = false;
  bool was_asked_to_stop = false;
  int32_t crash_signal = 0;
  CrashMoment crash_moment = CrashMoment::kNotKnown;
  int64_t crash_wall_ms = 0;
  StopCause stop_cause = StopCause::kNone;  // unknown causes become kNone
  int64_t seen_wall_ms = 0;
  int64_t oom_kills_in_group = -1;
  int64_t oom_kills_on_machine = -1;
  base::Uuid hang_id;
  int64_t hang_begin_wall_ms = 0;
  int64_t hang_ns = 0;
  std::string hang_loop;
  std::string scene;
  // Without an id there is nothing to report.
  base::Uuid usage_id;
  int64_t usage_begin_wall_ms = 0;
  int64_t usage_end_wall_ms = 0;
  std::string usage_loop;
  policies::LoopUsage usage;
  policies::SuppressedCounts suppressed{};

  bool was_in_hang() const { return hang_id != base::Uuid{}; }
  // Whether a loop froze after the crash: then most of the hang came after it.
  bool has_hung_since_crash() const;
};

enum class RunFile {
  kRecord,
  kDamaged,  // ours, but of no use: never written to disk, cut short, or with wrong checksums
  kForeign,  // of another user, or of a newer version
};

// The header as it goes into the file.
RunHeader ToHeader(const RunFacts& facts, bool keeps_lock);
// Whether it is one of a version that is known, as it was written.
bool IsWhole(const RunHeader& header);
uint32_t ProgressCrc32c(const RunProgress& progress);
uint32_t UsageCrc32c(const RunUsage& usage);
// Trusts no byte. `record` is set for kRecord only.
RunFile ParseRunRecord(std::string_view bytes, RunRecord* record);

// The record of a run whose reports are sealed: nothing in it is readable on this machine. Of app, version,
// program, build and control group it holds fingerprints (64 bits, different in each session), so that the
// program's next start recognizes its own; of user, loops and scenes nothing. A fingerprint cannot be read,
// but a guessed name can be confirmed.

// As they are kept.
RunFacts MaskRun(const RunFacts& facts);
// Restores the names of a masked run that are also those of `now`. The others become empty, except a
// different build: that stays a fingerprint.
void UnmaskRun(const RunFacts& now, RunFacts* run);

// The id of the run that process `peer` keeps such a record of; zero if it keeps none, or
// its memory may not be read. Waits as long as a thread of that process holds the lock of its memory map.
// Context: watchdog.
base::Uuid SessionOfPeer(const base::Process& peer);

}  // namespace lagwatch::sdk
