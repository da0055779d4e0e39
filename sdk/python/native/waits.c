/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that wait in libuv or libev, as uvloop's and gevent's do: their waits are seen at the import slots of
 * the library. They begin and end without the interpreter's lock. */
#include "module.h"

#define LW_EPOLL_SLOTS_IMPLEMENTATION
#define LW_EPOLL_SLOTS_BEFORE_WAIT(loop) lagwatch_end_scopes(loop)
#include <lagwatch/adapters/epoll_slots.h>

/* The dynamic section of a module that is loaded; NULL otherwise. */
static const void* address_of(const char* file) {
  void* module = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
  const void* address = module != NULL ? (const void*)((struct link_map*)module)->l_ld : NULL;
  if (module != NULL) dlclose(module); /* the loop's library keeps it */
  return address;
}

/* watch_waits(name, file, …): the calling thread's loop waits in one of the files that are loaded. Returns
 * the number of slots that see it. */
static PyObject* watch_waits(PyObject* module, PyObject* args) {
  LoopObject* loop = NULL;
  int slots = 0;
  (void)module;
  for (Py_ssize_t i = 1; i < PyTuple_Size(args); ++i) {
    PyObject* file = PyUnicode_EncodeFSDefault(PyTuple_GetItem(args, i));
    if (file == NULL) return NULL;
    slots += lw_epoll_patch(address_of(PyBytes_AsString(file)));
    Py_DECREF(file);
  }
  if (slots != 0) {
    loop = lagwatch_own_loop_or_new(PyTuple_GetItem(args, 0));
    if (loop == NULL) return NULL;
    lw_epoll_set_loop(loop->loop, -1);
  }
  return PyLong_FromLong(slots);
}

static PyObject* unwatch_waits(PyObject* module, PyObject* unused) {
  LoopObject* loop = lagwatch_own_loop();
  (void)module, (void)unused;
  lw_epoll_set_loop(NULL, -1);
  if (loop != NULL) lagwatch_wait_begin(loop); /* what follows is no dispatch */
  Py_RETURN_NONE;
}

void lagwatch_forget_waits(void) { lw_epoll_set_loop(NULL, -1); }

/* For greenlet.settrace(): each switch to a greenlet begins a dispatch, with the name of its function. */
static PyObject* trace_switch(PyObject* module, PyObject* args) {
  LoopObject* loop = lagwatch_own_loop();
  PyObject *event, *pair, *function;
  (void)module;
  if (loop == NULL || !PyArg_ParseTuple(args, "OO", &event, &pair) || !PyTuple_Check(pair) ||
      PyTuple_Size(pair) != 2) {
    PyErr_Clear();
    Py_RETURN_NONE;
  }
  Py_INCREF(loop); /* attributes may be properties, which run Python */
  function = PyObject_GetAttrString(PyTuple_GetItem(pair, 1), "_run"); /* the hub has none */
  PyErr_Clear();
  lagwatch_turn(loop, function != NULL ? lagwatch_tag_of_callable(function) : NULL);
  Py_XDECREF(function);
  Py_DECREF(loop);
  Py_RETURN_NONE;
}

int lagwatch_add_waits(PyObject* module) {
  static PyMethodDef functions[] = {{"watch_waits", watch_waits, METH_VARARGS, NULL},
                                    {"unwatch_waits", unwatch_waits, METH_NOARGS, NULL},
                                    {"trace_switch", trace_switch, METH_VARARGS, NULL},
                                    {NULL, NULL, 0, NULL}};
  return PyModule_AddFunctions(module, functions);
}
