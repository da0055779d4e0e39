/* SPDX-License-Identifier: Apache-2.0 */
/* A main thread that waits for pieces of work of another thread: blocking_loop WAIT END. After the 20th it
 * spends 500 ms in FreezeHere(); with the end "batch" it waits no more. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { kWaits = 20, kPieces = 40 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int pieces;
static sem_t semaphore;
static int event;

static void SleepMs(int ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
  nanosleep(&time, NULL);
}

__attribute__((noinline)) void FreezeHere(void) {
  SleepMs(500);
  __asm__ volatile("");
}

static void WaitForCondition(void) {
  pthread_mutex_lock(&mutex);
  while (pieces == 0) pthread_cond_wait(&condition, &mutex);
  --pieces;
  pthread_mutex_unlock(&mutex);
}
static void WaitForSemaphore(void) { sem_wait(&semaphore); }
static void ReadEvent(void) {
  eventfd_t count;
  if (read(event, &count, sizeof count) < 0) perror("read");
}

static void* Post(void* unused) {
  for (int i = 0; i < kPieces; ++i) {
    SleepMs(40);
    pthread_mutex_lock(&mutex);
    ++pieces;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    sem_post(&semaphore);
    eventfd_write(event, 1);
  }
  return unused;
}

int main(int count, char** arguments) {
  void (*wait)(void) =
      count > 1 && strcmp(arguments[1], "sem_wait") == 0 ? WaitForSemaphore : WaitForCondition;
  pthread_t poster;
  if (count > 1 && strcmp(arguments[1], "read") == 0) wait = ReadEvent;
  sem_init(&semaphore, 0, 0);
  event = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  pthread_create(&poster, NULL, Post, NULL);
  for (int i = 0; i < kWaits; ++i) wait();
  FreezeHere();
  if (count > 2 && strcmp(arguments[2], "batch") == 0) return puts("good") < 0;
  for (int i = kWaits; i < kPieces; ++i) wait();
  return puts("good") < 0;
}
