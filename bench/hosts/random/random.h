// SPDX-License-Identifier: Apache-2.0
// Random hosts: a program does what its ingredients do, in an order that a seed decides, and prints what it
// saw: the same with and without a monitor. random_hosts.py chooses a seed's ingredients and builds the
// program.
#pragma once

#include <stdint.h>

// One kind of behaviour. The functions may be NULL.
struct Ingredient {
  const char* name;
  void (*begin)(void);  // before the loop begins, in each program of a chain
  int (*step)(void);    // in a dispatch; returns what it saw
  int (*end)(void);     // undoes begin() and returns what was seen
};

extern const struct Ingredient kExec;
extern const struct Ingredient kFloats;
extern const struct Ingredient kHangs;
extern const struct Ingredient kInside;
extern const struct Ingredient kNames;
extern const struct Ingredient kNamespaces;
extern const struct Ingredient kPinned;
extern const struct Ingredient kPriorities;
extern const struct Ingredient kProcesses;
extern const struct Ingredient kSignals;
extern const struct Ingredient kSystem;
extern const struct Ingredient kTakers;
extern const struct Ingredient kThreads;
extern const struct Ingredient kTimes;

// The same numbers in each run of a seed: each step begins with Reseed(), so it draws the same ones also when
// other ingredients are left out.
void Reseed(uint64_t seed, int step);
uint32_t Random(uint32_t below);

// By the system call: programs may define the C library's functions.
void PauseMs(int ms);
long NowMs(void);
// Without a wait; past no threshold.
void Compute(int ms);
int CountDescriptors(void);

// Starts a thread that is_program_thread.
unsigned long StartThread(void* (*run)(void*), void* argument);
// True in threads that the program started, and in its main thread: own_heap.c and own_names.c expect only
// these.
int IsProgramThread(void);

// The function of a planted hang that the next numbers choose: its name.
const char* ChooseHang(int* may_be_idle);

// The arguments of this program, and of the next one: it goes on after the current step.
char** NextArguments(void);
