// SPDX-License-Identifier: Apache-2.0
// Times the loops of Java threads by their waits, without a change to their code: the native methods by which
// they wait are bound to functions of the agent, which call the JVM's own.
//
// AWT's and Swing's event threads: a dispatch lasts from the return of EventQueue.getNextEvent()'s wait to
// its next wait, or to the next event where that does not wait.
#pragma once

#include <jni.h>
#include <jvmti.h>

namespace lagwatch::sdk::jvm {

// Takes the native methods that are bound from now on. `jvmti` is borrowed for ever. With `has_threads`, the
// JVM runs already: threads without an event of their start are recognized when they park. Context:
// background, while the agent is loaded; once in a process.
void WatchLoopThreads(jvmtiEnv* jvmti, bool has_threads);

// Lets AWT's event threads park again, so that the agent sees the end of a wait that began before it. A park
// may end at any time without a reason. Context: background, a Java thread.
void WakeEventThreads(JNIEnv* jni);

// The native methods that are bound to functions of the agent.
enum class TakenMethod { kPark, kAccess, kEpollWait };

// Returns the function to which the method is to be bound. `own` is the JVM's, which that function calls;
// null if it is not known yet: parks return at once until it is, as a park may at any time. Context: any Java
// thread.
void* TakeMethod(TakenMethod method, void* own);
// Whether the JVM's function is known. Context: any.
bool IsTaken(TakenMethod method);

// JVMTI's events. Context: any Java thread.
void JNICALL OnNativeMethodBind(jvmtiEnv* jvmti, JNIEnv* jni, jthread thread, jmethodID method, void* address,
                                void** new_address);
void JNICALL OnThreadStart(jvmtiEnv* jvmti, JNIEnv* jni, jthread thread);
void JNICALL OnThreadEnd(jvmtiEnv* jvmti, JNIEnv* jni, jthread thread);

// Takes the native methods that are bound already. OnNativeMethodBind() takes the others: its event must be
// enabled. Returns false if the JVM refuses, or has no such methods: then some or all
// loops are not watched. Defines the class lagwatch.Binding. Context: background, a Java thread without a
// pending exception; once in a process.
bool BindMethodsInUse(JNIEnv* jni);

}  // namespace lagwatch::sdk::jvm
