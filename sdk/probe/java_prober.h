// SPDX-License-Identifier: Apache-2.0
// Probes on methods of Java: the interface by which the probe service asks the JVM's agent, which implements
// it (sdk/jvm/probes). Context: background, one thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "sdk/probe/probe_messages.h"
#include "sdk/probe/site_handlers.h"

namespace lagwatch::sdk {

class JavaProber {
 public:
  virtual ~JavaProber() = default;
  // Puts probes on the methods that the sites' places mean, all at once; `awaits_classes`: also on those of
  // classes that are loaded later. One result a site. The sites must stay for the process's life.
  virtual std::vector<SiteResult> Arm(std::span<const SiteState* const> sites, bool awaits_classes) = 0;
  // The methods that a pattern means (as those of scripts; CLASS is all of its methods), without a probe.
  // Errors: kNotFound, with the reason.
  virtual base::Result<std::vector<ExaminedMethod>> Examine(const std::string& pattern) = 0;
  // Gives the sites' methods the bytecode that they have without them. A call under way may still reach a
  // site.
  virtual void Disarm(std::span<const SiteState* const> sites) = 0;
  // Whether every method that ever had a probe, and has none now, has its first bytecode.
  virtual bool CodeIsOriginal() = 0;
  // Adds hits that were counted in the methods themselves to their programs' states.
  virtual void CollectCounts() = 0;
  // The names of methods that stacks have had since `*next` (0: since ever), which is moved on.
  virtual std::vector<NamedFrame> NamedFrames(uint64_t* next) = 0;
  // A sentence about a cost that the first probes have for the program besides their own; empty: none.
  virtual std::string Caution() const = 0;
};

}  // namespace lagwatch::sdk
