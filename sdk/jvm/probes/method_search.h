// SPDX-License-Identifier: Apache-2.0
// Finds the methods of a running JVM that a place means. Context: background, a thread of the JVM.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <string>
#include <vector>

#include "probe/verify/verified.h"

namespace lagwatch::sdk::jvm {

struct FoundMethod {
  jmethodID id = nullptr;
  std::string name;
  std::string descriptor;
};

struct FoundClass {
  jclass type = nullptr;  // a local reference
  std::vector<FoundMethod> methods;
};

class MethodSearch {
 public:
  // Of the classes that are loaded now, as local references. `own_loader` is that of lagwatch's own classes.
  MethodSearch(jvmtiEnv* tools, JNIEnv* jni, jobject own_loader);
  // The methods that can have the probe; empty if none can, and `why` says why not.
  std::vector<FoundClass> Find(const probe::VerifiedProbe& probe, std::string* why) const;

 private:
  struct Loaded {
    jclass type;
    std::string name;  // "java.util.HashMap"
  };

  std::string WhyNoClass(jclass type) const;
  FoundClass FindIn(const Loaded& loaded, const std::string& method, const probe::VerifiedProbe& probe,
                    std::string* why) const;
  std::string NoClass(const std::string& name) const;

  jvmtiEnv* tools_;
  JNIEnv* jni_;
  jobject own_loader_;
  std::vector<Loaded> classes_;
};

// The text of a JVM tool function, which is freed.
std::string TakeToolText(jvmtiEnv* tools, char* text);

}  // namespace lagwatch::sdk::jvm
