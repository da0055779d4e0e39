// SPDX-License-Identifier: Apache-2.0
// Methods of Java as addresses in stacks of hits: numbers that no code has as its address, since a method's
// code moves, and their names for consoles.
#pragma once

#include <jni.h>
#include <jvmti.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "probe/hit.h"
#include "sdk/probe/probe_messages.h"

namespace lagwatch::sdk::jvm {

// Walks the calling thread's stack from native methods that inserted code calls. Context: hot, a thread of
// the JVM in such a method.
class JavaStack {
 public:
  // `tools` stays. Context: background.
  static void Prepare(jvmtiEnv* tools);
  // The probed method, and its caller.
  static uint64_t Function();
  static uint64_t Caller();
  // Writes at most `most` frames, the probed method's caller first, and returns their number.
  static size_t Capture(const probe::Hit& hit, uint64_t* frames, size_t most);
};

// The names of the methods that were met since `*next` (0: since ever), which is moved on. Context:
// background, a thread of the JVM.
std::vector<NamedFrame> NamesOfJavaFrames(jvmtiEnv* tools, JNIEnv* jni, uint64_t* next);

// Whether there may be any. Context: background.
bool HasJavaFramesBehind(uint64_t next);

}  // namespace lagwatch::sdk::jvm
