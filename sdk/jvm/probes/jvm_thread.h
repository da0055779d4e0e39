// SPDX-License-Identifier: Apache-2.0
// A thread of the JVM that does the probe service's work there. The service's own thread has its own table of
// descriptors, and what the JVM opens meanwhile (the archives of classes that it verifies) is for all
// threads. Context: background.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace lagwatch::sdk::jvm {

// Leaked: the thread never ends.
class JvmThread {
 public:
  // Context: a thread of the JVM.
  bool Start(jvmtiEnv* tools, JNIEnv* jni);
  // Returns when the job is done. One thread at a time.
  void Do(const std::function<void(JNIEnv*)>& job);
  // Whether the caller is that thread.
  bool IsCurrent() const;

 private:
  static void JNICALL Run(jvmtiEnv*, JNIEnv* jni, void* self);

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(JNIEnv*)>* job_ = nullptr;  // guarded by mutex_
  std::atomic<int> tid_{0};
};

}  // namespace lagwatch::sdk::jvm
