// SPDX-License-Identifier: Apache-2.0
// Sites that wait for classes to be loaded, from the start of a program: a class gets its probes before its
// first code runs. Thread safety: all.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <atomic>
#include <list>
#include <mutex>
#include <span>
#include <vector>

#include "sdk/jvm/probes/class_probes.h"
#include "sdk/jvm/probes/weaver.h"

namespace lagwatch::sdk::jvm {

class LoadingClasses {
 public:
  // Returns why its place cannot wait, or an empty text. Context: background.
  std::string Add(const SiteState* site, const SiteCode& code);
  void Remove(std::span<const SiteState* const> sites);
  bool is_waiting() const { return is_waiting_.load(); }

  // The class file with the probes; empty: it stays as it is. No lock is held while the JVM runs code.
  // Context: a thread of the JVM that loads the class, whose name is as in "java/lang/String".
  std::vector<unsigned char> Weave(JNIEnv* jni, const Weaver& weaver, jobject loader, const char* name,
                                   std::span<const unsigned char> file);
  // Takes out what has been woven and prepared since, with global references to the classes. Context:
  // background, a thread of the JVM.
  std::list<ClassProbes> TakePrepared(jvmtiEnv* tools, JNIEnv* jni);

 private:
  struct Waiting {
    const SiteState* site;
    SiteCode code;
  };
  struct Woven {
    ClassProbes probes;
    jweak loader;
  };

  std::vector<Waiting> WaitingFor(const std::string& name);

  std::atomic<bool> is_waiting_{false};
  std::mutex mutex_;
  std::vector<Waiting> waiting_;  // guarded by mutex_
  std::list<Woven> woven_;        // likewise
};

}  // namespace lagwatch::sdk::jvm
