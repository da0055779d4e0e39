// SPDX-License-Identifier: Apache-2.0
// A program whose loop freezes because another process does not answer.
//
// Usage: across SCENE. Its loop turns a few times, then a handler, WaitInHandler(), waits for a process named
// "answering" (of some scenes, by way of one named "between"), which is in the function that the scene's line
// in across.py names for 1.2 s, and then answers.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SCENE_FUNCTION static __attribute__((noinline)) void

static volatile unsigned long turns;

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
static void Sleep(double seconds) {
  struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}
static void Must(int is_right, const char* what) {
  if (is_right) return;
  perror(what);
  exit(2);
}

// The answering process is busy meanwhile.
SCENE_FUNCTION ReadSlowly(void) {
  Sleep(1.2);
  ++turns;
}
SCENE_FUNCTION ComputeSlowly(void) {
  const double end = Now() + 1.2;
  while (Now() < end) ++turns;
}

static pid_t Fork(const char* name, void (*body)(void)) {
  const pid_t pid = fork();
  Must(pid >= 0, "fork");
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, name);
  body();
  _exit(0);
}

static int ends[2];          // [0] is the host's, except of pipes
static int further_ends[2];  // of another process
static int server;
static char path[108];

static void Send(int fd) { Must(write(fd, "x", 1) == 1, "write"); }
static void Receive(int fd) {
  char byte;
  Must(read(fd, &byte, 1) == 1, "read");
}
static void Ask(void) {
  Send(ends[0]);
  Receive(ends[0]);
}
static void Answer(void (*meanwhile)(void)) {
  Receive(ends[1]);
  meanwhile();
  Send(ends[1]);
}
static void MakePair(int* pair) {
  Must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "socketpair");
}
// A process has its own end alone.
static void KeepEnd(int* pair, int kept) { close(pair[1 - kept]); }

// Each scene: Prepare starts the other process, Wait is the host's handler.

static void PipeAnswer(void) {
  Sleep(0.8);
  ComputeSlowly();
  Send(ends[1]);
}
static void PreparePipe(void) {
  Must(pipe2(ends, O_CLOEXEC) == 0, "pipe");
  Fork("answering", PipeAnswer);
  close(ends[1]);
}
static void WaitPipe(void) { Receive(ends[0]); }

static void DrainSlowly(void) {
  Sleep(0.8);
  ReadSlowly();
  char bytes[4096];
  while (read(ends[0], bytes, sizeof bytes) > 0) {
  }
}
static void PrepareFullPipe(void) {
  Must(pipe2(ends, O_CLOEXEC) == 0, "pipe");
  Must(fcntl(ends[1], F_SETPIPE_SZ, 4096) > 0, "F_SETPIPE_SZ");
  const pid_t pid = fork();
  Must(pid >= 0, "fork");
  if (pid == 0) {
    close(ends[1]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "answering");
    DrainSlowly();
    _exit(0);
  }
  close(ends[0]);
}
static void WaitFullPipe(void) {
  static char bytes[64 * 1024];
  Must(write(ends[1], bytes, sizeof bytes) == sizeof bytes, "write");
}

static void FifoAnswer(void) {
  ends[1] = open(path, O_WRONLY | O_CLOEXEC);
  Sleep(0.8);
  ReadSlowly();
  Send(ends[1]);
}
static void PrepareFifo(void) {
  Must(mkfifo(path, 0600) == 0, "mkfifo");
  Fork("answering", FifoAnswer);
  ends[0] = open(path, O_RDONLY | O_CLOEXEC);
  Must(ends[0] >= 0, "open");
}

static void PairAnswer(void) {
  KeepEnd(ends, 1);
  Answer(ComputeSlowly);
}
static void PreparePair(void) {
  MakePair(ends);
  Fork("answering", PairAnswer);
  KeepEnd(ends, 0);
}

static struct sockaddr_un UnixAddress(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  memcpy(address.sun_path, path, sizeof address.sun_path);
  return address;
}
static void Listen(int family, const struct sockaddr* address, socklen_t size) {
  server = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Must(server >= 0 && bind(server, address, size) == 0 && listen(server, 8) == 0, "listen");
}
static void Connect(void) {
  struct sockaddr_storage address;
  socklen_t size = sizeof address;
  Must(getsockname(server, (struct sockaddr*)&address, &size) == 0, "getsockname");
  ends[0] = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Must(connect(ends[0], (struct sockaddr*)&address, size) == 0, "connect");
  close(server);
}
static void Serve(void) {
  ends[1] = accept4(server, NULL, NULL, SOCK_CLOEXEC);
  Answer(ReadSlowly);
}
static void ServeLate(void) {
  Sleep(0.8);
  ReadSlowly();
  ends[1] = accept4(server, NULL, NULL, SOCK_CLOEXEC);
  Answer(ReadSlowly);
}
static void ListenUnix(void) {
  const struct sockaddr_un address = UnixAddress();
  Listen(AF_UNIX, (const struct sockaddr*)&address, sizeof address);
}
static void ListenTcp(void) {
  const struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  Listen(AF_INET, (const struct sockaddr*)&address, sizeof address);
}
static void PrepareUnix(void) {
  ListenUnix();
  Fork("answering", Serve);
  Connect();
}
static void PrepareUnaccepted(void) {
  ListenUnix();
  Fork("answering", ServeLate);
  Connect();
}
static void PrepareTcp(void) {
  ListenTcp();
  Fork("answering", Serve);
  Connect();
}
static void PrepareTcpUnaccepted(void) {
  ListenTcp();
  Fork("answering", ServeLate);
  Connect();
}

// A server whose main thread accepts, and whose other thread answers.
static void* RunWorker(void* unused) {
  (void)unused;
  prctl(PR_SET_NAME, "worker");
  Answer(ComputeSlowly);
  return NULL;
}
static void ServeByAThread(void) {
  ends[1] = accept4(server, NULL, NULL, SOCK_CLOEXEC);
  pthread_t worker;
  Must(pthread_create(&worker, NULL, RunWorker, NULL) == 0, "pthread_create");
  for (;;) close(accept4(server, NULL, NULL, SOCK_CLOEXEC));
}
static void PrepareWorker(void) {
  ListenTcp();
  Fork("answering", ServeByAThread);
  Connect();
}

// The thread that answers waits for a lock that another one keeps.
static pthread_mutex_t inner_lock = PTHREAD_MUTEX_INITIALIZER;
SCENE_FUNCTION KeepLock(void) {
  pthread_mutex_lock(&inner_lock);
  Receive(further_ends[1]);
  ReadSlowly();
  pthread_mutex_unlock(&inner_lock);
}
static void* RunKeeper(void* unused) {
  (void)unused;
  KeepLock();
  return NULL;
}
static void AnswerUnderLock(void) {
  pthread_t keeper;
  Must(pthread_create(&keeper, NULL, RunKeeper, NULL) == 0, "pthread_create");
  Receive(ends[1]);
  Send(further_ends[0]);
  pthread_mutex_lock(&inner_lock);
  Send(ends[1]);
}
static void PrepareLocked(void) {
  MakePair(ends);
  MakePair(further_ends);
  Fork("answering", AnswerUnderLock);
  KeepEnd(ends, 0);
  close(further_ends[0]);
  close(further_ends[1]);
}

static pid_t child;
static void PrepareNothing(void) {}
static void WaitChild(void) {
  child = Fork("answering", ComputeSlowly);
  waitpid(child, NULL, 0);
}
static void WaitVfork(void) {
  child = vfork();
  if (child == 0) {
    prctl(PR_SET_NAME, "answering");
    ReadSlowly();
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

static int lock_file;
static int command_of_lock;
static void LockFile(int fd) {
  struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  const int result = command_of_lock == 0 ? flock(fd, LOCK_EX) : fcntl(fd, command_of_lock, &all);
  Must(result == 0, "lock");
}
static void KeepFile(void) {
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  LockFile(fd);
  Send(ends[1]);
  Sleep(0.8);
  ComputeSlowly();
}
static void PrepareFile(void) {
  MakePair(ends);
  lock_file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  Fork("answering", KeepFile);
  Receive(ends[0]);
}
static void PreparePosixLock(void) {
  command_of_lock = F_SETLKW;
  PrepareFile();
}
static void PrepareOfdLock(void) {
  command_of_lock = F_OFD_SETLKW;
  PrepareFile();
}
static void WaitFile(void) { LockFile(lock_file); }

static pthread_mutex_t* shared_lock;
static void KeepSharedLock(void) {
  pthread_mutex_lock(shared_lock);
  Send(ends[1]);
  Sleep(0.8);
  ReadSlowly();
  pthread_mutex_unlock(shared_lock);
}
static void PrepareSharedLock(void) {
  MakePair(ends);
  shared_lock = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_mutexattr_t shared;
  pthread_mutexattr_init(&shared);
  pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(shared_lock, &shared);
  Fork("answering", KeepSharedLock);
  Receive(ends[0]);
}
static void WaitSharedLock(void) { pthread_mutex_lock(shared_lock); }

// host → between → answering.
static void AnswerFurther(void) {
  KeepEnd(further_ends, 1);
  close(ends[0]);
  close(ends[1]);
  ends[1] = further_ends[1];
  Answer(ComputeSlowly);
}
static void PassOn(void) {
  KeepEnd(ends, 1);
  KeepEnd(further_ends, 0);
  Receive(ends[1]);
  Send(further_ends[0]);
  Receive(further_ends[0]);
  Send(ends[1]);
}
static void PrepareChain(void) {
  MakePair(ends);
  MakePair(further_ends);
  Fork("answering", AnswerFurther);
  Fork("between", PassOn);
  KeepEnd(ends, 0);
  close(further_ends[0]);
  close(further_ends[1]);
}

// Each waits for what the other would send.
SCENE_FUNCTION WaitInTurn(void) {
  char byte;
  KeepEnd(ends, 1);
  if (read(ends[1], &byte, 1) == 1) ++turns;
}
static void PrepareIdle(void) {
  MakePair(ends);
  Fork("answering", WaitInTurn);
  KeepEnd(ends, 0);
}
static void WaitIdle(void) {
  const struct timeval limit = {1, 200000};
  char byte;
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (read(ends[0], &byte, 1) == 1) ++turns;
}

static pid_t stopped;
static void WaitStopped(void) {
  Send(ends[0]);
  WaitIdle();
}
static void PrepareStopped(void) {
  MakePair(ends);
  stopped = Fork("answering", PairAnswer);
  KeepEnd(ends, 0);
  Sleep(0.1);  // until it waits for the question
  kill(stopped, SIGSTOP);
}

// Locks of files, each process holds one and waits for the next one's.
static int links;
static int LinkFile(int index) {
  char name[128];
  snprintf(name, sizeof name, "%s.%d", path, index % links);
  return open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}
static int link_index;
SCENE_FUNCTION WaitForNextLink(void) {
  flock(LinkFile(link_index + 1), LOCK_EX);
  ++turns;
}
static void KeepLink(void) {
  flock(LinkFile(link_index), LOCK_EX);
  Send(ends[1]);
  Receive(ends[1]);  // all have theirs
  WaitForNextLink();
}
static void PrepareLinks(int count) {
  links = count;
  MakePair(ends);
  flock(LinkFile(0), LOCK_EX);
  for (link_index = 1; link_index < links; ++link_index) {
    Fork("answering", KeepLink);
    Receive(ends[0]);
  }
  for (int i = 1; i < links; ++i) Send(ends[0]);
  link_index = 0;
}
static void PrepareTwo(void) { PrepareLinks(2); }
static void PrepareThree(void) { PrepareLinks(3); }

static const struct {
  const char* name;
  void (*prepare)(void);
  void (*wait)(void);
} kScenes[] = {{"pipe", PreparePipe, WaitPipe},
               {"full-pipe", PrepareFullPipe, WaitFullPipe},
               {"fifo", PrepareFifo, WaitPipe},
               {"socket-pair", PreparePair, Ask},
               {"unix", PrepareUnix, Ask},
               {"unix-unaccepted", PrepareUnaccepted, Ask},
               {"tcp", PrepareTcp, Ask},
               {"tcp-unaccepted", PrepareTcpUnaccepted, Ask},
               {"tcp-worker", PrepareWorker, Ask},
               {"lock-in-peer", PrepareLocked, Ask},
               {"child", PrepareNothing, WaitChild},
               {"vfork", PrepareNothing, WaitVfork},
               {"flock", PrepareFile, WaitFile},
               {"posix-lock", PreparePosixLock, WaitFile},
               {"ofd-lock", PrepareOfdLock, WaitFile},
               {"shared-mutex", PrepareSharedLock, WaitSharedLock},
               {"chain", PrepareChain, Ask},
               {"idle", PrepareIdle, WaitIdle},
               {"stopped", PrepareStopped, WaitStopped},
               {"deadlock-of-two", PrepareTwo, WaitForNextLink},
               {"deadlock-of-three", PrepareThree, WaitForNextLink}};

SCENE_FUNCTION WaitInHandler(void (*wait)(void)) {
  wait();
  ++turns;
}

// Two descriptors, as loops have them.
static void TurnOnce(const int* loop, int timeout_ms) {
  struct pollfd waited[2] = {{.fd = loop[0], .events = POLLIN}, {.fd = STDIN_FILENO, .events = 0}};
  poll(waited, 2, timeout_ms);
  ++turns;
}

int main(int count, char** words) {
  int loop[2];
  Must(pipe2(loop, O_CLOEXEC) == 0, "pipe");
  const char* folder = getenv("TMPDIR") == NULL ? "/tmp" : getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/across-%d", folder, (int)getpid());
  for (size_t i = 0; count == 2 && i < sizeof kScenes / sizeof *kScenes; ++i) {
    if (strcmp(words[1], kScenes[i].name) != 0) continue;
    kScenes[i].prepare();
    for (int turn = 0; turn < 15; ++turn) TurnOnce(loop, 20);
    WaitInHandler(kScenes[i].wait);
    TurnOnce(loop, 100);
    if (stopped != 0) kill(stopped, SIGKILL);
    return 0;
  }
  fprintf(stderr, "usage: across SCENE\n");
  return 2;
}
