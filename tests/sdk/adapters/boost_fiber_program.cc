// SPDX-License-Identifier: Apache-2.0
// A server of Boost.Context's fibers: a request that waits is suspended until a byte comes.
#define LW_FIBER_IMPLEMENTATION
#include <lagwatch/adapters/fiber_x86_64.h>
#include <lagwatch/c.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <boost/context/fiber.hpp>

#include "tests/sdk/adapters/planted.h"

namespace {

struct Fiber {
  boost::context::fiber context;
  boost::context::fiber resumer;
  lw_fiber frames;
  std::array<int, 2> ends;
};

int poller;
lw_loop* loop;

void WaitForByte(Fiber* fiber) {
  char byte = 0;
  lw_fiber_suspend(&fiber->frames);
  fiber->resumer = std::move(fiber->resumer).resume();
  if (read(fiber->ends[0], &byte, 1) != 1) exit(3);
}

[[gnu::noinline]] void Resume(Fiber* fiber) {
  lw_fiber_mark(&fiber->frames);
  fiber->context = std::move(fiber->context).resume();
}

void Create(Fiber* fiber, void (*serve)(void*)) {
  fiber->context = boost::context::fiber([fiber, serve](boost::context::fiber&& resumer) {
    fiber->resumer = std::move(resumer);
    lw_fiber_enter(&fiber->frames, serve, fiber);
    return std::move(fiber->resumer);
  });
}

}  // namespace

// A name for the stack: "FUNCTION<RESUMER&SUSPENDED".
#define HANGS(name, expected, tag)           \
  extern "C" [[gnu::noinline]] void name();  \
  extern "C" [[gnu::noinline]] void name() { \
    planted_tell(#name expected, tag);       \
    planted_sleep_ms(PLANTED_MS);            \
    __asm__ volatile("");                    \
  }
HANGS(HangAtFirst, "", "first")
HANGS(HangAfterAWait, "<main&ServeLong", "late")
HANGS(HangAgain, "<main&ServeLong", "again")

extern "C" void ServeFirst(void* fiber);
extern "C" void ServeLate(void* fiber);
extern "C" void ServeLong(void* fiber);

void ServeFirst(void* fiber) {
  HangAtFirst();
  WaitForByte(static_cast<Fiber*>(fiber));
  HangAgain();
}
void ServeLate(void* fiber) {
  WaitForByte(static_cast<Fiber*>(fiber));
  HangAfterAWait();
}
void ServeLong(void* fiber) {
  for (int i = 0; i < 2; ++i) WaitForByte(static_cast<Fiber*>(fiber));
}

int main(int count, char** arguments) {
  static std::array<Fiber, 3> fibers;
  constexpr std::array kServe = {&ServeFirst, &ServeLate, &ServeLong};
  constexpr std::array kTags = {"first", "late", "long"};
  planted_start(count, arguments);
  loop = lw_watch_loop("fibers");
  poller = epoll_create1(0);
  for (size_t i = 0; i < fibers.size(); ++i) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    Create(&fibers[i], kServe[i]);
    if (pipe(fibers[i].ends.data()) != 0 || epoll_ctl(poller, EPOLL_CTL_ADD, fibers[i].ends[0], &event) != 0)
      return 2;
    lw_loop_turn(loop, kTags[i]);
    Resume(&fibers[i]);
  }
  constexpr std::array<size_t, 4> kOrder = {1, 0, 2, 2};  // the last one waits during the others' hangs
  for (const size_t next : kOrder) {
    lw_loop_wait_begin(loop);
    if (next == kOrder.front()) planted_sleep_ms(350);  // longer than the threshold
    epoll_event event{};
    if (write(fibers[next].ends[1], "x", 1) != 1 || epoll_wait(poller, &event, 1, -1) != 1) return 4;
    lw_loop_wait_end(loop, event.data.u64 == 0 ? "again" : kTags[event.data.u64]);
    Resume(&fibers[event.data.u64]);
  }
  lw_loop_wait_begin(loop);
  lw_stop(0);
  return 0;
}
