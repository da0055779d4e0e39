// SPDX-License-Identifier: Apache-2.0
// Binds the native methods of a JVM that runs already. Each JVM binds its own before an agent that is loaded
// later can see it.
#pragma once

#include <jni.h>

namespace lagwatch::sdk::jvm {

// Takes the native methods that are bound already. OnNativeMethodBind() takes the others: its event must be
// enabled. Returns false if the JVM refuses, or has no such methods: then some or all
// loops are not watched. Defines the class lagwatch.Binding. Context: background, a Java thread without a
// pending exception; once in a process.
bool BindMethodsInUse(JNIEnv* jni);

}  // namespace lagwatch::sdk::jvm
