// SPDX-License-Identifier: Apache-2.0
#include "report/spool/segment_syncer.h"

#include <algorithm>
#include <cerrno>

#include "report/spool/segment_path.h"

namespace lagwatch::report {

std::unique_ptr<SegmentSyncer> SegmentSyncer::Start(base::Env* env, std::string directory,
                                                    std::string path_prefix) {
  std::unique_ptr<SegmentSyncer> syncer(new SegmentSyncer(env, std::move(directory), std::move(path_prefix)));
  base::Status started = syncer->thread_.Start(
      "lagwatch-sync", kThreadStackBytes, [](void* self) { static_cast<SegmentSyncer*>(self)->Run(); },
      syncer.get());
  return started.ok() ? std::move(syncer) : nullptr;
}

void SegmentSyncer::Ask(uint32_t sequence) {
  uint64_t asked = asked_.load();
  uint64_t wanted;
  do {
    wanted = Range(std::min(static_cast<uint32_t>(asked >> 32), sequence),
                   std::max(static_cast<uint32_t>(asked), sequence));
  } while (!asked_.compare_exchange_weak(asked, wanted));
  sleeper_.Wake();
}

bool SegmentSyncer::TryStop(int64_t timeout_ns) {
  is_to_stop_.store(true);
  sleeper_.Wake();
  return thread_.TryJoin(timeout_ns);
}

void SegmentSyncer::Run() {
  for (;;) {
    const bool is_last = is_to_stop_.load();  // read first: requests before the stop are served
    const uint64_t asked = asked_.exchange(kNothing);
    if (asked != kNothing) SyncAsked(asked);
    if (is_last) return;
    if (asked == kNothing) sleeper_.SleepUntil(base::Sleeper::kForever);
  }
}

void SegmentSyncer::SyncAsked(uint64_t asked) {
  const uint64_t first = asked >> 32;
  const uint64_t last = static_cast<uint32_t>(asked);
  uint64_t synced = 0;
  for (uint64_t sequence = first; sequence <= last; ++sequence) {
    const int error = SyncSegment(static_cast<uint32_t>(sequence));
    if (error == 0) ++synced;
    if (error != 0 && error != ENOENT) failed_.Add();
  }
  // A file without a name is lost, whatever it holds.
  if (synced > 0) (env_->Sync(directory_.c_str()) == 0 ? synced_ : failed_).Add(synced);
}

int SegmentSyncer::SyncSegment(uint32_t sequence) {
  // In this order: it may be sealed in between, and is never opened again.
  const int error = env_->Sync(SegmentPath(path_prefix_, sequence, kOpenSuffix).text());
  return error == ENOENT ? env_->Sync(SegmentPath(path_prefix_, sequence, kSealedSuffix).text()) : error;
}

}  // namespace lagwatch::report
