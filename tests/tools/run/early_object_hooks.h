// SPDX-License-Identifier: Apache-2.0
// The waits that poll nothing, for early_hooks.c.
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <threads.h>

ssize_t __read_chk(int fd, void* bytes, size_t size, size_t room);
ssize_t __recv_chk(int fd, void* bytes, size_t size, size_t room, int flags);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static mtx_t c_mutex;
static cnd_t c_condition;
static const struct timespec kPast = {1, 0};

static int ErrorOf(long result) { return result == -1 ? errno : (int)result; }
// Ends by the signal's default action: then the status is 0.
#define UNTIL_ALARM(call) IN_CHILD((ualarm(1000, 0), call))
#define IN_MUTEX(call)          \
  pthread_mutex_lock(&mutex);   \
  const int result = call;      \
  pthread_mutex_unlock(&mutex); \
  return result
#define IN_C_MUTEX(call)         \
  mtx_init(&c_mutex, mtx_plain); \
  cnd_init(&c_condition);        \
  mtx_lock(&c_mutex);            \
  const int result = call;       \
  mtx_unlock(&c_mutex);          \
  return result
#define WITH_SEMAPHORE(value, call) \
  sem_t semaphore;                  \
  sem_init(&semaphore, 0, value);   \
  return ErrorOf(call)

static char room[8];
static int Read(void) { return ErrorOf(read(-1, room, 1)); }
static int ReadChk(void) { return ErrorOf(__read_chk(-1, room, 1, sizeof room)); }
static int Recv(void) { return ErrorOf(recv(-1, room, 1, 0)); }
static int RecvChk(void) { return ErrorOf(__recv_chk(-1, room, 1, sizeof room, 0)); }
static int Recvfrom(void) { return ErrorOf(recvfrom(-1, room, 1, 0, NULL, NULL)); }
static int Recvmsg(void) { return ErrorOf(recvmsg(-1, &(struct msghdr){0}, 0)); }
static int Accept(void) { return ErrorOf(accept(-1, NULL, NULL)); }
static int Accept4(void) { return ErrorOf(accept4(-1, NULL, NULL, 0)); }
static int Nanosleep(void) { return nanosleep(&kSoon, NULL); }
static int ClockNanosleep(void) { return clock_nanosleep(CLOCK_MONOTONIC, 0, &kSoon, NULL); }
static int Usleep(void) { return usleep(1); }
static int Pause(void) { return UNTIL_ALARM(pause()); }
static int Sigsuspend(void) {
  sigset_t none;
  sigemptyset(&none);
  return UNTIL_ALARM(sigsuspend(&none));
}
static int CondClockwait(void) {
  IN_MUTEX(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &kPast));
}
static int CndWait(void) {
  return UNTIL_ALARM((mtx_init(&c_mutex, mtx_plain), cnd_init(&c_condition), mtx_lock(&c_mutex),
                      cnd_wait(&c_condition, &c_mutex)));
}
static int CndTimedwait(void) { IN_C_MUTEX(cnd_timedwait(&c_condition, &c_mutex, &kPast)); }
static int SemWait(void) { WITH_SEMAPHORE(1, sem_wait(&semaphore)); }
static int SemTimedwait(void) { WITH_SEMAPHORE(0, sem_timedwait(&semaphore, &kPast)); }
static int SemClockwait(void) { WITH_SEMAPHORE(0, sem_clockwait(&semaphore, CLOCK_MONOTONIC, &kPast)); }
static int Semop(void) { return ErrorOf(semop(-1, &(struct sembuf){0, 1, 0}, 1)); }
static int Semtimedop(void) { return ErrorOf(semtimedop(-1, &(struct sembuf){0, 1, 0}, 1, NULL)); }
static int Msgrcv(void) { return ErrorOf(msgrcv(-1, room, 1, 0, 0)); }
static int MqReceive(void) { return ErrorOf(mq_receive((mqd_t)-1, room, 1, NULL)); }
static int MqTimedreceive(void) { return ErrorOf(mq_timedreceive((mqd_t)-1, room, 1, NULL, &kPast)); }

#define OBJECT_HOOKS                                                                                         \
  {"read", Read}, {"__read_chk", ReadChk}, {"recv", Recv}, {"__recv_chk", RecvChk}, {"recvfrom", Recvfrom},  \
      {"recvmsg", Recvmsg}, {"accept", Accept}, {"accept4", Accept4}, {"nanosleep", Nanosleep},              \
      {"clock_nanosleep", ClockNanosleep}, {"usleep", Usleep}, {"pause", Pause}, {"sigsuspend", Sigsuspend}, \
      {"pthread_cond_clockwait", CondClockwait}, {"cnd_wait", CndWait}, {"cnd_timedwait", CndTimedwait},     \
      {"sem_wait", SemWait}, {"sem_timedwait", SemTimedwait}, {"sem_clockwait", SemClockwait},               \
      {"semop", Semop}, {"semtimedop", Semtimedop}, {"msgrcv", Msgrcv}, {"mq_receive", MqReceive}, {         \
    "mq_timedreceive", MqTimedreceive                                                                        \
  }
