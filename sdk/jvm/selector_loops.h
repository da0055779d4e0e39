// SPDX-License-Identifier: Apache-2.0
// Times the loops of threads that wait in a selector of java.nio: Netty's event loops and the like. A
// dispatch lasts from the return of one wait to the next. A selector that several threads take turns at, as
// Jetty's do, belongs to no loop: the thread that handles an event has left it to another.
#pragma once

#include <jvmti.h>

namespace lagwatch::sdk::jvm {

using EpollWaitFunction = jint(JNICALL*)(JNIEnv*, jclass, jint, jlong, jint, jint);

// Takes the JVM's own function, and returns the one that is to be called in its place. `jvmti` is borrowed
// for ever. Context: any Java thread.
EpollWaitFunction TakeEpollWait(jvmtiEnv* jvmti, EpollWaitFunction own);

// The calling thread ends. Context: any Java thread.
void LeaveSelectorLoop();

}  // namespace lagwatch::sdk::jvm
