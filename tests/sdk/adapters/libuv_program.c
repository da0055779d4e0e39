/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>
#define LW_EPOLL_IMPLEMENTATION
#include <lagwatch/adapters/libuv.h>

#include "tests/sdk/adapters/planted.h"

PLANTED(HangInTimer, "-")
PLANTED(HangInAsync, "-")
PLANTED(HangInPoll, "-")
PLANTED(HangAfterWork, "-")
PLANTED(HangInNestedRun, "-")
PLANTED(HangAfterNestedRun, "-")

static uv_loop_t* loop;
static uv_async_t async;
static uv_poll_t reader;
static int ends[2];

static void OnTimer(uv_timer_t* timer) {
  (void)timer;
  HangInTimer();
}

static void OnAsync(uv_async_t* handle) {
  uv_close((uv_handle_t*)handle, NULL);
  HangInAsync();
}

static void SendAsync(uv_timer_t* timer) {
  (void)timer;
  uv_async_send(&async);
}

static void OnReadable(uv_poll_t* handle, int status, int events) {
  (void)status;
  (void)events;
  uv_close((uv_handle_t*)handle, NULL);
  HangInPoll();
}

static void Write(uv_timer_t* timer) {
  (void)timer;
  if (write(ends[1], "x", 1) != 1) abort();
}

static void Work(uv_work_t* work) {
  (void)work;
  planted_sleep_ms(800); /* no thread waits for it */
}

static void AfterWork(uv_work_t* work, int status) {
  (void)work;
  (void)status;
  HangAfterWork();
}

static void StartWork(uv_timer_t* timer) {
  static uv_work_t work;
  (void)timer;
  uv_queue_work(loop, &work, &Work, &AfterWork);
}

static void InNestedRun(uv_timer_t* timer) {
  (void)timer;
  HangInNestedRun();
}

static void EndNestedRun(uv_timer_t* timer) { uv_stop(timer->loop); }

static uv_timer_t* After(int ms, uv_timer_cb callback) {
  uv_timer_t* timer = malloc(sizeof *timer);
  uv_timer_init(loop, timer);
  uv_timer_start(timer, callback, (uint64_t)ms, 0);
  return timer;
}

/* Runs the loop in a callback: it idles first. */
static void RunNested(uv_timer_t* timer) {
  (void)timer;
  After(700, &InNestedRun);
  After(1600, &EndNestedRun);
  uv_run(loop, UV_RUN_DEFAULT);
  HangAfterNestedRun();
}

/* A wait in another instance of epoll is none of the loop's. */
static void Ask(uv_timer_t* timer) {
  const int other = epoll_create1(0);
  struct epoll_event event;
  (void)timer;
  planted_tell("Ask", "-");
  epoll_wait(other, &event, 1, PLANTED_MS);
  close(other);
}

int main(int count, char** arguments) {
  planted_start(count, arguments);
  loop = uv_default_loop();
  lw_uv_watch(loop, "main");
  if (pipe(ends) != 0) return 1;
  uv_async_init(loop, &async, &OnAsync);
  uv_poll_init(loop, &reader, ends[0]);
  uv_poll_start(&reader, UV_READABLE, &OnReadable);
  After(100, &OnTimer);
  After(1200, &SendAsync);
  After(2300, &Write);
  After(3400, &StartWork);
  After(5400, &RunNested);
  After(8200, &Ask);
  while (uv_run(loop, UV_RUN_DEFAULT) != 0) continue;
  lw_epoll_unwatch();
  lw_stop(0);
  return 0;
}
