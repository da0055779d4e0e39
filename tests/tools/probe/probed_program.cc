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
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

// As <sys/sdt.h> writes it: a note about an instruction without effect. Listeners count themselves.
#define LISTENED_NOTE(provider, name, arguments) \
  "990: nop\n"                                   \
  ".pushsection .note.stapsdt, \"\", @note\n"    \
  ".balign 4\n"                                  \
  ".4byte 992f - 991f, 994f - 993f, 3\n"         \
  "991: .asciz \"stapsdt\"\n"                    \
  "992: .balign 4\n"                             \
  "993: .8byte 990b, 0, " #provider "_" #name    \
  "_semaphore\n"                                 \
  ".asciz \"" #provider                          \
  "\"\n"                                         \
  ".asciz \"" #name                              \
  "\"\n"                                         \
  ".asciz \"" arguments                          \
  "\"\n"                                         \
  "994: .balign 4\n"                             \
  ".popsection\n"

extern "C" {
__attribute__((section(".probes"), used)) volatile unsigned short shop_sale_semaphore = 0;
__attribute__((section(".probes"), used)) volatile unsigned short shop_compared_semaphore = 0;
}

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

[[gnu::always_inline]] inline int twice_number(int number) { return 2 * number; }

[[gnu::noinline]] int use_inlined(int number) {
  asm volatile("");
  return twice_number(number) + 1;
}

[[gnu::noinline]] double scale_number(double number, float factor) {
  asm volatile("");
  return number * static_cast<double>(factor);
}

[[gnu::noinline]] size_t handle_request(const Request* request, const char* tag) {
  asm volatile("");
  return static_cast<size_t>(request->uri->length) + std::strlen(tag);
}

[[gnu::noinline]] long sell_goods(int number, long price) {
  asm volatile(LISTENED_NOTE(shop, sale, "-4@%k0 8@%1 4@$7 8f@%%xmm0") : : "r"(number), "r"(price));
  return number + price;
}

// With values below the stack pointer, and flags that are needed behind the note.
[[gnu::noinline]] long compare_goods(long a, long b) {
  volatile long kept[8];
  for (long i = 0; i < 8; ++i) kept[i] = a * i + b;
  bool is_less = false;
  asm volatile("cmp %2, %1\n" LISTENED_NOTE(shop, compared, "8@%1 8@%2") "setl %0\n"
               : "=q"(is_less)
               : "r"(a), "r"(b)
               : "cc");
  long sum = is_less ? 1000 : 0;
  for (const volatile long& each : kept) sum += each;
  return sum;
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
  long compared = 0;
  for (int i = 0; i < count; ++i) {
    if (std::strcmp(what, "add") == 0) add_numbers(i, 2);
    if (std::strcmp(what, "scale") == 0) scale_number(i, 0.5F);
    if (std::strcmp(what, "request") == 0) handle_request(&request, i % 2 == 0 ? "even" : "odd");
    if (std::strcmp(what, "sleep") == 0) sleep_ms(i % 2 == 0 ? 0 : 5);
    if (std::strcmp(what, "inlined") == 0) compared += use_inlined(i);
    if (std::strcmp(what, "outer") == 0) outer_caller(1);
    if (std::strcmp(what, "sell") == 0) sell_goods(-i, 100L * i);
    if (std::strcmp(what, "compare") == 0) compared += compare_goods(i, 5);
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
  if (compared != 0) std::printf("compared %ld\n", compared);
}

void PrintListeners() { std::printf("listeners %d %d\n", shop_sale_semaphore, shop_compared_semaphore); }

// Children that have this process's memory, and call a function before they end.
void CallInVforkChildren(int count) {
  for (int i = 0; i < count; ++i) {
    const pid_t child = vfork();
    if (child == 0) {
      add_numbers(i, 3);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
}

// Without the C library.
long CallKernel(long number, long first, long second, const void* third) {
  long result = number;
  asm volatile("syscall" : "+a"(result) : "D"(first), "S"(second), "d"(third) : "rcx", "r11", "memory");
  return result;
}

// A filter that ends the process at a call that it does not expect; or, for all threads, at any that these
// commands do not need.
void Confine(bool is_for_all) {
  sock_filter one_call[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_filter few_calls[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog programs[] = {{4, one_call}, {6, few_calls}};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const long result =
      is_for_all ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &programs[1])
                 : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &programs[0]);
  std::printf("confined %ld\n", result);
}

// This thread alone, by a call of its own, with a filter that allows everything.
void ConfineUnnoticed() {
  sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{1, allow};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  std::printf("confined %ld\n", CallKernel(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter));
}

constexpr unsigned kOtherUser = 65534;

// Of a function of its own, and one of the C library's.
void PrintCode() {
  const void* library_function = dlsym(RTLD_DEFAULT, "usleep");
  for (const void* function : {reinterpret_cast<const void*>(&add_numbers), library_function}) {
    const auto* code = static_cast<const unsigned char*>(function);
    for (int i = 0; i < 16; ++i) std::printf("%02x", code[i]);
  }
  std::printf("\n");
}

// In a thread of its own, which waits there.
void Load() {
  pthread_t thread{};
  const auto load = [](void*) -> void* { return dlopen(LAGWATCH_STUCK_LIBRARY, RTLD_NOW); };
  if (pthread_create(&thread, nullptr, load, nullptr) == 0) pthread_detach(thread);
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
    if (std::strcmp(what, "end-main") == 0) {
      std::setvbuf(stdout, nullptr, _IOFBF, BUFSIZ);
      std::printf("ended");  // written by exit(), which the last thread calls
      pthread_exit(nullptr);
    }
    if (std::strcmp(what, "end-main-unnoticed") == 0) CallKernel(SYS_exit, 0, 0, nullptr);
    if (std::strcmp(what, "become") == 0) return execl("/bin/sleep", "sleep", "20", nullptr);
    if (std::strcmp(what, "code") == 0)
      PrintCode();
    else if (std::strcmp(what, "listeners") == 0)
      PrintListeners();
    else if (std::strcmp(what, "confine") == 0)
      Confine(count != 0);
    else if (std::strcmp(what, "confine-unnoticed") == 0)
      ConfineUnnoticed();
    else if (std::strcmp(what, "drop-root") == 0)
      std::printf("dropped %d\n", setgid(kOtherUser) == 0 ? setuid(kOtherUser) : -1);
    else if (std::strcmp(what, "vfork") == 0)
      CallInVforkChildren(count);
    else if (std::strcmp(what, "load") == 0)
      Load();
    else if (std::strcmp(what, "fork") == 0)
      std::printf("child %d\n", fork() == 0 ? (Repeat("add", count), _exit(0), 0) : 0);
    else
      Repeat(what, count);
    std::puts("done");
  }
  return 0;
}
