// SPDX-License-Identifier: Apache-2.0
// The probes on the methods of one class of Java. Context: background, a thread of the JVM.
#pragma once

#include <jni.h>

#include <list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/jvm/probes/method_search.h"
#include "sdk/probe/site_handlers.h"

namespace lagwatch::sdk::jvm {

using Bytecode = std::vector<unsigned char>;

// The result of one arming for a site.
struct SiteOutcome {
  uint32_t methods = 0;  // that have the probe
  uint32_t refused = 0;  // methods and classes
  std::string why;       // the first refused one's, with its name
  std::string
      why_no_place{};  // the first one's of the methods that have nothing that is meant inside of them

  void Refuse(const std::string& name, const std::string& reason);
  std::string Text() const;
};
using Outcomes = std::map<const SiteState*, SiteOutcome>;

// The form in which inserted code names a site, for Weaver.java.
struct SiteCode {
  uint32_t id = 0;
  uint32_t values = 0;      // of the arguments that it reads, as bits
  std::string kinds;        // with what follows
  bool is_counter = false;  // `id` is a counter's
};
using SiteCodes = std::map<const SiteState*, SiteCode>;

class ClassProbes {
 public:
  // `type` is kept as a weak reference, which the caller has made.
  ClassProbes(jweak type, std::string name) : type_(type), name_(std::move(name)) {}

  jweak type() const { return type_; }  // null: of a class that is being loaded
  const std::string& name() const { return name_; }
  // `original` is the method's bytecode without a probe, if it has none so far.
  void Add(const FoundMethod& method, const SiteState* site, Bytecode original);
  bool HasMethod(const FoundMethod& method) const;
  // Whether there were any.
  bool Remove(std::span<const SiteState* const> sites);

  // The plan for Weaver.java; empty: nothing is to be done.
  std::string Plan(const SiteCodes& codes) const;
  // Takes away those that are not in the class yet, of a method ("NAMEDESCRIPTOR") or, if it is empty, of
  // all. False if there are none.
  bool RefuseNew(const std::string& method, const std::string& reason, Outcomes* outcomes);
  // Whether one that is not in the class yet is for places inside of methods.
  bool HasNewInnerSites() const;
  // Takes away those that are not in the class yet and for which `reasons`, with a line for each of the
  // plan's, has one.
  void RefuseWithoutPlace(std::string_view reasons, Outcomes* outcomes);
  // As RefuseNew(), by Weaver.java's message: a method and the reason, or the reason alone.
  bool RefuseMessage(const std::string& message, Outcomes* outcomes);
  // Takes the sites away that have no code any more. Whether there were any.
  bool KeepOnly(const SiteCodes& codes);
  // The class, which was being loaded, is there: `weak` is a weak reference to it, and its methods have ids.
  void BecomeLoaded(jvmtiEnv* tools, jweak weak, jclass type);
  // The class has become what the plan says.
  void AcceptAll(Outcomes* outcomes);

  // Calls `check(method, original)` for each method that had probes, and has none now, while it returns true.
  template <typename Check>
  bool EachRestored(const Check& check) const {
    for (const Method& each : methods_) {
      if (each.sites.empty() && !check(each.method.id, each.original)) return false;
    }
    return true;
  }

 private:
  struct Site {
    const SiteState* state;
    bool is_new = true;  // not in the class yet
  };
  struct Method {
    FoundMethod method;
    Bytecode original;
    std::vector<Site> sites;
  };

  jweak type_;
  std::string name_;
  std::list<Method> methods_;
};

}  // namespace lagwatch::sdk::jvm
