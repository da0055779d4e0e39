/* SPDX-License-Identifier: Apache-2.0 */
/* Names of what a loop runs. A tag must stay readable while the watchdog looks at it, and costs no allocation
 * once it is known: so texts are kept for good, up to a limit. */
#include <stdlib.h>
#include <string.h>

#include "module.h"

/* The last quarter is for names that the program itself has: those of requests and tasks may come from
 * strangers. */
enum { TEXT_LIMIT = 4096, OUTER_LIMIT = TEXT_LIMIT / 4 * 3, SLOTS = 2 * TEXT_LIMIT, TEXT_BYTES = 128 };

/* A text of an object (a code object, a type, or NULL) with a name (a str, or NULL). Both are owned. */
typedef struct {
  PyObject* object;
  PyObject* name;
  char* text;
} Entry;

static Entry g_entries[SLOTS]; /* open addressing */
static unsigned g_count;
static const char kOther[] = "other";

/* Of types and names that are looked up for each handle. */
static PyObject *g_function_type, *g_method_type, *g_partial_type, *g_task_type;
static PyObject *g_callback_name, *g_self_name, *g_func_name, *g_code_name, *g_get_coro_name,
    *g_get_name_name, *g_cr_code_name, *g_gi_code_name, *g_qualname_name, *g_partial_func_name;

static size_t slot_of(PyObject* object, PyObject* name) {
  size_t hash = (size_t)object >> 4;
  if (name != NULL) hash ^= (size_t)PyObject_Hash(name);
  return (hash * 0x9e3779b97f4a7c15u) >> 32;
}

static Entry* find(PyObject* object, PyObject* name) {
  for (size_t i = slot_of(object, name);; ++i) {
    Entry* entry = &g_entries[i % SLOTS];
    if (entry->text == NULL) return entry;
    if (entry->object != object) continue;
    if (entry->name == name) return entry;
    if (entry->name != NULL && name != NULL && PyUnicode_Compare(entry->name, name) == 0) return entry;
  }
}

static const char* keep(PyObject* object, PyObject* name, const char* text) {
  Entry* entry = find(object, name); /* a property may have added some since the caller looked */
  char* copy;
  if (entry->text != NULL) return entry->text;
  copy = g_count < TEXT_LIMIT ? strndup(text, TEXT_BYTES) : NULL;
  if (copy == NULL) return kOther;
  Py_XINCREF(object);
  Py_XINCREF(name);
  entry->object = object;
  entry->name = name;
  entry->text = copy;
  ++g_count;
  return copy;
}

/* Copies a str to `to`; an empty text if it is something else. Sets no exception. */
static void copy_text(PyObject* text, char* to, size_t size_bytes) {
  PyObject* bytes = text != NULL && PyUnicode_Check(text) ? PyUnicode_AsUTF8String(text) : NULL;
  to[0] = '\0';
  if (bytes != NULL) {
    strncpy(to, PyBytes_AsString(bytes), size_bytes - 1);
    to[size_bytes - 1] = '\0';
    Py_DECREF(bytes);
  }
  PyErr_Clear();
}

/* The text of a str that is kept, or will be if there are fewer than `limit`. */
static const char* text_of(PyObject* text, unsigned limit) {
  char copy[TEXT_BYTES];
  Entry* entry;
  if (!PyUnicode_Check(text)) {
    PyErr_SetString(PyExc_TypeError, "a name must be a str");
    return NULL;
  }
  entry = find(NULL, text);
  if (entry->text != NULL) return entry->text;
  if (g_count >= limit) return kOther;
  copy_text(text, copy, sizeof copy);
  return keep(NULL, text, copy);
}

const char* lagwatch_text_of(PyObject* text) { return text_of(text, TEXT_LIMIT); }

/* Returns a new reference or NULL, without an exception. */
static PyObject* attribute(PyObject* object, PyObject* name) {
  PyObject* value = PyObject_GetAttr(object, name);
  if (value == NULL) PyErr_Clear();
  return value;
}

/* "Shop.import_orders" of "main.<locals>.Shop.import_orders". */
static const char* short_name(const char* qualname) {
  const char* inner = qualname;
  for (const char* next; (next = strstr(inner, "<locals>.")) != NULL;) inner = next + strlen("<locals>.");
  return inner;
}

/* The text of `key`, which is the code or type of `named`, an object with a __qualname__. */
static const char* text_of_code(PyObject* key, PyObject* named, PyObject* task_name) {
  Entry* entry = find(key, task_name);
  char text[TEXT_BYTES] = "";
  char qualname[TEXT_BYTES];
  PyObject* name;
  if (entry->text != NULL) return entry->text;
  if (task_name != NULL) {
    const char* plain = text_of_code(key, named, NULL); /* it is there when the names have run out */
    if (g_count >= OUTER_LIMIT) return plain;
    copy_text(task_name, text, sizeof text - 2);
    strcat(text, ": ");
  }
  name = attribute(named, g_qualname_name);
  copy_text(name, qualname, sizeof qualname);
  Py_XDECREF(name);
  strncat(text, short_name(qualname), sizeof text - strlen(text) - 1);
  return keep(key, task_name, text);
}

/* "Task-12" says nothing, and there are as many as tasks. */
static int is_default_name(PyObject* name) {
  char text[16];
  const char* digit = text + 5;
  if (PyUnicode_GetLength(name) >= (Py_ssize_t)sizeof text) return 0;
  copy_text(name, text, sizeof text);
  if (strncmp(text, "Task-", 5) != 0) return 0;
  while (*digit >= '0' && *digit <= '9') ++digit;
  return *digit == '\0';
}

static const char* tag_of_task(PyObject* task) {
  const char* tag = kOther;
  PyObject* coroutine = PyObject_CallMethodObjArgs(task, g_get_coro_name, NULL);
  PyObject* code = coroutine != NULL ? attribute(coroutine, g_cr_code_name) : NULL;
  PyObject* name;
  if (coroutine == NULL) {
    PyErr_Clear();
    return tag;
  }
  if (code == NULL) code = attribute(coroutine, g_gi_code_name);
  if (code == NULL) { /* another language's coroutine, such as Cython's */
    code = (PyObject*)Py_TYPE(coroutine);
    Py_INCREF(code);
  }
  name = PyObject_CallMethodObjArgs(task, g_get_name_name, NULL);
  if (name == NULL) PyErr_Clear();
  if (name != NULL && (!PyUnicode_Check(name) || is_default_name(name))) Py_CLEAR(name);
  tag = text_of_code(code, coroutine, name);
  Py_XDECREF(name);
  Py_DECREF(code);
  Py_DECREF(coroutine);
  return tag;
}

static int is_task(PyObject* object) {
  int is_one;
  if (g_task_type == NULL) return 0;
  if ((PyObject*)Py_TYPE(object) == g_task_type) return 1;
  is_one = PyObject_IsInstance(object, g_task_type);
  if (is_one < 0) PyErr_Clear();
  return is_one > 0;
}

/* A step of a task, a method of C, or an object that can be called. */
static const char* tag_of_object(PyObject* callable) {
  PyObject* self = attribute(callable, g_self_name);
  PyObject* type = (PyObject*)Py_TYPE(callable);
  const char* tag = self != NULL && is_task(self) ? tag_of_task(self) : NULL;
  Py_XDECREF(self);
  return tag != NULL ? tag : text_of_code(type, type, NULL);
}

const char* lagwatch_tag_of_callable(PyObject* callable) {
  PyObject* type = (PyObject*)Py_TYPE(callable);
  PyObject *inner, *code;
  const char* tag;
  if (type == g_function_type) {
    code = attribute(callable, g_code_name);
    tag = code != NULL ? text_of_code(code, callable, NULL) : kOther;
    Py_XDECREF(code);
    return tag;
  }
  if (type != g_method_type && type != g_partial_type) return tag_of_object(callable);
  if (type == g_method_type) { /* a Task that is written in Python */
    inner = attribute(callable, g_self_name);
    tag = inner != NULL && is_task(inner) ? tag_of_task(inner) : NULL;
    Py_XDECREF(inner);
    if (tag != NULL) return tag;
  }
  inner = attribute(callable, type == g_method_type ? g_func_name : g_partial_func_name);
  if (inner == NULL) return kOther;
  tag = (PyObject*)Py_TYPE(inner) == g_function_type ? lagwatch_tag_of_callable(inner) : tag_of_object(inner);
  Py_DECREF(inner);
  return tag;
}

const char* lagwatch_tag_of_handle(PyObject* handle) {
  PyObject* callback = attribute(handle, g_callback_name);
  const char* tag = callback != NULL ? lagwatch_tag_of_callable(callback) : kOther;
  Py_XDECREF(callback);
  return tag;
}

static PyObject* set_task_type(PyObject* module, PyObject* type) {
  PyObject* old = g_task_type;
  (void)module;
  Py_INCREF(type);
  g_task_type = type;
  Py_XDECREF(old);
  Py_RETURN_NONE;
}

/* name_of_request(str): the str, or "other" if there are too many. */
static PyObject* name_of_request(PyObject* module, PyObject* name) {
  const char* text = text_of(name, OUTER_LIMIT);
  (void)module;
  if (text == NULL) return NULL;
  if (text == kOther) return PyUnicode_FromString(kOther);
  Py_INCREF(name);
  return name;
}

static PyObject* tag_of(PyObject* module, PyObject* handle) {
  const char* tag = lagwatch_tag_of_handle(handle);
  (void)module;
  return PyUnicode_DecodeUTF8(tag, (Py_ssize_t)strlen(tag), "replace");
}

static int load(const char* module_name, const char* name, PyObject** to) {
  PyObject* module = PyImport_ImportModule(module_name);
  *to = module != NULL ? PyObject_GetAttrString(module, name) : NULL;
  Py_XDECREF(module);
  return *to != NULL ? 0 : -1;
}

int lagwatch_add_tags(PyObject* module) {
  static PyMethodDef functions[] = {{"set_task_type", set_task_type, METH_O, NULL},
                                    {"name_of_request", name_of_request, METH_O, NULL},
                                    {"tag_of", tag_of, METH_O, NULL},
                                    {NULL, NULL, 0, NULL}};
  static const struct {
    PyObject** to;
    const char* text;
  } names[] = {{&g_callback_name, "_callback"},    {&g_self_name, "__self__"},
               {&g_func_name, "__func__"},         {&g_code_name, "__code__"},
               {&g_get_coro_name, "get_coro"},     {&g_get_name_name, "get_name"},
               {&g_cr_code_name, "cr_code"},       {&g_gi_code_name, "gi_code"},
               {&g_qualname_name, "__qualname__"}, {&g_partial_func_name, "func"}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    if (*names[i].to != NULL) continue; /* the module is imported again */
    *names[i].to = PyUnicode_InternFromString(names[i].text);
    if (*names[i].to == NULL) return -1;
  }
  if (load("types", "FunctionType", &g_function_type) != 0 ||
      load("types", "MethodType", &g_method_type) != 0 || load("functools", "partial", &g_partial_type) != 0)
    return -1;
  return PyModule_AddFunctions(module, functions);
}
