/* SPDX-License-Identifier: Apache-2.0 */
/* lagwatch._native.Loop, and the loop of the calling thread. A process has one generation of loops: a forked
 * child has the next, whose loops are watched again at their first use. */
#include <stdatomic.h>
#include <string.h>

#include "module.h"

static atomic_uint_fast64_t g_last_thread;
static unsigned g_generation;
static unsigned g_started_generation; /* that uses lagwatch */
static PyTypeObject *g_loop_type, *g_owner_type;
static __thread uint64_t t_thread;
static __thread LoopObject* t_loop;     /* borrowed from the owner in the thread state's dict */
static __thread unsigned t_open_scopes; /* of the spell between two waits */
static __thread unsigned t_spell;       /* the number of that spell */

/* Owns the thread's loop until the thread's state ends, which may be earlier than the thread and than other
 * references to the loop: a thread of C has a new state each time it calls Python. */
typedef struct {
  PyObject_HEAD LoopObject* loop;
} OwnerObject;

static uint64_t own_thread(void) {
  if (t_thread == 0) t_thread = atomic_fetch_add(&g_last_thread, 1) + 1;
  return t_thread;
}

/* A child of a fork is watched once it uses lagwatch. */
static void ensure_started(void) {
  if (g_started_generation == g_generation) return;
  g_started_generation = g_generation;
  lagwatch_start_again();
}

/* After a fork, at the loop's first use. */
static void watch_again(LoopObject* loop) {
  ensure_started();
  loop->generation = g_generation;
  loop->loop = lw_watch_loop(loop->name);
}

LoopObject* lagwatch_own_loop(void) {
  LoopObject* loop = t_loop;
  if (loop != NULL && loop->generation != g_generation) watch_again(loop);
  return loop;
}

int lagwatch_check_loop(LoopObject* loop) {
  if (loop->thread != own_thread()) {
    PyErr_SetString(PyExc_RuntimeError, "a loop of lagwatch belongs to the thread that watches it");
    return 0;
  }
  if (loop->generation != g_generation) watch_again(loop);
  return 1;
}

/* An await in a scope: what comes after it is of another spell. */
void lagwatch_end_scopes(lw_loop* loop) {
  if (t_open_scopes == 0) return;
  for (; t_open_scopes != 0; --t_open_scopes) lw_scope_end(loop);
  ++t_spell;
}

unsigned lagwatch_scope_begin(LoopObject* loop, const char* name, uint32_t deadline_ms) {
  lw_scope_begin(loop->loop, name, deadline_ms);
  ++t_open_scopes;
  return t_spell;
}

void lagwatch_scope_end(LoopObject* loop, unsigned spell) {
  if (t_open_scopes == 0 || t_spell != spell) return;
  lw_scope_end(loop->loop);
  --t_open_scopes;
}

void lagwatch_wait_begin(LoopObject* loop) {
  lagwatch_end_scopes(loop->loop);
  lw_loop_wait_begin(loop->loop);
}

void lagwatch_wait_end(LoopObject* loop) { lw_loop_wait_end(loop->loop, NULL); }

void lagwatch_turn(LoopObject* loop, const char* tag) {
  lagwatch_end_scopes(loop->loop);
  lw_loop_turn(loop->loop, tag);
}

/* Gives the handle back: nothing may use it later. On another thread than the loop's, that one has ended, and
 * with it the loop. */
static void end_loop(LoopObject* loop) {
  if (t_loop == loop) {
    lagwatch_end_scopes(loop->loop);
    lagwatch_forget_waits();
    t_loop = NULL;
  }
  if (loop->thread == own_thread() && loop->generation == g_generation) lw_unwatch_loop(loop->loop);
  loop->loop = NULL; /* which all functions accept */
}

static void dealloc_owner(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  LoopObject* loop = ((OwnerObject*)self)->loop;
  if (loop != NULL) end_loop(loop);
  Py_XDECREF(loop);
  PyObject_Free(self);
  Py_DECREF(type);
}

/* Keeps it for as long as the thread has a state in the interpreter. */
static int keep_for_thread(LoopObject* loop) {
  PyObject* state = PyThreadState_GetDict();
  OwnerObject* owner = state != NULL ? PyObject_New(OwnerObject, g_owner_type) : NULL;
  int status;
  if (owner == NULL) return -1;
  Py_INCREF(loop);
  owner->loop = loop;
  status = PyDict_SetItemString(state, "lagwatch", (PyObject*)owner);
  if (status == 0) t_loop = loop;
  Py_DECREF(owner);
  return status;
}

static LoopObject* new_loop(const char* name) {
  LoopObject* loop = PyObject_New(LoopObject, g_loop_type);
  if (loop == NULL) return NULL;
  ensure_started();
  loop->thread = own_thread();
  loop->generation = g_generation;
  strncpy(loop->name, name, sizeof loop->name - 1);
  loop->name[sizeof loop->name - 1] = '\0';
  loop->loop = lw_watch_loop(loop->name);
  return loop;
}

LoopObject* lagwatch_own_loop_or_new(PyObject* name) {
  LoopObject* loop = lagwatch_own_loop();
  const char* text;
  if (loop != NULL) return loop;
  text = lagwatch_text_of(name);
  loop = text != NULL ? new_loop(text) : NULL;
  if (loop == NULL) return NULL;
  keep_for_thread(loop);
  Py_DECREF(loop); /* the thread's state has it */
  return t_loop;
}

static PyObject* own_loop(PyObject* module, PyObject* name) {
  LoopObject* loop = lagwatch_own_loop_or_new(name);
  (void)module;
  Py_XINCREF(loop);
  return (PyObject*)loop;
}

static void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  end_loop((LoopObject*)self);
  PyObject_Free(self);
  Py_DECREF(type);
}

static PyObject* wait_begin(PyObject* self, PyObject* unused) {
  (void)unused;
  if (!lagwatch_check_loop((LoopObject*)self)) return NULL;
  lagwatch_wait_begin((LoopObject*)self);
  Py_RETURN_NONE;
}

static int tag_of_args(PyObject* args, const char** tag) {
  PyObject* text = Py_None;
  *tag = NULL;
  if (!PyArg_ParseTuple(args, "|O", &text)) return -1;
  if (text == Py_None) return 0;
  *tag = lagwatch_text_of(text);
  return *tag != NULL ? 0 : -1;
}

static PyObject* wait_end(PyObject* self, PyObject* args) {
  const char* tag;
  if (tag_of_args(args, &tag) != 0 || !lagwatch_check_loop((LoopObject*)self)) return NULL;
  lw_loop_wait_end(((LoopObject*)self)->loop, tag);
  Py_RETURN_NONE;
}

static PyObject* turn(PyObject* self, PyObject* args) {
  const char* tag;
  if (tag_of_args(args, &tag) != 0 || !lagwatch_check_loop((LoopObject*)self)) return NULL;
  lagwatch_turn((LoopObject*)self, tag);
  Py_RETURN_NONE;
}

static PyObject* begin(PyObject* self, PyObject* args) {
  const char* tag;
  if (tag_of_args(args, &tag) != 0 || !lagwatch_check_loop((LoopObject*)self)) return NULL;
  lw_dispatch_begin(((LoopObject*)self)->loop, tag);
  Py_RETURN_NONE;
}

static PyObject* end(PyObject* self, PyObject* unused) {
  (void)unused;
  if (!lagwatch_check_loop((LoopObject*)self)) return NULL;
  lw_dispatch_end(((LoopObject*)self)->loop);
  Py_RETURN_NONE;
}

static PyObject* set_thresholds(PyObject* self, PyObject* args) {
  unsigned threshold_ms, anr_threshold_ms;
  lw_thresholds in_force;
  if (!PyArg_ParseTuple(args, "II:set_thresholds", &threshold_ms, &anr_threshold_ms)) return NULL;
  if (!lagwatch_check_loop((LoopObject*)self)) return NULL;
  in_force = lw_set_thresholds(((LoopObject*)self)->loop, threshold_ms, anr_threshold_ms);
  return Py_BuildValue("(II)", in_force.threshold_ms, in_force.anr_threshold_ms);
}

static PyObject* unwatch(PyObject* self, PyObject* unused) {
  LoopObject* loop = (LoopObject*)self;
  PyObject* state = PyThreadState_GetDict();
  const int is_own = t_loop == loop;
  (void)unused;
  if (!lagwatch_check_loop(loop)) return NULL;
  end_loop(loop);
  if (is_own && state != NULL && PyDict_DelItemString(state, "lagwatch") != 0) PyErr_Clear();
  Py_RETURN_NONE;
}

static PyObject* get_name(PyObject* self, void* unused) {
  const char* name = ((LoopObject*)self)->name;
  (void)unused;
  return PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
}

/* In the child of a fork, on its only thread. */
static PyObject* after_fork(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  if (t_loop != NULL && t_loop->generation == g_generation) {
    lw_unwatch_loop(t_loop->loop); /* the dispatch that forked goes on in the parent */
    t_loop->loop = NULL;
  }
  t_open_scopes = 0;
  ++t_spell;
  lagwatch_forget_waits();
  ++g_generation;
  Py_RETURN_NONE;
}

int lagwatch_add_loops(PyObject* module) {
  static PyMethodDef methods[] = {
      {"wait_begin", wait_begin, METH_NOARGS, NULL},
      {"wait_end", wait_end, METH_VARARGS, NULL},
      {"turn", turn, METH_VARARGS, NULL},
      {"begin", begin, METH_VARARGS, NULL},
      {"end", end, METH_NOARGS, NULL},
      {"set_thresholds", set_thresholds, METH_VARARGS, NULL},
      {"unwatch", unwatch, METH_NOARGS, NULL},
      {NULL, NULL, 0, NULL},
  };
  static PyGetSetDef getters[] = {{"name", get_name, NULL, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, dealloc}, {Py_tp_methods, methods}, {Py_tp_getset, getters}, {0, NULL}};
  static PyType_Spec spec = {"lagwatch._native.Loop", sizeof(LoopObject), 0, Py_TPFLAGS_DEFAULT, slots};
  static PyType_Slot owner_slots[] = {{Py_tp_dealloc, dealloc_owner}, {0, NULL}};
  static PyType_Spec owner_spec = {"lagwatch._native.Owner", sizeof(OwnerObject), 0, Py_TPFLAGS_DEFAULT,
                                   owner_slots};
  static PyMethodDef functions[] = {
      {"own_loop", own_loop, METH_O, NULL},
      {"after_fork", after_fork, METH_NOARGS, NULL},
      {NULL, NULL, 0, NULL},
  };
  if (g_owner_type == NULL) g_owner_type = (PyTypeObject*)PyType_FromSpec(&owner_spec);
  if (g_loop_type == NULL) g_loop_type = (PyTypeObject*)PyType_FromSpec(&spec);
  if (g_owner_type == NULL || g_loop_type == NULL || PyModule_AddFunctions(module, functions) != 0) return -1;
  Py_INCREF(g_loop_type);
  return PyModule_AddObject(module, "Loop", (PyObject*)g_loop_type);
}
