/* SPDX-License-Identifier: Apache-2.0 */
/* lagwatch._native.Span: the parts of a thread's work that a `with` statement marks. */
#include "module.h"

typedef enum { SPAN_SCOPE, SPAN_DISPATCH, SPAN_WAIT } SpanKind;

typedef struct {
  PyObject_HEAD SpanKind kind;
  const char* name;
  uint32_t deadline_ms;
  LoopObject* loop; /* while it is entered */
  unsigned spell;
} SpanObject;

static PyTypeObject* g_span_type;
static PyObject* g_loop_name;        /* of a thread that has no loop yet */
enum { DEFAULT_DEADLINE_MS = 2000 }; /* threshold_ms of the options */

static PyObject* new_span(SpanKind kind, const char* name, uint32_t deadline_ms) {
  SpanObject* span = PyObject_New(SpanObject, g_span_type);
  if (span == NULL) return NULL;
  span->kind = kind;
  span->name = name;
  span->deadline_ms = deadline_ms;
  span->loop = NULL;
  span->spell = 0;
  return (PyObject*)span;
}

static void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(((SpanObject*)self)->loop);
  PyObject_Free(self);
  Py_DECREF(type);
}

static PyObject* enter(PyObject* self, PyObject* unused) {
  SpanObject* span = (SpanObject*)self;
  LoopObject* loop = lagwatch_own_loop_or_new(g_loop_name);
  (void)unused;
  if (loop == NULL) return NULL;
  if (span->loop != NULL) {
    PyErr_SetString(PyExc_RuntimeError, "it is entered already");
    return NULL;
  }
  Py_INCREF(loop);
  span->loop = loop;
  switch (span->kind) {
    case SPAN_SCOPE:
      span->spell = lagwatch_scope_begin(loop, span->name, span->deadline_ms);
      lw_trace_begin(span->name);
      break;
    case SPAN_DISPATCH:
      lw_dispatch_begin(loop->loop, span->name);
      break;
    case SPAN_WAIT:
      lagwatch_wait_begin(loop);
      break;
  }
  Py_INCREF(self);
  return self;
}

static PyObject* leave(PyObject* self, PyObject* args) {
  SpanObject* span = (SpanObject*)self;
  LoopObject* loop = span->loop;
  (void)args;
  if (loop == NULL) Py_RETURN_NONE;
  span->loop = NULL;
  if (!lagwatch_check_loop(loop)) {
    Py_DECREF(loop);
    return NULL;
  }
  switch (span->kind) {
    case SPAN_SCOPE:
      lw_trace_end(span->name);
      lagwatch_scope_end(loop, span->spell);
      break;
    case SPAN_DISPATCH:
      lw_dispatch_end(loop->loop);
      break;
    case SPAN_WAIT:
      lagwatch_wait_end(loop);
      break;
  }
  Py_DECREF(loop);
  Py_RETURN_NONE; /* an exception goes on */
}

static PyObject* scope(PyObject* module, PyObject* args, PyObject* kwargs) {
  static char* names[] = {"name", "deadline_ms", NULL};
  PyObject* text;
  unsigned deadline_ms = DEFAULT_DEADLINE_MS;
  const char* name;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|I:scope", names, &text, &deadline_ms)) return NULL;
  name = lagwatch_text_of(text);
  return name != NULL ? new_span(SPAN_SCOPE, name, deadline_ms) : NULL;
}

static PyObject* dispatch(PyObject* module, PyObject* tag) {
  const char* name = lagwatch_text_of(tag);
  (void)module;
  return name != NULL ? new_span(SPAN_DISPATCH, name, 0) : NULL;
}

static PyObject* wait_for_events(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  return new_span(SPAN_WAIT, NULL, 0);
}

int lagwatch_add_scopes(PyObject* module) {
  static PyMethodDef methods[] = {{"__enter__", enter, METH_NOARGS, NULL},
                                  {"__exit__", leave, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};
  static PyType_Slot slots[] = {{Py_tp_dealloc, dealloc}, {Py_tp_methods, methods}, {0, NULL}};
  static PyType_Spec spec = {"lagwatch._native.Span", sizeof(SpanObject), 0, Py_TPFLAGS_DEFAULT, slots};
  static PyMethodDef functions[] = {
      {"scope", (PyCFunction)(void (*)(void))scope, METH_VARARGS | METH_KEYWORDS, NULL},
      {"dispatch", dispatch, METH_O, NULL},
      {"wait", wait_for_events, METH_NOARGS, NULL},
      {NULL, NULL, 0, NULL},
  };
  if (g_span_type == NULL) g_span_type = (PyTypeObject*)PyType_FromSpec(&spec);
  if (g_loop_name == NULL) g_loop_name = PyUnicode_FromString("thread");
  if (g_span_type == NULL || g_loop_name == NULL || PyModule_AddFunctions(module, functions) != 0) return -1;
  Py_INCREF(g_span_type);
  return PyModule_AddObject(module, "Span", (PyObject*)g_span_type);
}
