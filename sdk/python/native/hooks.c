/* SPDX-License-Identifier: Apache-2.0 */
/* The two hooks of an asyncio loop, which are there only while lagwatch is on: Waiter takes the place of its
 * selector's select(), and a method descriptor that of Handle._run(). */
#include "module.h"

typedef struct {
  PyObject_HEAD PyObject* select;
} WaiterObject;

static PyTypeObject* g_waiter_type;
static PyObject* g_run; /* Handle._run() of asyncio */

static PyObject* call_waiter(PyObject* self, PyObject* args, PyObject* kwargs) {
  LoopObject* loop = lagwatch_own_loop();
  PyObject* result;
  if (loop == NULL) return PyObject_Call(((WaiterObject*)self)->select, args, kwargs);
  lagwatch_wait_begin(loop);
  result = PyObject_Call(((WaiterObject*)self)->select, args, kwargs);
  lagwatch_wait_end(loop);
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
  PyObject_GC_UnTrack(self);
  clear(self);
  PyObject_GC_Del(self);
  Py_DECREF(g_waiter_type);
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

/* In place of Handle._run(). */
static PyObject* run_handle(PyObject* handle, PyObject* unused) {
  LoopObject* loop = lagwatch_own_loop();
  (void)unused;
  if (loop != NULL) lagwatch_turn(loop, lagwatch_tag_of_handle(handle));
  return PyObject_CallFunctionObjArgs(g_run, handle, NULL);
}

/* Returns the descriptor for Handle._run. */
static PyObject* handle_runner(PyObject* module, PyObject* args) {
  static PyMethodDef method = {"_run", run_handle, METH_NOARGS, NULL};
  PyObject *type, *run, *old = g_run;
  (void)module;
  if (!PyArg_ParseTuple(args, "OO:handle_runner", &type, &run)) return NULL;
  Py_INCREF(run);
  g_run = run;
  Py_XDECREF(old);
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
  g_waiter_type = (PyTypeObject*)PyType_FromSpec(&spec);
  if (g_waiter_type == NULL) return -1;
  return PyModule_AddFunctions(module, functions);
}
