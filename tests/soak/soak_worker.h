// SPDX-License-Identifier: Apache-2.0
// A thread that goes through the activities, over and over.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "tests/soak/soak_activities.h"

namespace lagwatch::soak {

class SoakWorker {
 public:
  // Returns once it runs. `diary` is borrowed.
  SoakWorker(uint32_t seed, Diary* diary);
  ~SoakWorker();
  SoakWorker(const SoakWorker&) = delete;
  SoakWorker& operator=(const SoakWorker&) = delete;

  int tid() const { return tid_; }
  // Activities begun so far; the latest one's name.
  uint64_t begun() const { return begun_; }
  const char* activity() const { return activity_; }

  void Stop() { stop_ = true; }

  // The function that each of the thread's stacks goes through.
  static void Run(SoakWorker* self, uint32_t seed, Diary* diary);

 private:
  std::atomic<int> tid_{0};
  std::atomic<uint64_t> begun_{0};
  std::atomic<const char*> activity_{""};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace lagwatch::soak
