// SPDX-License-Identifier: Apache-2.0
// Finds the methods of a running JVM that a place means. Context: background, a thread of the JVM.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "probe/verify/verified.h"
#include "sdk/probe/probe_messages.h"

namespace lagwatch::sdk::jvm {

class Weaver;

struct FoundMethod {
  jmethodID id = nullptr;
  std::string name;
  std::string descriptor;
};

// A place that names classes and methods, or has patterns of them: CLASS::METHOD.
class MethodPattern {
 public:
  explicit MethodPattern(const probe::Place& place);
  bool MeansClass(const std::string& name) const { return Matches(type_, name); }
  bool MeansMethod(const std::string& name) const { return Matches(method_, name); }

 private:
  bool Matches(const std::string& pattern, const std::string& name) const;

  std::string type_;
  std::string method_;
  bool is_exact_;
};

// A bridge calls the method that is meant.
bool IsBridge(jint modifiers);
// Decides whether a method can have the probe (null: any one): the reason why not, or an empty text.
std::string WhyNoMethod(const probe::VerifiedProbe* probe, const FoundMethod& method, jint modifiers);

struct FoundClass {
  jclass type = nullptr;  // a local reference
  std::string name;       // "java.util.HashMap"
  std::vector<FoundMethod> methods;
};

struct FoundMethods {
  std::vector<FoundClass> classes;
  // Calls back for each class and method that is meant, and cannot have the probe, with its name and why.
  std::function<void(const std::string& name, const std::string& why)> refuse;
  std::string why_none;  // if nothing is meant at all
};

class MethodSearch {
 public:
  struct Method {
    FoundMethod method;
    jint modifiers = 0;
  };

  // Of the classes that are loaded now, as local references.
  MethodSearch(jvmtiEnv* tools, JNIEnv* jni, const Weaver& weaver);
  // Adds the methods that can have the probe to `found`.
  void Find(const probe::VerifiedProbe& probe, FoundMethods* found) const;
  // The methods that a pattern means, with why they can have no probe. Errors: kNotFound.
  base::Result<std::vector<ExaminedMethod>> Examine(const std::string& pattern) const;

 private:
  struct Loaded {
    jclass type;
    std::string name;
  };
  struct Wanted {
    std::string type;          // a pattern of classes
    std::string method;        // of methods
    std::string descriptor{};  // empty: any
    bool is_exact = false;
    const probe::VerifiedProbe* probe = nullptr;  // null: any

    bool Matches(const std::string& pattern, const std::string& name) const;
  };

  std::string WhyNoClass(jclass type) const;
  std::vector<Method> MethodsOf(const Loaded& loaded) const;
  void FindNamed(const Wanted& wanted, FoundMethods* found) const;
  void FindSubtypes(const Wanted& wanted, FoundMethods* found) const;
  void FindAnnotated(const Wanted& wanted, FoundMethods* found) const;
  void FindAnnotatedIn(const Loaded& loaded, const std::string& annotations, const Wanted& wanted,
                       FoundMethods* found) const;
  void FindAt(const probe::Place& place, const probe::VerifiedProbe* probe, FoundMethods* found) const;
  void FindMatching(const std::string& expression, const probe::VerifiedProbe* probe,
                    FoundMethods* found) const;
  // The class's methods of that name, if the class can be changed. False if it has none of that name, and
  // `names` has those that it has.
  bool FindIn(const Loaded& loaded, const Wanted& wanted, FoundMethods* found,
              std::vector<std::string>* names) const;
  std::string NoClass(const std::string& name) const;

  jvmtiEnv* tools_;
  JNIEnv* jni_;
  const Weaver& weaver_;
  std::vector<Loaded> classes_;
};

}  // namespace lagwatch::sdk::jvm
