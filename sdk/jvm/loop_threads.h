// SPDX-License-Identifier: Apache-2.0
// Times the loops of Java threads by their waits, without a change to their code: the native methods by which
// they wait are bound to functions of the agent, which call the JVM's own.
//
// AWT's and Swing's event threads: a dispatch lasts from the return of EventQueue.getNextEvent()'s wait to
// its next wait, or to the next event where that does not wait.
#pragma once

#include <jvmti.h>

namespace lagwatch::sdk::jvm {

// Takes the native methods that are bound from now on. `jvmti` is borrowed for ever. Context: background,
// while the agent is loaded; once in a process.
void WatchLoopThreads(jvmtiEnv* jvmti);

// JVMTI's events. Context: any Java thread.
void JNICALL OnNativeMethodBind(jvmtiEnv* jvmti, JNIEnv* jni, jthread thread, jmethodID method, void* address,
                                void** new_address);
void JNICALL OnThreadStart(jvmtiEnv* jvmti, JNIEnv* jni, jthread thread);
void JNICALL OnThreadEnd(jvmtiEnv* jvmti, JNIEnv* jni, jthread thread);

}  // namespace lagwatch::sdk::jvm
