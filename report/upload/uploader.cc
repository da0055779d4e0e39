// SPDX-License-Identifier: Apache-2.0
#include "report/upload/uploader.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <random>
#include <system_error>
#include <utility>

#include "base/clock.h"

namespace lagwatch::report {
namespace {

uint64_t RandomBits() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

int64_t NowNs() { return base::SystemClock().MonoNs(); }

}  // namespace

size_t DrainSpool(SpoolSender* sender, int64_t deadline_mono_ns) {
  UploadPacing pacing;
  base::Sleeper sleeper;
  while (NowNs() < deadline_mono_ns) {
    std::optional<UploadAnswer> answer = sender->UploadOnce();
    int64_t next_mono_ns = NowNs() + pacing.DelayMs(answer, RandomBits()) * base::kNsPerMs;
    if (!answer || next_mono_ns >= deadline_mono_ns) break;
    sleeper.SleepUntil(next_mono_ns);
  }
  return sender->CountSegmentsLeft();
}

Uploader::Uploader(SpoolSender* sender, Transport* transport) : sender_(sender), transport_(transport) {}

Uploader::~Uploader() { Stop(0); }

base::Status Uploader::Start() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  // The new thread inherits the mask, so there is no moment at which it could take the program's signals.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  base::Status status;
  try {
    thread_ = std::thread(&Uploader::Run, this);
  } catch (const std::system_error& error) {
    status = {base::StatusCode::kUnavailable, std::string("cannot start the upload thread: ") + error.what()};
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return status;
}

void Uploader::Stop(int64_t flush_deadline_ms) {
  if (!thread_.joinable()) return;
  stop_deadline_mono_ns_ = NowNs() + flush_deadline_ms * base::kNsPerMs;
  is_stopping_ = true;
  sleeper_.Wake();
  done_.get_future().wait_for(std::chrono::milliseconds(flush_deadline_ms));
  transport_->Abort();
  thread_.join();
}

void Uploader::Run() {
  pthread_setname_np(pthread_self(), "lagwatch-upload");
  UploadPacing pacing;
  int64_t not_before_mono_ns = 0;
  while (!is_stopping_) not_before_mono_ns = RunRound(&pacing);
  if (not_before_mono_ns <= stop_deadline_mono_ns_) DrainSpool(sender_, stop_deadline_mono_ns_);
  done_.set_value();
}

int64_t Uploader::RunRound(UploadPacing* pacing) {
  int64_t delay_ms = pacing->DelayMs(sender_->UploadOnce(), RandomBits());
  int64_t next_mono_ns = NowNs() + delay_ms * base::kNsPerMs;
  do {
    sleeper_.SleepUntil(next_mono_ns);
  } while (pacing->is_failing() && !is_stopping_ && NowNs() < next_mono_ns);
  return pacing->is_failing() ? next_mono_ns : 0;
}

}  // namespace lagwatch::report
