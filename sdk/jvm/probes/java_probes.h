// SPDX-License-Identifier: Apache-2.0
// Serves consoles of `lagwatch probe` in a JVM: probes on methods of Java, and on native functions, too.
#pragma once

#include <jni.h>

#include <string>

namespace lagwatch::sdk::jvm {

// Takes the JVM's permission to change classes, which is asked for at the start where possible: a JVM of
// version 17 that gives it later throws all compiled code away at the first change. False if it refuses.
// Context: background, the threads that load agents.
bool TakeProbeCapabilities(JavaVM* vm, bool is_at_start);
// Has the program's first code wait until a console has armed its script, but not for ever; the socket is in
// `directory`. Context: background, before the JVM begins.
void AwaitProbesAtStart(const std::string& directory);
// Starts the service, with its socket in `directory`. Returns why not, or an empty text. Context: background,
// a thread of the JVM.
std::string OpenJavaProbes(JavaVM* vm, const std::string& directory);

}  // namespace lagwatch::sdk::jvm
