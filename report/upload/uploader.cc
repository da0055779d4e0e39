// SPDX-License-Identifier: Apache-2.0
#include "report/upload/uploader.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/clock.h"

namespace lagwatch::report {
namespace {

constexpr int64_t kPollNs = 60 * base::kNsPerSecond;

uint64_t RandomBits() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

int64_t NowNs() { return base::SystemClock().MonoNs(); }

}  // namespace

size_t DrainSpool(SpoolSender* sender, int64_t deadline_mono_ns, int most_failures) {
  UploadPacing pacing;
  base::Sleeper sleeper;
  while (NowNs() < deadline_mono_ns) {
    std::optional<UploadAnswer> answer = sender->UploadOnce();
    int64_t next_mono_ns = NowNs() + pacing.DelayMs(answer, RandomBits()) * base::kNsPerMs;
    if (!answer || next_mono_ns >= deadline_mono_ns || pacing.failures() >= most_failures) break;
    sleeper.SleepUntil(next_mono_ns);
  }
  return sender->CountSegmentsLeft();
}

Uploader::Uploader(SpoolSender* sender, Transport* transport) : sender_(sender), transport_(transport) {}

Uploader::~Uploader() {
  while (!TryStop(0)) continue;
}

base::Status Uploader::Start() {
  constexpr size_t kStackBytes = 1 << 20;
  return thread_.Start(
      "lagwatch-upload", kStackBytes, [](void* self) { static_cast<Uploader*>(self)->Run(); }, this);
}

bool Uploader::TryStop(int64_t flush_deadline_ms) {
  constexpr int64_t kGraceNs = 3 * base::kNsPerSecond;
  stop_deadline_mono_ns_ = NowNs() + flush_deadline_ms * base::kNsPerMs;
  is_stopping_ = true;
  sender_->Hurry();
  sleeper_.Wake();
  const bool has_ended = thread_.TryJoin(flush_deadline_ms * base::kNsPerMs);
  transport_->Abort();
  return has_ended || thread_.TryJoin(kGraceNs);
}

void Uploader::Run() {
  RunWhateverHappens();
  transport_->Disconnect();  // its descriptors are in this thread's table
}

// An unforeseen end of a round, such as lack of memory, ends neither the thread nor the program.
void Uploader::RunWhateverHappens() {
  while (true) {
    try {
      return RunUntilStopped();
    } catch (...) {
      if (is_stopping_) return;
      sleeper_.SleepUntil(NowNs() + kPollNs);
    }
  }
}

void Uploader::RunUntilStopped() {
  UploadPacing pacing;
  int64_t not_before_mono_ns = 0;
  Poll();  // also before a Stop that comes at once
  while (!is_stopping_) not_before_mono_ns = RunRound(&pacing);
  if (not_before_mono_ns <= stop_deadline_mono_ns_)
    DrainSpool(sender_, stop_deadline_mono_ns_, most_failures_at_end_);
}

bool Uploader::Poll() {
  try {
    return poll_();
  } catch (...) {  // no memory: the next time
    return false;
  }
}

int64_t Uploader::RunRound(UploadPacing* pacing) {
  if (Poll()) pacing->Restart();
  const uint64_t random = RandomBits();  // may throw: before any request
  int64_t delay_ms = pacing->DelayMs(sender_->UploadOnce(), random);
  int64_t next_mono_ns = NowNs() + delay_ms * base::kNsPerMs;
  do {
    sleeper_.SleepUntil(std::min(next_mono_ns, NowNs() + kPollNs));
    if (!pacing->is_failing() || is_stopping_) break;
    sender_->SweepIfTimeTo();
    if (Poll()) pacing->Restart();
  } while (pacing->is_failing() && NowNs() < next_mono_ns);
  return pacing->is_failing() ? next_mono_ns : 0;
}

}  // namespace lagwatch::report
