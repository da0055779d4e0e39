/* SPDX-License-Identifier: Apache-2.0 */
/* The addon of the npm package, over Node-API: one binary for Node 18 and later. Each environment (the main
 * thread, each worker) has an instance of its own; the monitor and the texts belong to the process. */
#define NAPI_VERSION 8
#define _GNU_SOURCE
#define LW_EPOLL_SLOTS_IMPLEMENTATION
#include <lagwatch/adapters/epoll_slots.h>
#include <lagwatch/c.h>
#include <node_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct uv_loop_s;
extern int uv_backend_fd(const struct uv_loop_s* loop); /* of Node's own libuv */

/* The last quarter of the texts is for names that the program itself has: those of requests may come from
 * strangers. */
enum { TEXT_LIMIT = 4096, OUTER_LIMIT = TEXT_LIMIT / 4 * 3, TEXT_BYTES = 128, ARGUMENTS = 2 };

/* Tags must stay readable for as long as the watchdog may look at them: they are kept for good, by number. */
static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
static char kOther[] = "other";
static char* g_texts[TEXT_LIMIT] = {kOther};
static uint32_t g_text_count = 1;
static __thread lw_loop* t_loop;

static napi_value undefined(napi_env env) {
  napi_value value = NULL;
  napi_get_undefined(env, &value);
  return value;
}

static napi_value number(napi_env env, int64_t value) {
  napi_value result = NULL;
  napi_create_int64(env, value, &result);
  return result;
}

static napi_value text(napi_env env, const char* value) {
  napi_value result = NULL;
  napi_create_string_utf8(env, value, NAPI_AUTO_LENGTH, &result);
  return result;
}

/* Returns a copy of the argument, or of the default if it is undefined; NULL with an exception pending. */
static char* copy_of(napi_env env, napi_value value) {
  size_t size_bytes = 0;
  char* copy;
  if (napi_get_value_string_utf8(env, value, NULL, 0, &size_bytes) != napi_ok) {
    napi_throw_type_error(env, NULL, "lagwatch: a string is expected");
    return NULL;
  }
  copy = malloc(size_bytes + 1);
  if (copy != NULL) napi_get_value_string_utf8(env, value, copy, size_bytes + 1, &size_bytes);
  return copy;
}

static size_t arguments_of(napi_env env, napi_callback_info info, napi_value* arguments) {
  size_t count = ARGUMENTS;
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  return count;
}

static uint32_t uint_of(napi_env env, napi_value value) {
  uint32_t number_of = 0;
  napi_get_value_uint32(env, value, &number_of);
  return number_of;
}

static int set_option(napi_env env, lw_options* options, const char* name, const char* value) {
  char message[2 * TEXT_BYTES];
  if (name == NULL || value == NULL) return 0;
  if (lw_options_set(options, name, value)) return 1;
  snprintf(message, sizeof message, "lagwatch: no option %s=%s", name, value);
  napi_throw_range_error(env, NULL, message);
  return 0;
}

/* start(["app", "shop", …]): names and values in turn. Returns an lw_status. */
static napi_value start(napi_env env, napi_callback_info info) {
  napi_value arguments[ARGUMENTS];
  uint32_t count = 0;
  lw_options options;
  lw_status status = LW_OFF;
  char** texts;
  arguments_of(env, info, arguments);
  napi_get_array_length(env, arguments[0], &count);
  texts = calloc(count + 1, sizeof *texts);
  if (texts == NULL) return number(env, status);
  lw_options_init(&options);
  int is_set = 1;
  for (uint32_t i = 0; i < count && is_set; ++i) {
    napi_value element = NULL;
    napi_get_element(env, arguments[0], i, &element);
    texts[i] = copy_of(env, element);
    if (i % 2 == 1) is_set = set_option(env, &options, texts[i - 1], texts[i]);
  }
  if (is_set) status = lw_start(&options); /* borrows the texts for the call */
  for (uint32_t i = 0; i < count; ++i) free(texts[i]);
  free(texts);
  return number(env, status);
}

static napi_value stop(napi_env env, napi_callback_info info) {
  napi_value arguments[ARGUMENTS];
  const uint32_t flush_ms = arguments_of(env, info, arguments) > 0 ? uint_of(env, arguments[0]) : 0;
  lw_stop(flush_ms);
  return undefined(env);
}

static void forget_loop(void* unused) {
  (void)unused;
  if (t_loop == NULL) return;
  lw_epoll_set_loop(NULL, -1);
  lw_unwatch_loop(t_loop);
  t_loop = NULL;
}

/* watch(name): the event loop of the calling thread. Returns the number of slots that see its waits; 0: none.
 */
static napi_value watch(napi_env env, napi_callback_info info) {
  napi_value arguments[ARGUMENTS];
  struct uv_loop_s* uv = NULL;
  int slots;
  char* name;
  arguments_of(env, info, arguments);
  slots = lw_epoll_patch((const void*)&uv_backend_fd);
  if (slots == 0 || napi_get_uv_event_loop(env, &uv) != napi_ok) return number(env, 0);
  if (t_loop != NULL) return number(env, slots);
  name = copy_of(env, arguments[0]);
  if (name == NULL) return NULL;
  t_loop = lw_watch_loop(name);
  free(name);
  if (t_loop == NULL) return number(env, 0);
  napi_add_env_cleanup_hook(env, &forget_loop, NULL);
  lw_epoll_set_loop(t_loop, uv_backend_fd(uv));
  lw_loop_wait_end(t_loop, NULL); /* the callback that calls this is a dispatch, too */
  return number(env, slots);
}

static napi_value unwatch(napi_env env, napi_callback_info info) {
  (void)info;
  if (t_loop != NULL) napi_remove_env_cleanup_hook(env, &forget_loop, NULL);
  forget_loop(NULL);
  return undefined(env);
}

static napi_value set_thresholds(napi_env env, napi_callback_info info) {
  napi_value arguments[ARGUMENTS];
  if (arguments_of(env, info, arguments) == ARGUMENTS)
    lw_set_thresholds(t_loop, uint_of(env, arguments[0]), uint_of(env, arguments[1]));
  return undefined(env);
}

/* keepText(text, isOuter): the number of a text, which the caller keeps; -1: there are too many. */
static napi_value keep_text(napi_env env, napi_callback_info info) {
  napi_value arguments[ARGUMENTS];
  int64_t place = -1;
  bool is_outer = false;
  char* copy;
  arguments_of(env, info, arguments);
  napi_get_value_bool(env, arguments[1], &is_outer);
  copy = copy_of(env, arguments[0]);
  if (copy == NULL) return NULL;
  if (strlen(copy) >= TEXT_BYTES) copy[TEXT_BYTES - 1] = '\0';
  pthread_mutex_lock(&g_mutex);
  for (uint32_t i = 0; i < g_text_count && place < 0; ++i) /* another thread may have it */
    if (strcmp(g_texts[i], copy) == 0) place = i;
  if (place < 0 && g_text_count < (uint32_t)(is_outer ? OUTER_LIMIT : TEXT_LIMIT)) {
    place = g_text_count++;
    g_texts[place] = copy;
    copy = NULL;
  }
  pthread_mutex_unlock(&g_mutex);
  free(copy);
  return number(env, place);
}

/* setTag(number): names the dispatch under way. */
static napi_value set_tag(napi_env env, napi_callback_info info) {
  napi_value arguments[ARGUMENTS];
  int32_t place = -1;
  arguments_of(env, info, arguments);
  napi_get_value_int32(env, arguments[0], &place);
  lw_dispatch_set_tag(t_loop, place >= 0 && place < TEXT_LIMIT ? g_texts[place] : NULL);
  return NULL;
}

static napi_value scope_begin(napi_env env, napi_callback_info info) {
  napi_value arguments[ARGUMENTS];
  int32_t place = -1;
  arguments_of(env, info, arguments);
  napi_get_value_int32(env, arguments[0], &place);
  lw_scope_begin(t_loop, place >= 0 && place < TEXT_LIMIT ? g_texts[place] : kOther,
                 uint_of(env, arguments[1]));
  return NULL;
}

static napi_value scope_end(napi_env env, napi_callback_info info) {
  (void)env, (void)info;
  lw_scope_end(t_loop);
  return NULL;
}

static napi_value why_off(napi_env env, napi_callback_info info) {
  (void)info;
  return text(env, lw_why_off());
}

static napi_value version(napi_env env, napi_callback_info info) {
  (void)info;
  return text(env, lw_version());
}

static napi_value dump(napi_env env, napi_callback_info info) {
  napi_value arguments[ARGUMENTS], result = NULL;
  char* reason;
  arguments_of(env, info, arguments);
  reason = copy_of(env, arguments[0]);
  if (reason == NULL) return NULL;
  napi_get_boolean(env, lw_dump_now(reason) != 0, &result);
  free(reason);
  return result;
}

static napi_value set_value(napi_env env, napi_callback_info info) {
  napi_value arguments[ARGUMENTS], result = NULL;
  char *key, *value;
  arguments_of(env, info, arguments);
  key = copy_of(env, arguments[0]);
  value = key != NULL ? copy_of(env, arguments[1]) : NULL;
  if (value != NULL) napi_get_boolean(env, lw_set_value(key, value) != 0, &result);
  free(key);
  free(value);
  return result;
}

static napi_value ready(napi_env env, napi_callback_info info) {
  (void)info;
  lw_ready();
  return undefined(env);
}

static napi_value stats(napi_env env, napi_callback_info info) {
  napi_value result = NULL;
  lw_stats counts;
  (void)info;
  lw_stats_init(&counts);
  lw_get_stats(&counts);
  napi_create_object(env, &result);
  napi_set_named_property(env, result, "hangs", number(env, (int64_t)counts.hangs));
  napi_set_named_property(env, result, "reportsWritten", number(env, (int64_t)counts.reports_written));
  napi_set_named_property(env, result, "reportsDropped", number(env, (int64_t)counts.reports_dropped));
  napi_set_named_property(env, result, "reportsUploaded", number(env, (int64_t)counts.reports_uploaded));
  return result;
}

NAPI_MODULE_INIT() {
  static const struct {
    const char* name;
    napi_callback call;
  } functions[] = {
      {"start", start},
      {"stop", stop},
      {"watch", watch},
      {"unwatch", unwatch},
      {"setThresholds", set_thresholds},
      {"keepText", keep_text},
      {"setTag", set_tag},
      {"scopeBegin", scope_begin},
      {"scopeEnd", scope_end},
      {"whyOff", why_off},
      {"version", version},
      {"dump", dump},
      {"setValue", set_value},
      {"ready", ready},
      {"stats", stats},
  };
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i) {
    napi_value function = NULL;
    if (napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].call, NULL, &function) !=
            napi_ok ||
        napi_set_named_property(env, exports, functions[i].name, function) != napi_ok)
      return NULL;
  }
  return exports;
}
