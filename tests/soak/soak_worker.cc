// SPDX-License-Identifier: Apache-2.0
#include "tests/soak/soak_worker.h"

#include <unistd.h>

namespace lagwatch::soak {

SoakWorker::SoakWorker(uint32_t seed, Diary* diary) : thread_(&SoakWorker::Run, this, seed, diary) {
  tid_.wait(0);
}

SoakWorker::~SoakWorker() {
  Stop();
  thread_.join();
}

[[gnu::noinline]] void SoakWorker::Run(SoakWorker* self, uint32_t seed, Diary* diary) {
  Place place{.random = std::minstd_rand(seed + 1), .diary = diary};
  self->tid_ = gettid();
  self->tid_.notify_all();
  while (!self->stop_) {
    for (const Activity& activity : Activities()) {
      if (self->stop_ || place.Below(activity.one_in) != 0) continue;
      self->activity_ = activity.name;
      ++self->begun_;
      activity.run(&place);
    }
  }
  asm volatile("");  // no tail call: the frame stays
}

}  // namespace lagwatch::soak
