// SPDX-License-Identifier: Apache-2.0
#include "sdk/recording.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/process/quiet_thread.h"
#include "base/text.h"
#include "sdk/host_limits.h"
#include "stack/code_map.h"
#include "trace/format/trace_codec.h"
#include "trace/format/whole_file.h"
#include "trace/hooks/hook_recorder.h"
#include "trace/record/arena.h"
#include "trace/record/reader/arena_reader.h"
#include "trace/record/recorder.h"

namespace lagwatch::sdk {

using base::Status;
using base::StatusCode;

struct ProgramRecording::Recording {
  std::unique_ptr<trace::Arena> arena;
  std::unique_ptr<trace::Recorder> recorder;
  std::vector<int32_t> threads;
  pid_t pid;
};

// Held by one call at a time. A forked child takes it from its parent, whose thread it does not have.
class ProgramRecording::Claim {
 public:
  explicit Claim(std::atomic<pid_t>* claimed_by) : claimed_by_(claimed_by) {
    const pid_t own = getpid();
    pid_t claimant = claimed_by_->load();
    while (claimant != own && !is_ours_) is_ours_ = claimed_by_->compare_exchange_weak(claimant, own);
  }
  ~Claim() {
    if (is_ours_) claimed_by_->store(0);
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  bool is_ours() const { return is_ours_; }

 private:
  std::atomic<pid_t>* claimed_by_;
  bool is_ours_ = false;
};

namespace {

trace::RecorderOptions RecorderOptionsOf(const RecordingOptions& options) {
  trace::RecorderOptions recorder;
  recorder.main_interval_ns = recorder.worker_interval_ns = options.interval_ns;
  recorder.has_hooks = options.has_hooks;
  recorder.threads = options.threads;
  recorder.calls.are_recorded = true;
  recorder.calls.are_required = false;
  return recorder;
}

}  // namespace

ProgramRecording& ProgramRecording::Instance() {
  static constinit ProgramRecording instance;
  return instance;
}

// This runs on a thread with its own descriptors, so that the program sees none.
template <typename Call>
Status ProgramRecording::Claimed(const Call& call) {
  const Claim claim(&claimed_by_);
  if (!claim.is_ours())
    return {StatusCode::kUnavailable, "another thread is starting or stopping a recording"};
  Status status(StatusCode::kUnavailable, "there is no thread for it");
  static_cast<void>(base::RunWithOwnFiles([&] {
    trace::LeaveThisThreadOut();
    status = call();
  }));
  return status;
}

Status ProgramRecording::Start(const RecordingOptions& options) {
  return Claimed([&] { return StartNow(options); });
}

Status ProgramRecording::Stop(const std::string& path) {
  return Claimed([&] { return StopNow(path); });
}

Status ProgramRecording::StartNow(const RecordingOptions& options) {
  if (recording_ != nullptr && recording_->pid == getpid())
    return {StatusCode::kUnavailable, "the program is recorded already"};
  recording_ = nullptr;  // a parent's is leaked: its threads are not here
  if (Status status = CheckCanRunHere(true, false); !status.ok()) return status;
  auto recording = std::make_unique<Recording>();
  recording->pid = getpid();
  recording->threads = options.threads;
  recording->arena = trace::Arena::CreatePrivate(trace::Arena::Sizes::Of(options.buffer_bytes));
  if (recording->arena == nullptr) return {StatusCode::kUnavailable, "no memory to record in"};
  auto code = stack::CodeMap::Create();
  if (!code.ok()) return code.status();
  auto recorder =
      trace::Recorder::Start(recording->arena.get(), std::move(code).value(), RecorderOptionsOf(options));
  if (!recorder.ok()) {
    trace::Arena::FreeButCalls(std::move(recording->arena));
    return recorder.status();
  }
  recording->recorder = std::move(recorder).value();
  recording_ = recording.release();
  return {};
}

Status ProgramRecording::StopNow(const std::string& path) {
  std::unique_ptr<Recording> recording(std::exchange(recording_, nullptr));
  if (recording != nullptr && recording->pid != getpid()) static_cast<void>(recording.release());
  if (recording == nullptr) return {StatusCode::kNotFound, "nothing is being recorded"};
  const bool is_over = recording->recorder->TryStop();
  Status status;
  if (!path.empty()) {
    trace::Trace trace = trace::ReadArena(*recording->arena);
    if (!recording->threads.empty()) {
      std::erase_if(trace.threads, [&](const trace::Thread& thread) {
        return std::ranges::find(recording->threads, thread.tid) == recording->threads.end();
      });
    }
    const ScopedNoFileSizeSignal no_signal;
    status = trace::WriteWholeFile(path, trace::PackTrace(trace));
  }
  if (!is_over) {  // a thread of it still runs
    static_cast<void>(recording.release());
    return status;
  }
  recording->recorder.reset();  // borrows the arena
  trace::Arena::FreeButCalls(std::move(recording->arena));
  return status;
}

}  // namespace lagwatch::sdk
