/* SPDX-License-Identifier: Apache-2.0 */
/* The extension module: the monitor's functions. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

/* Of the last start: names and values in turn, and their number. For children of a fork, which start again
 * without the interpreter's lock. */
static char** g_options;
static size_t g_option_texts;

static void forget_options(char** texts, size_t count) {
  for (size_t i = 0; i < count; ++i) free(texts[i]);
  free(texts);
}

/* Sets the index of an option that cannot be set, or is `count`. */
static lw_status start_with(char** texts, size_t count, size_t* refused) {
  lw_options options;
  lw_options_init(&options);
  for (*refused = 0; *refused < count; *refused += 2)
    if (!lw_options_set(&options, texts[*refused], texts[*refused + 1])) return LW_OFF;
  return lw_start(&options);
}

lw_status lagwatch_start_again(void) {
  size_t refused;
  return g_options != NULL ? start_with(g_options, g_option_texts, &refused) : LW_OFF;
}

static char* copy_of(PyObject* text) {
  PyObject* bytes = PyUnicode_AsUTF8String(text);
  char* copy = bytes != NULL ? strdup(PyBytes_AsString(bytes)) : NULL;
  if (bytes != NULL && copy == NULL) PyErr_NoMemory();
  Py_XDECREF(bytes);
  return copy;
}

/* Copies the dict. NULL with an exception set. */
static char** texts_of(PyObject* given, size_t* count) {
  PyObject *name, *value;
  Py_ssize_t position = 0;
  char** texts = calloc(2 * (size_t)PyDict_Size(given) + 1, sizeof *texts);
  *count = 0;
  if (texts == NULL) return (char**)PyErr_NoMemory();
  while (PyDict_Next(given, &position, &name, &value)) {
    texts[(*count)++] = copy_of(name);
    texts[(*count)++] = PyErr_Occurred() ? NULL : copy_of(value);
    if (PyErr_Occurred()) {
      forget_options(texts, *count);
      return NULL;
    }
  }
  return texts;
}

static PyObject* start(PyObject* module, PyObject* given) {
  lw_status status;
  size_t count, refused;
  char** texts;
  (void)module;
  if (!PyDict_Check(given)) {
    PyErr_SetString(PyExc_TypeError, "start() takes a dict of str to str");
    return NULL;
  }
  texts = texts_of(given, &count);
  if (texts == NULL) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = start_with(texts, count, &refused);
  Py_END_ALLOW_THREADS;
  if (refused < count) PyErr_Format(PyExc_ValueError, "no option %s=%s", texts[refused], texts[refused + 1]);
  if (status != LW_OK) {
    forget_options(texts, count);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(status);
  }
  forget_options(g_options, g_option_texts);
  g_options = texts;
  g_option_texts = count;
  return PyLong_FromLong(status);
}

static PyObject* stop(PyObject* module, PyObject* flush_ms) {
  unsigned long ms = PyLong_AsUnsignedLong(flush_ms);
  (void)module;
  if (PyErr_Occurred()) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  lw_stop(ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms);
  Py_END_ALLOW_THREADS;
  forget_options(g_options, g_option_texts);
  g_options = NULL;
  g_option_texts = 0;
  Py_RETURN_NONE;
}

static PyObject* why_off(PyObject* module, PyObject* unused) {
  const char* text = lw_why_off();
  (void)module, (void)unused;
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static PyObject* version(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  return PyUnicode_FromString(lw_version());
}

static PyObject* stats(PyObject* module, PyObject* unused) {
  lw_stats counts;
  (void)module, (void)unused;
  lw_stats_init(&counts);
  lw_get_stats(&counts);
  return Py_BuildValue("{s:K,s:K,s:K,s:K}", "hangs", (unsigned long long)counts.hangs, "reports_written",
                       (unsigned long long)counts.reports_written, "reports_dropped",
                       (unsigned long long)counts.reports_dropped, "reports_uploaded",
                       (unsigned long long)counts.reports_uploaded);
}

static PyObject* dump(PyObject* module, PyObject* args) {
  const char* reason;
  (void)module;
  if (!PyArg_ParseTuple(args, "s:dump", &reason)) return NULL;
  return PyBool_FromLong(lw_dump_now(reason));
}

static PyObject* set_value(PyObject* module, PyObject* args) {
  const char *key, *value;
  (void)module;
  if (!PyArg_ParseTuple(args, "sz:set_value", &key, &value)) return NULL;
  return PyBool_FromLong(lw_set_value(key, value));
}

static PyObject* set_scene(PyObject* module, PyObject* args) {
  const char* scene;
  (void)module;
  if (!PyArg_ParseTuple(args, "s:set_scene", &scene)) return NULL;
  lw_set_scene(scene);
  Py_RETURN_NONE;
}

static PyObject* ready(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  lw_ready();
  Py_RETURN_NONE;
}

static PyMethodDef g_methods[] = {
    {"start", start, METH_O, NULL},
    {"stop", stop, METH_O, NULL},
    {"why_off", why_off, METH_NOARGS, NULL},
    {"version", version, METH_NOARGS, NULL},
    {"stats", stats, METH_NOARGS, NULL},
    {"dump", dump, METH_VARARGS, NULL},
    {"set_value", set_value, METH_VARARGS, NULL},
    {"set_scene", set_scene, METH_VARARGS, NULL},
    {"ready", ready, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* The monitor, the loops and the types are the process's: another interpreter would end them with itself. */
static int fill(PyObject* module) {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    PyErr_SetString(PyExc_ImportError,
                    "lagwatch is for the main interpreter (mod_wsgi: WSGIApplicationGroup %{GLOBAL})");
    return -1;
  }
  return lagwatch_add_loops(module) == 0 && lagwatch_add_scopes(module) == 0 &&
                 lagwatch_add_tags(module) == 0 && lagwatch_add_hooks(module) == 0 &&
                 lagwatch_add_waits(module) == 0
             ? 0
             : -1;
}

static PyModuleDef_Slot g_slots[] = {{Py_mod_exec, (void*)fill}, {0, NULL}};

static struct PyModuleDef g_module = {
    PyModuleDef_HEAD_INIT, "lagwatch._native", NULL, 0, g_methods, g_slots, NULL, NULL, NULL,
};

__attribute__((visibility("default"))) PyMODINIT_FUNC PyInit__native(void) {
  return PyModuleDef_Init(&g_module);
}
