// SPDX-License-Identifier: Apache-2.0
// A program that does what its input says, a line each, and prints "done" after it: calls whose numbers,
// arguments and times a test knows.
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

struct Uri {
  int length;
  char text[32];
};
struct Request {
  long number;
  Uri* uri;
  Uri own;
};

extern "C" {

[[gnu::noinline]] int add_numbers(int a, int b) {
  asm volatile("");
  return a + b;
}

[[gnu::noinline]] double scale_number(double number, float factor) {
  asm volatile("");
  return number * static_cast<double>(factor);
}

[[gnu::noinline]] size_t handle_request(const Request* request, const char* tag) {
  asm volatile("");
  return static_cast<size_t>(request->uri->length) + std::strlen(tag);
}

[[gnu::noinline]] void sleep_ms(int ms) {
  usleep(static_cast<unsigned>(ms) * 1000);
  asm volatile("");
}

[[gnu::noinline]] void outer_caller(int count) {
  for (int i = 0; i < count; ++i) add_numbers(i, 1);
  asm volatile("");
}

}  // extern "C"

namespace shop {
[[gnu::noinline]] void Refuse(int number) {
  if (number % 2 == 0) throw std::out_of_range("even");
  asm volatile("");
}
}  // namespace shop

namespace {

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
void* volatile g_memory;
char g_original[4096];
char g_copy[sizeof g_original];
volatile size_t g_copy_bytes = 1234;

void Repeat(const char* what, int count) {
  Request request{.number = 7, .uri = nullptr, .own = {.length = 5, .text = "/home"}};
  request.uri = &request.own;
  for (int i = 0; i < count; ++i) {
    if (std::strcmp(what, "add") == 0) add_numbers(i, 2);
    if (std::strcmp(what, "scale") == 0) scale_number(i, 0.5F);
    if (std::strcmp(what, "request") == 0) handle_request(&request, i % 2 == 0 ? "even" : "odd");
    if (std::strcmp(what, "sleep") == 0) sleep_ms(i % 2 == 0 ? 0 : 5);
    if (std::strcmp(what, "outer") == 0) outer_caller(1);
    if (std::strcmp(what, "copy") == 0) __builtin_memcpy(g_copy, g_original, g_copy_bytes);
    if (std::strcmp(what, "alloc") == 0) {
      g_memory = std::malloc(1234);
      std::free(g_memory);
    }
    if (std::strcmp(what, "allocators") == 0) {
      void* aligned = nullptr;
      void* const all[] = {std::malloc(50'001),           std::calloc(5, 10'001),
                           std::realloc(nullptr, 50'002), std::aligned_alloc(64, 50'048),
                           memalign(32, 50'016),          valloc(50'003),
                           ::operator new(50'004),        (posix_memalign(&aligned, 64, 50'006), aligned)};
      for (void* volatile each : all) std::free(each);
    }
    if (std::strcmp(what, "lock") == 0) {
      pthread_mutex_lock(&g_lock);
      usleep(2000);
      pthread_mutex_unlock(&g_lock);
    }
    if (std::strcmp(what, "throw") == 0) {
      try {
        shop::Refuse(i);
      } catch (const std::exception&) {
      }
    }
  }
}

// A filter that ends the process at a call that it does not expect.
void Confine() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{4, filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  std::printf("confined %d\n", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

// Of a function of its own, and one of the C library's.
void PrintCode() {
  const void* library_function = dlsym(RTLD_DEFAULT, "usleep");
  for (const void* function : {reinterpret_cast<const void*>(&add_numbers), library_function}) {
    const auto* code = static_cast<const unsigned char*>(function);
    for (int i = 0; i < 16; ++i) std::printf("%02x", code[i]);
  }
  std::printf("\n");
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::puts("ready");
  char line[128];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    char what[32] = {};
    int count = 0;
    if (std::sscanf(line, "%31s %d", what, &count) < 1) continue;
    if (std::strcmp(what, "exit") == 0) return count;
    if (std::strcmp(what, "become") == 0) return execl("/bin/sleep", "sleep", "20", nullptr);
    if (std::strcmp(what, "code") == 0)
      PrintCode();
    else if (std::strcmp(what, "confine") == 0)
      Confine();
    else if (std::strcmp(what, "fork") == 0)
      std::printf("child %d\n", fork() == 0 ? (Repeat("add", count), _exit(0), 0) : 0);
    else
      Repeat(what, count);
    std::puts("done");
  }
  return 0;
}
