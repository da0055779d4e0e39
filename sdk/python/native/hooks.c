/* SPDX-License-Identifier: Apache-2.0 */
/* The two hooks of an asyncio loop, which are there only while lagwatch is on: Waiter takes the place of its
 * selector's select(), and a method descriptor that of Handle._run(). */
#include "module.h"

typedef struct {
  PyObject_HEAD PyObject* select;
} WaiterObject;

static PyTypeObject* g_waiter_type;
static PyObject* g_run;            /* Handle._run() of asyncio */
static PyObject* g_hook_loop;      /* called once by each thread that runs callbacks */
static unsigned g_runner;          /* the number of the last descriptor */
static __thread unsigned t_runner; /* for which this thread has called it */

static PyObject* call_waiter(PyObject* self, PyObject* args, PyObject* kwargs) {
  LoopObject* loop = lagwatch_own_loop();
  PyObject* result;
  if (loop == NULL) return PyObject_Call(((WaiterObject*)self)->select, args, kwargs);
  Py_INCREF(loop); /* a signal's handler may unwatch it */
  lagwatch_wait_begin(loop);
  result = PyObject_Call(((WaiterObject*)self)->select, args, kwargs);
  lagwatch_wait_end(loop);
  Py_DECREF(loop);
  return result;
}

static int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(((WaiterObject*)self)->select);
#if PY_VERSION_HEX >= 0x03090000
  Py_VISIT(Py_TYPE(self));
#endif
  return 0;
}

static int clear(PyObject* self) {
  Py_CLEAR(((WaiterObject*)self)->select);
  return 0;
}

static void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

static PyObject* waiter(PyObject* module, PyObject* select) {
  WaiterObject* self = PyObject_GC_New(WaiterObject, g_waiter_type);
  (void)module;
  if (self == NULL) return NULL;
  Py_INCREF(select);
  self->select = select;
  PyObject_GC_Track(self);
  return (PyObject*)self;
}

/* The thread's loop may have run before lagwatch started. */
static void hook_running_loop(void) {
  PyObject* result;
  t_runner = g_runner;
  result = PyObject_CallObject(g_hook_loop, NULL);
  if (result == NULL) PyErr_Clear();
  Py_XDECREF(result);
}

/* In place of Handle._run(). */
static PyObject* run_handle(PyObject* handle, PyObject* unused) {
  LoopObject* loop;
  (void)unused;
  if (t_runner != g_runner) hook_running_loop();
  loop = lagwatch_own_loop();
  if (loop != NULL) {
    Py_INCREF(loop); /* the callback's attributes may be properties, which run Python */
    lagwatch_turn(loop, lagwatch_tag_of_handle(handle));
    Py_DECREF(loop);
  }
  return PyObject_CallFunctionObjArgs(g_run, handle, NULL);
}

static void set(PyObject** to, PyObject* value) {
  PyObject* old = *to;
  Py_INCREF(value);
  *to = value;
  Py_XDECREF(old);
}

/* Returns the descriptor for Handle._run. */
static PyObject* handle_runner(PyObject* module, PyObject* args) {
  static PyMethodDef method = {"_run", run_handle, METH_NOARGS, NULL};
  PyObject *type, *run, *hook_loop;
  (void)module;
  if (!PyArg_ParseTuple(args, "OOO:handle_runner", &type, &run, &hook_loop)) return NULL;
  set(&g_run, run);
  set(&g_hook_loop, hook_loop);
  ++g_runner;
  return PyDescr_NewMethod((PyTypeObject*)type, &method);
}

int lagwatch_add_hooks(PyObject* module) {
  static PyType_Slot slots[] = {{Py_tp_dealloc, dealloc},
                                {Py_tp_call, call_waiter},
                                {Py_tp_traverse, traverse},
                                {Py_tp_clear, clear},
                                {0, NULL}};
  static PyType_Spec spec = {"lagwatch._native.Waiter", sizeof(WaiterObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  static PyMethodDef functions[] = {{"waiter", waiter, METH_O, NULL},
                                    {"handle_runner", handle_runner, METH_VARARGS, NULL},
                                    {NULL, NULL, 0, NULL}};
  if (g_waiter_type == NULL) g_waiter_type = (PyTypeObject*)PyType_FromSpec(&spec);
  if (g_waiter_type == NULL) return -1;
  return PyModule_AddFunctions(module, functions);
}
