/* SPDX-License-Identifier: Apache-2.0 */
/* A loop that waits in the way that its first argument names, for work of another thread. One piece of work
 * hangs, in HangInHandler(); nothing else does. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static void SleepMs(int ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
  nanosleep(&time, NULL);
}

__attribute__((noinline)) void HangInHandler(void) {
  SleepMs(700);
  __asm__ volatile("");
}

/* A wake of the loop. */
static int ends[2];
static int event;
static int queue;
static mqd_t mqueue;
static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static mtx_t c_mutex;
static cnd_t c_condition;
static int posted; /* under the mutexes */
static atomic_uint word;
static pthread_t main_thread;
static sigset_t wake_signal;

static struct timespec In(int seconds) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_sec += seconds;
  return time;
}

static void Take(void) {
  char byte;
  if (read(ends[0], &byte, 1) != 1) abort();
}
static void Post(void) {
  if (write(ends[1], "x", 1) != 1) abort();
}
static void TakeEvent(void) {
  uint64_t count;
  if (read(event, &count, sizeof count) != sizeof count) abort();
}
static void PostEvent(void) {
  const uint64_t one = 1;
  if (write(event, &one, sizeof one) != sizeof one) abort();
}

static void Poll(void) {
  struct pollfd fds[2] = {{ends[0], POLLIN, 0}, {event, POLLIN, 0}};
  poll(fds, 2, 5000);
  Take();
}
static void PPoll(void) {
  struct pollfd fds[2] = {{ends[0], POLLIN, 0}, {event, POLLIN, 0}};
  const struct timespec limit = {5, 0};
  ppoll(fds, 2, &limit, &wake_signal);
  Take();
}
static void Select(void) {
  fd_set set;
  struct timeval limit = {5, 0};
  FD_ZERO(&set);
  FD_SET(ends[0], &set);
  FD_SET(event, &set);
  select((ends[0] > event ? ends[0] : event) + 1, &set, NULL, NULL, &limit);
  Take();
}
static void PSelect(void) {
  fd_set set;
  const struct timespec limit = {5, 0};
  FD_ZERO(&set);
  FD_SET(ends[0], &set);
  FD_SET(event, &set);
  pselect((ends[0] > event ? ends[0] : event) + 1, &set, NULL, NULL, &limit, &wake_signal);
  Take();
}
static int EpollOfEnds(void) {
  static int instance;
  if (instance == 0) {
    struct epoll_event wanted = {.events = EPOLLIN};
    instance = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(instance, EPOLL_CTL_ADD, ends[0], &wanted);
    epoll_ctl(instance, EPOLL_CTL_ADD, event, &wanted);
  }
  return instance;
}
static void EpollWait(void) {
  struct epoll_event got;
  epoll_wait(EpollOfEnds(), &got, 1, 5000);
  Take();
}
static void EpollPwait(void) {
  struct epoll_event got;
  epoll_pwait(EpollOfEnds(), &got, 1, 5000, &wake_signal);
  Take();
}
static void EpollPwait2(void) {
  struct epoll_event got;
  const struct timespec limit = {5, 0};
  epoll_pwait2(EpollOfEnds(), &got, 1, &limit, NULL);
  Take();
}

/* A ring that polls the pipe, by the kernel's own interface. */
static struct {
  int fd;
  unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail;
  struct io_uring_sqe* entries;
} ring;
static void OpenRing(void) {
  struct io_uring_params parameters;
  char *sq, *cq;
  memset(&parameters, 0, sizeof parameters);
  ring.fd = (int)syscall(SYS_io_uring_setup, 8, &parameters);
  if (ring.fd < 0) exit(77);
  sq = mmap(NULL, parameters.sq_off.array + parameters.sq_entries * 4, PROT_READ | PROT_WRITE,
            MAP_SHARED | MAP_POPULATE, ring.fd, IORING_OFF_SQ_RING);
  cq = mmap(NULL, parameters.cq_off.cqes + parameters.cq_entries * sizeof(struct io_uring_cqe),
            PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd, IORING_OFF_CQ_RING);
  ring.entries = mmap(NULL, parameters.sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_POPULATE, ring.fd, IORING_OFF_SQES);
  ring.sq_tail = (unsigned*)(sq + parameters.sq_off.tail);
  ring.sq_mask = (unsigned*)(sq + parameters.sq_off.ring_mask);
  ring.sq_array = (unsigned*)(sq + parameters.sq_off.array);
  ring.cq_head = (unsigned*)(cq + parameters.cq_off.head);
  ring.cq_tail = (unsigned*)(cq + parameters.cq_off.tail);
}
static void WaitInRing(void) {
  unsigned tail, index;
  struct io_uring_sqe* entry;
  if (ring.entries == NULL) OpenRing();
  tail = *ring.sq_tail;
  index = tail & *ring.sq_mask;
  entry = &ring.entries[index];
  memset(entry, 0, sizeof *entry);
  entry->opcode = IORING_OP_POLL_ADD;
  entry->fd = ends[0];
  entry->poll32_events = POLLIN;
  ring.sq_array[index] = index;
  __atomic_store_n(ring.sq_tail, tail + 1, __ATOMIC_RELEASE);
  while (syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0 && errno == EINTR)
    continue;
  __atomic_store_n(ring.cq_head, __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
  Take();
}

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
struct lw_futex_waitv {
  uint64_t value, address;
  uint32_t flags, reserved;
};
static void FutexWaitv(void) {
  static atomic_uint other;
  unsigned seen;
  while ((seen = atomic_load(&word)) == 0) {
    struct lw_futex_waitv waits[2] = {{0, (uintptr_t)&word, 2 | 128, 0}, {0, (uintptr_t)&other, 2 | 128, 0}};
    syscall(SYS_futex_waitv, waits, 2, 0, NULL, 0);
  }
  atomic_fetch_sub(&word, 1);
}
static void PostFutex(void) {
  atomic_fetch_add(&word, 1);
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
static void SigTimedWait(void) {
  const struct timespec limit = {5, 0};
  sigtimedwait(&wake_signal, NULL, &limit);
}
static void SigWaitInfo(void) { sigwaitinfo(&wake_signal, NULL); }
static void SigWait(void) {
  int number;
  sigwait(&wake_signal, &number);
}
static void PostSignal(void) { pthread_kill(main_thread, SIGUSR1); }
static void SignalFd(void) {
  static int fd;
  struct signalfd_siginfo info;
  if (fd == 0) fd = signalfd(-1, &wake_signal, SFD_CLOEXEC);
  if (read(fd, &info, sizeof info) != sizeof info) abort();
}
struct message {
  long type;
  char text[1];
};
static void MsgRcv(void) {
  struct message message;
  msgrcv(queue, &message, sizeof message.text, 0, 0);
}
static void PostMessage(void) {
  const struct message message = {1, "x"};
  msgsnd(queue, &message, sizeof message.text, 0);
}
static void MqTimedReceive(void) {
  char text[64];
  const struct timespec limit = In(5);
  mq_timedreceive(mqueue, text, sizeof text, NULL, &limit);
}
static void MqReceive(void) {
  char text[64];
  mq_receive(mqueue, text, sizeof text, NULL);
}
static void PostMqueue(void) { mq_send(mqueue, "x", 1, 0); }
static void SemTimedWait(void) {
  const struct timespec limit = In(5);
  sem_timedwait(&semaphore, &limit);
}
static void SemWait(void) { sem_wait(&semaphore); }
static void PostSemaphore(void) { sem_post(&semaphore); }
static void CondTimedWait(void) {
  const struct timespec limit = In(5);
  pthread_mutex_lock(&mutex);
  while (posted == 0) pthread_cond_timedwait(&condition, &mutex, &limit);
  --posted;
  pthread_mutex_unlock(&mutex);
}
static void CondWait(void) {
  pthread_mutex_lock(&mutex);
  while (posted == 0) pthread_cond_wait(&condition, &mutex);
  --posted;
  pthread_mutex_unlock(&mutex);
}
static void PostCondition(void) {
  pthread_mutex_lock(&mutex);
  ++posted;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
}
static void CndTimedWait(void) {
  const struct timespec limit = In(5);
  mtx_lock(&c_mutex);
  while (posted == 0) cnd_timedwait(&c_condition, &c_mutex, &limit);
  --posted;
  mtx_unlock(&c_mutex);
}
static void PostCnd(void) {
  mtx_lock(&c_mutex);
  ++posted;
  cnd_signal(&c_condition);
  mtx_unlock(&c_mutex);
}
static void TimerFd(void) {
  static int timer;
  uint64_t count;
  if (timer == 0) {
    const struct itimerspec every = {{0, 20000000}, {0, 20000000}};
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    timerfd_settime(timer, 0, &every, NULL);
  }
  if (read(timer, &count, sizeof count) != sizeof count) abort();
}
static void ClockNanosleep(void) {
  const struct timespec frame = {0, 16000000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &frame, NULL);
}
static void Recv(void) {
  char byte;
  if (recv(ends[0], &byte, 1, 0) != 1) abort();
}
static void RecvMsg(void) {
  char byte;
  struct iovec piece = {&byte, 1};
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
  if (recvmsg(ends[0], &message, 0) != 1) abort();
}
static void Nothing(void) {}

static const struct {
  const char* name;
  void (*wait)(void);
  void (*post)(void);
} kinds[] = {{"poll", Poll, Post},
             {"ppoll", PPoll, Post},
             {"select", Select, Post},
             {"pselect", PSelect, Post},
             {"epoll_wait", EpollWait, Post},
             {"epoll_pwait", EpollPwait, Post},
             {"epoll_pwait2", EpollPwait2, Post},
             {"io_uring", WaitInRing, Post},
             {"futex_waitv", FutexWaitv, PostFutex},
             {"sigtimedwait", SigTimedWait, PostSignal},
             {"sigwaitinfo", SigWaitInfo, PostSignal},
             {"sigwait", SigWait, PostSignal},
             {"signalfd", SignalFd, PostSignal},
             {"msgrcv", MsgRcv, PostMessage},
             {"mq_timedreceive", MqTimedReceive, PostMqueue},
             {"mq_receive", MqReceive, PostMqueue},
             {"sem_timedwait", SemTimedWait, PostSemaphore},
             {"sem_wait", SemWait, PostSemaphore},
             {"cond_timedwait", CondTimedWait, PostCondition},
             {"cond_wait", CondWait, PostCondition},
             {"cnd_timedwait", CndTimedWait, PostCnd},
             {"eventfd", TakeEvent, PostEvent},
             {"pipe", Take, Post},
             {"timerfd", TimerFd, Nothing},
             {"clock_nanosleep", ClockNanosleep, Nothing},
             {"recv", Recv, Post},
             {"recvmsg", RecvMsg, Post}};

static const int kPieces = 100;
static const int kHanging = 60;
static void (*post)(void);

static void* PostAll(void* argument) {
  for (int i = 0; i < kPieces; ++i) {
    SleepMs(i == kHanging + 1 ? 900 : 25);
    post();
  }
  return argument;
}

int main(int count, char** arguments) {
  void (*wait)(void) = NULL;
  pthread_t driver;
  char name[64];
  struct mq_attr attributes = {.mq_maxmsg = 8, .mq_msgsize = 64};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    if (count < 2) puts(kinds[i].name);
    if (count < 2 || strcmp(kinds[i].name, arguments[1]) != 0) continue;
    wait = kinds[i].wait;
    post = kinds[i].post;
  }
  if (wait == NULL) return count < 2 ? 0 : 2;
  main_thread = pthread_self();
  sigemptyset(&wake_signal);
  sigaddset(&wake_signal, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &wake_signal, NULL);
  if ((strncmp(arguments[1], "recv", 4) == 0 ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends)) != 0)
    return 1;
  event = eventfd(0, EFD_CLOEXEC);
  queue = msgget(IPC_PRIVATE, 0600);
  snprintf(name, sizeof name, "/loop_kinds-%d", (int)getpid());
  mqueue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
  mq_unlink(name);
  sem_init(&semaphore, 0, 0);
  mtx_init(&c_mutex, mtx_plain);
  cnd_init(&c_condition);
  pthread_create(&driver, NULL, &PostAll, NULL);
  for (int i = 0; i < kPieces; ++i) {
    wait();
    if (i == kHanging)
      HangInHandler();
    else
      SleepMs(1);
  }
  msgctl(queue, IPC_RMID, NULL);
  return 0;
}
