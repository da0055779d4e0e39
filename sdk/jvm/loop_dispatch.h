// SPDX-License-Identifier: Apache-2.0
// The dispatch that the loop of the calling thread is in. Context: hot; the thread's own.
#pragma once

#include <jvmti.h>
#include <lagwatch/c.h>

namespace lagwatch::sdk::jvm {

struct LoopDispatch {
  lw_loop* loop = nullptr;  // null: the thread is not watched
  bool is_under_way = false;

  // `tag` is a literal.
  void Begin(const char* tag) {
    lw_dispatch_begin(loop, tag);
    is_under_way = true;
  }
  void End() {
    if (is_under_way) lw_dispatch_end(loop);
    is_under_way = false;
  }
  // The thread runs no loop any more.
  void Leave() {
    End();
    lw_unwatch_loop(loop);
    loop = nullptr;
  }
};

// Of threads that wait in a selector of java.nio, Netty's event loops and the like (selector_loops.cc): a
// dispatch lasts from the return of one wait to the next. A selector that several threads take turns at, as
// Jetty's do, belongs to no loop: the thread that handles an event has left it to another.

using EpollWaitFunction = jint(JNICALL*)(JNIEnv*, jclass, jint, jlong, jint, jint);

// Takes the JVM's own function, and returns the one that is to be called in its place. `jvmti` is borrowed
// for ever. Context: any Java thread.
EpollWaitFunction TakeEpollWait(jvmtiEnv* jvmti, EpollWaitFunction own);

// The calling thread ends. Context: any Java thread.
void LeaveSelectorLoop();

}  // namespace lagwatch::sdk::jvm
