/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the extension module lagwatch._native, which is built once for CPython 3.9 and later (the
 * stable ABI). Context: all functions need the interpreter's lock, except where it says otherwise. */
#ifndef LAGWATCH_PYTHON_MODULE_H_
#define LAGWATCH_PYTHON_MODULE_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <lagwatch/c.h>

/* lagwatch._native.Loop: a loop of one thread. */
typedef struct {
  PyObject_HEAD lw_loop* loop; /* NULL: not watched (yet) */
  uint64_t thread;             /* by this number, which is never used again */
  unsigned generation;         /* of the process: see lagwatch_after_fork() */
  char name[64];
} LoopObject;

/* Returns the loop that the calling thread has, borrowed, ready for use in this process; NULL without one.
 * After a fork it starts the monitor again. Sets no exception. */
LoopObject* lagwatch_own_loop(void);
/* The same, and makes one of this name, a str. NULL with an exception set. */
LoopObject* lagwatch_own_loop_or_new(PyObject* name);
/* Returns 1 if `loop` may be used: it is the calling thread's. Else 0 with an exception set. */
int lagwatch_check_loop(LoopObject* loop);
/* The loop waits from now on, until the second call. */
void lagwatch_wait_begin(LoopObject* loop);
void lagwatch_wait_end(LoopObject* loop);
/* Begins a dispatch. `tag` stays readable for as long as the process runs. */
void lagwatch_turn(LoopObject* loop, const char* tag);
/* Begins a scope of the calling thread's loop, and returns the number of its spell, for the second call. A
 * spell ends with the next wait or turn, and with it its scopes. */
unsigned lagwatch_scope_begin(LoopObject* loop, const char* name, uint32_t deadline_ms);
void lagwatch_scope_end(LoopObject* loop, unsigned spell);
/* Ends the spell of the calling thread. Needs no lock of the interpreter's. */
void lagwatch_end_scopes(lw_loop* loop);

/* The calling thread's loop waits in libuv or libev no more, as far as is known. */
void lagwatch_forget_waits(void);

/* Starts the monitor with the options of the last lagwatch._native.start(). Needs no lock of the
 * interpreter's. */
lw_status lagwatch_start_again(void);

/* Returns the text of a str, as UTF-8 that stays for as long as the process runs; the same text for equal
 * ones. Beyond the limit of 4,096 texts: "other". NULL with an exception set if it is no str. */
const char* lagwatch_text_of(PyObject* text);
/* Returns a name for what an asyncio.Handle is about to run, as lagwatch_text_of() does. Sets no exception.
 */
const char* lagwatch_tag_of_handle(PyObject* handle);
/* Returns a name for a callable. Sets no exception. */
const char* lagwatch_tag_of_callable(PyObject* callable);

/* Each adds its types or functions to the module. 0, or -1 with an exception set. */
int lagwatch_add_loops(PyObject* module);
int lagwatch_add_scopes(PyObject* module);
int lagwatch_add_tags(PyObject* module);
int lagwatch_add_hooks(PyObject* module);
int lagwatch_add_waits(PyObject* module);

#endif /* LAGWATCH_PYTHON_MODULE_H_ */
