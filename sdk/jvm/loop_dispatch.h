// SPDX-License-Identifier: Apache-2.0
// The dispatch that the loop of the calling thread is in. Context: hot; the thread's own.
#pragma once

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

}  // namespace lagwatch::sdk::jvm
