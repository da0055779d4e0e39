// SPDX-License-Identifier: Apache-2.0
// The agent's classes in the JVM that change bytecode (sdk/jvm/java/weaver). Context: background, a thread of
// the JVM.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace lagwatch::sdk::jvm {

class Weaver {
 public:
  // Loads them into a class loader of their own, and binds the native methods. Errors: kUnavailable.
  static base::Result<std::unique_ptr<Weaver>> Load(jvmtiEnv* tools, JNIEnv* jni);

  // The class file with the calls that `plan` (see Weaver.java) asks for. Errors: kInvalid, with the reason.
  base::Result<std::vector<unsigned char>> Weave(JNIEnv* jni, std::span<const unsigned char> file,
                                                 const std::string& plan) const;
  // A line for each of the plan's: the reason if the method has nothing inside that the site is for. Errors:
  // kInvalid.
  base::Result<std::string> WhyNoPlaces(JNIEnv* jni, std::span<const unsigned char> file,
                                        const std::string& plan) const;
  // A letter for each line of `names`, x where the regular expression is found. Errors: kInvalid, with the
  // reason.
  base::Result<std::string> Matching(JNIEnv* jni, const std::string& expression,
                                     const std::string& names) const;
  // The lines of MethodMatcher.annotations(). Errors: kInvalid if classes that they need are missing.
  base::Result<std::string> AnnotationsOf(JNIEnv* jni, jclass type) const;
  // The hits of a counter since the last call. One thread. `counter` is less than kCounters.
  uint64_t TakeCount(JNIEnv* jni, uint32_t counter);
  static constexpr uint32_t kCounters = 64;
  jobject loader() const { return loader_; }  // a global reference

 private:
  Weaver() = default;

  jclass type_ = nullptr;     // a global reference
  jclass matcher_ = nullptr;  // likewise
  jobject loader_ = nullptr;
  jmethodID weave_ = nullptr;
  jmethodID why_no_places_ = nullptr;
  jmethodID matching_ = nullptr;
  jmethodID annotations_ = nullptr;
  jobject counts_ = nullptr;  // a global reference
  jmethodID get_ = nullptr;
  uint64_t taken_[kCounters] = {};
};

}  // namespace lagwatch::sdk::jvm
