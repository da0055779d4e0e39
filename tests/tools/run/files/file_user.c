/* SPDX-License-Identifier: Apache-2.0 */
/* An unprepared program whose loop uses files in one handler as its argument says, in a folder of its own. It
 * prints "KEY=NUMBER" for what a report is to have: the calls that it has made, and their time.
 *
 *   file_user RECIPE FOLDER LIMIT_MS
 *
 * Recipes that must take long repeat their call until that took three times the limit, whatever the machine.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STORM_CALLS 4100

static long long g_limit_ns;
static long g_calls;
static volatile int g_size = 512; /* unknown to the compiler, so that it calls the checked variants */

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void check(int is_right, const char* what) {
  if (is_right) return;
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(1);
}

/* Calls `call` until that took so long. */
static void repeat(void (*call)(int), int argument) {
  long long spent_ns = 0;
  while (spent_ns < 3 * g_limit_ns) {
    const long long begin_ns = now_ns();
    call(argument);
    spent_ns += now_ns() - begin_ns;
    ++g_calls;
  }
}

static void read_once(int fd) {
  char bytes[1 << 14];
  check(pread(fd, bytes, (size_t)g_size * 32, 0) == (ssize_t)g_size * 32, "pread");
}
__attribute__((noinline)) static void ReadFile(void) {
  const int fd = open("data.bin", O_RDWR | O_CREAT, 0600);
  check(fd >= 0 && ftruncate(fd, 1 << 14) == 0, "data.bin");
  repeat(read_once, fd);
  close(fd);
}

static void write_once(int fd) { check(pwrite(fd, "line\n", 5, 0) == 5 && fsync(fd) == 0, "pwrite"); }
__attribute__((noinline)) static void SyncFile(void) {
  const int fd = open("log.txt", O_RDWR | O_CREAT, 0600);
  check(fd >= 0, "log.txt");
  repeat(write_once, fd);
  close(fd);
}

__attribute__((noinline)) static void StatStorm(void) {
  char path[64];
  struct stat status;
  check(mkdir("plugins", 0700) == 0, "plugins");
  for (int i = 0; i < STORM_CALLS; ++i) {
    snprintf(path, sizeof path, "plugins/part%d/plugin.so", i % 100);
    check(stat(path, &status) != 0 && errno == ENOENT, "stat");
    ++g_calls;
  }
}

/* A FIFO whose writer comes late: one call that takes long. */
__attribute__((noinline)) static void OpenLate(void) {
  check(mkfifo("answers", 0600) == 0, "mkfifo");
  const pid_t child = fork();
  if (child == 0) {
    usleep((useconds_t)(3 * g_limit_ns / 1000));
    const int fd = open("answers", O_WRONLY);
    _exit(fd < 0);
  }
  const int fd = open("answers", O_RDONLY);
  check(fd >= 0, "open");
  g_calls = 1;
  close(fd);
  waitpid(child, NULL, 0);
}

__attribute__((noinline)) static void LockLate(void) {
  int ready[2];
  const int fd = open("lock", O_RDWR | O_CREAT, 0600);
  check(fd >= 0 && pipe(ready) == 0, "lock");
  const pid_t child = fork();
  if (child == 0) {
    const int own = open("lock", O_RDWR);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(own, F_SETLK, &lock) != 0 || write(ready[1], "x", 1) != 1) _exit(1);
    usleep((useconds_t)(3 * g_limit_ns / 1000));
    _exit(0);
  }
  char byte;
  check(read(ready[0], &byte, 1) == 1, "ready");
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  check(fcntl(fd, F_SETLKW, &lock) == 0, "fcntl");
  check((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR, "F_GETFL"); /* no pointer, no wait */
  g_calls = 1;
  close(fd);
  waitpid(child, NULL, 0);
}

static void stream_once(int unused) {
  char line[512];
  (void)unused;
  FILE* stream = fopen("settings.ini", "r");
  check(stream != NULL && fgets(line, g_size, stream) != NULL, "settings.ini");
  fclose(stream);
}
__attribute__((noinline)) static void ReadSettings(void) {
  FILE* stream = fopen("settings.ini", "w");
  check(stream != NULL && fputs("[a]\n", stream) >= 0 && fclose(stream) == 0, "settings.ini");
  repeat(stream_once, 0);
}

static void list_once(int unused) {
  (void)unused;
  DIR* folder = opendir(".");
  check(folder != NULL, "opendir");
  while (readdir(folder) != NULL) {
  }
  closedir(folder);
}
__attribute__((noinline)) static void ListFolder(void) { repeat(list_once, 0); }

static void resolve_once(int unused) {
  struct addrinfo* found = NULL;
  (void)unused;
  if (getaddrinfo("localhost", "80", NULL, &found) == 0) freeaddrinfo(found);
}
__attribute__((noinline)) static void ResolveNames(void) { repeat(resolve_once, 0); }

/* Names of the system's own folders may be shown. */
__attribute__((noinline)) static void LookInSystem(void) {
  char path[64];
  struct stat status;
  for (int i = 0; i < STORM_CALLS; ++i, ++g_calls) {
    snprintf(path, sizeof path, "/usr/share/lagwatch-none/part%d/x", i % 100);
    check(stat(path, &status) != 0 && errno == ENOENT, "stat");
  }
}

/* The call leaves no NUL, and behind its buffer there is no memory. */
__attribute__((noinline)) static void OverwritePath(void) {
  const long page = sysconf(_SC_PAGESIZE);
  char* memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(memory != MAP_FAILED && mprotect(memory + page, page, PROT_NONE) == 0, "mmap");
  check(symlink("abcdefghijklmnop", "link") == 0, "symlink");
  char* name = memory + page - 16;
  char* volatile output = name; /* an alias that the compiler does not know */
  strcpy(name, "link");
  check(readlink(name, output, 16) == 16, "readlink");
  g_calls = 2;
}

static void* write_late(void* fd) {
  usleep((useconds_t)(3 * g_limit_ns / 1000));
  check(write(*(int*)fd, "x", 1) == 1, "write");
  return NULL;
}
static ssize_t read_cookie(void* cookie, char* bytes, size_t size) {
  (void)size;
  return read(*(int*)cookie, bytes, 1);
}
/* A long read by a descriptor that was a file's, closed by way of a stream. */
__attribute__((noinline)) static void ReuseDescriptor(void) {
  pthread_t thread;
  int pair[2];
  char byte;
  FILE* stream = fdopen(open("secret", O_RDWR | O_CREAT, 0600), "r");
  check(stream != NULL && fclose(stream) == 0, "fdopen");
  check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
  check(pthread_create(&thread, NULL, write_late, &pair[1]) == 0, "pthread_create");
  check(read(pair[0], &byte, 1) == 1, "read");
  pthread_join(thread, NULL);
}

/* One long read inside of another counted call. */
__attribute__((noinline)) static void ReadNested(void) {
  pthread_t thread;
  int pair[2];
  char byte;
  check(pipe(pair) == 0, "pipe");
  FILE* stream = fopencookie(&pair[0], "r", (cookie_io_functions_t){.read = read_cookie});
  check(stream != NULL, "fopencookie");
  setvbuf(stream, NULL, _IONBF, 0);
  check(pthread_create(&thread, NULL, write_late, &pair[1]) == 0, "pthread_create");
  const long long begin_ns = now_ns();
  check(fread(&byte, 1, 1, stream) == 1, "fread");
  g_calls = (long)((now_ns() - begin_ns) / 1000);
  pthread_join(thread, NULL);
}

/* Lines, nearly all of them out of a buffer. */
__attribute__((noinline)) static void UseLines(void) {
  char line[512];
  FILE* stream = fopen("lines", "w");
  for (int i = 0; i < 1000; ++i) check(fputs("line\n", stream) >= 0, "fputs");
  fclose(stream);
  stream = fopen("lines", "r");
  while (fgets(line, g_size, stream) != NULL) ++g_calls;
  fclose(stream);
}

/* The process is killed long after the dispatch. */
static void DieLater(void) {
  StatStorm();
  for (int turn = 0; turn < 40; ++turn) poll(NULL, 0, 20);
  kill(getpid(), SIGKILL);
}

/* Few and fast: nothing is to be reported. */
__attribute__((noinline)) static void LittleUse(void) {
  char byte;
  const int fd = open("/dev/zero", O_RDONLY);
  for (int i = 0; i < 100; ++i) check(read(fd, &byte, 1) == 1, "read");
  close(fd);
}

/* Another thread's use is not the loop's. */
static void* use_elsewhere(void* unused) {
  StatStorm();
  return unused;
}
__attribute__((noinline)) static void UseElsewhere(void) {
  pthread_t thread;
  check(pthread_create(&thread, NULL, use_elsewhere, NULL) == 0, "pthread_create");
  pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } kRecipes[] = {{"read", ReadFile},         {"sync", SyncFile},
                  {"storm", StatStorm},       {"open", OpenLate},
                  {"lock", LockLate},         {"stream", ReadSettings},
                  {"list", ListFolder},       {"resolve", ResolveNames},
                  {"little", LittleUse},      {"elsewhere", UseElsewhere},
                  {"system", LookInSystem},   {"overwrite", OverwritePath},
                  {"reuse", ReuseDescriptor}, {"nested", ReadNested},
                  {"lines", UseLines},        {"die", DieLater}};
  check(argc == 4 && chdir(argv[2]) == 0, "usage");
  g_limit_ns = atoll(argv[3]) * 1000000LL;
  for (int turn = 0; turn < 6; ++turn) {
    poll(NULL, 0, 20);
    if (turn != 2) continue;
    for (size_t i = 0; i < sizeof kRecipes / sizeof *kRecipes; ++i) {
      if (strcmp(argv[1], kRecipes[i].name) == 0) kRecipes[i].run();
    }
    poll(NULL, 0, 20);
  }
  printf("calls=%ld\n", g_calls);
  return 0;
}
