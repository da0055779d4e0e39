// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of hooks: the subjects, and a recorder whose records are kept.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/trace/hooks/subject.h"
#include "trace/hooks/hook_recorder.h"

namespace lagwatch::trace {

inline constexpr int64_t kNeverNs = 3600 * base::kNsPerSecond;  // no capture is due in a test

struct KeptRecord : CaptureRecord {
  int32_t tid;
  std::vector<uint64_t> pcs;
};

// The library of that name; never unloaded.
inline const Subject& LoadSubject(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) ADD_FAILURE() << dlerror();
  return *reinterpret_cast<GetSubjectFunction>(dlsym(handle, "GetSubject"))();
}
inline const Subject& LazySubject() {
  static const Subject& subject = LoadSubject(LAGWATCH_LAZY_SUBJECT);
  return subject;
}
inline const Subject& BoundSubject() {
  static const Subject& subject = LoadSubject(LAGWATCH_BOUND_SUBJECT);
  return subject;
}

// Records what the subjects call, and nothing else.
class SubjectRecorder {
 public:
  explicit SubjectRecorder(int64_t interval_ns, uint32_t families = kAllHooks) {
    options_.interval_ns = interval_ns;
    options_.families = families;
    options_.modules.allow = {"*hook_subject*"};
    LazySubject();  // so that they are there when the hooks come
    BoundSubject();
    Start();
  }

  void Start() {
    const base::Status status = recorder_.Start(options_);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  HookRecorder& recorder() { return recorder_; }

  // All that has come so far.
  const std::vector<KeptRecord>& Drain() {
    recorder_.Drain([this](int32_t tid, const CaptureRecord& record, const uint64_t* pcs) {
      records_.push_back({record, tid, {pcs, pcs + record.depth}});
    });
    return records_;
  }
  // Those of one kind.
  std::vector<KeptRecord> Of(RunKind run, CallKind call) {
    std::vector<KeptRecord> chosen;
    std::ranges::copy_if(Drain(), std::back_inserter(chosen),
                         [=](const KeptRecord& record) { return record.run == run && record.call == call; });
    return chosen;
  }
  void Forget() {
    Drain();
    records_.clear();
  }

 private:
  HookOptions options_;
  HookRecorder recorder_;
  std::vector<KeptRecord> records_;
};

// The thread that ended a wait: the last one that released its object before its end, but after its begin.
inline int32_t WakerOf(const KeptRecord& wait, const std::vector<KeptRecord>& wakes) {
  const KeptRecord* waker = nullptr;
  for (const KeptRecord& wake : wakes) {
    if (wake.object != wait.object || wake.begin_ticks > wait.end_ticks || wake.end_ticks < wait.begin_ticks)
      continue;
    if (waker == nullptr || wake.begin_ticks > waker->begin_ticks) waker = &wake;
  }
  return waker == nullptr ? 0 : waker->tid;
}

// Long enough that a thread that was just started waits by then; not needed for a test to pass.
inline void LetOthersWait() {
  const timespec pause{0, 20 * base::kNsPerMs};
  nanosleep(&pause, nullptr);
}

}  // namespace lagwatch::trace
