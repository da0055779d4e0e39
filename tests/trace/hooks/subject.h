// SPDX-License-Identifier: Apache-2.0
// A library whose calls are looked at: each function does one call by the library's own import table, from
// inside `Outer`, so that captured stacks have something to be known by.
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <ctime>

struct Subject {
  void* (*allocate)(size_t size_bytes);
  void* (*allocate_zeroed)(size_t count, size_t size_bytes);
  void* (*reallocate)(void* old, size_t size_bytes);
  void* (*allocate_aligned)(size_t alignment, size_t size_bytes);
  int (*allocate_posix)(void** memory, size_t alignment, size_t size_bytes);
  int* (*allocate_new)();  // by operator new
  void (*free_new)(int* number);
  void (*release)(void* memory);

  int (*lock)(pthread_mutex_t* mutex);
  int (*trylock)(pthread_mutex_t* mutex);
  int (*timedlock)(pthread_mutex_t* mutex, const timespec* until);
  int (*clocklock)(pthread_mutex_t* mutex, clockid_t clock, const timespec* until);
  int (*unlock)(pthread_mutex_t* mutex);
  int (*rdlock)(pthread_rwlock_t* lock);
  int (*wrlock)(pthread_rwlock_t* lock);
  int (*trywrlock)(pthread_rwlock_t* lock);
  int (*timedwrlock)(pthread_rwlock_t* lock, const timespec* until);
  int (*rwlock_unlock)(pthread_rwlock_t* lock);
  int (*cond_wait)(pthread_cond_t* condition, pthread_mutex_t* mutex);
  int (*cond_timedwait)(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until);
  int (*cond_signal)(pthread_cond_t* condition);
  int (*cond_broadcast)(pthread_cond_t* condition);
  int (*semaphore_wait)(sem_t* semaphore);
  int (*semaphore_trywait)(sem_t* semaphore);
  int (*semaphore_timedwait)(sem_t* semaphore, const timespec* until);
  int (*semaphore_post)(sem_t* semaphore);
  int (*barrier_wait)(pthread_barrier_t* barrier);
  int (*join)(pthread_t thread, void** result);
  long (*futex_wait)(uint32_t* word, uint32_t expected);
  long (*futex_wake)(uint32_t* word, int count);

  ssize_t (*read)(int fd, void* buffer, size_t size_bytes);
  ssize_t (*write)(int fd, const void* buffer, size_t size_bytes);
  int (*open)(const char* path, int flags, mode_t mode);
  int (*poll_one)(int fd, int timeout_ms);
  int (*sleep_for)(const timespec* duration);
  int (*read_clock)(clockid_t clock, timespec* now);
  time_t (*read_time)(time_t* now);
  void* (*load)(const char* path);
  int (*current_cpu)();  // by syscall(), but no futex

  // Whether an address is in `Outer`'s code.
  bool (*is_own_code)(uint64_t address);
};

// The library's export: `const Subject* GetSubject()`.
using GetSubjectFunction = const Subject* (*)();
