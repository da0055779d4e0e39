// SPDX-License-Identifier: Apache-2.0
// A program that defines every name that the preloaded library imports or exports (names.h, generated), and
// prints those which the loader's work ended at its definitions. It calls nothing: the C library's functions
// are among the names.
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <sys/syscall.h>

#define FUNCTION(name) __asm__(".globl " #name "\n.type " #name ",%function\n.set " #name ", a_function\n");
#define VARIABLE(name) \
  __asm__(".globl " #name "\n.type " #name ",%object\n.size " #name ", 8\n.set " #name ", a_variable\n");
#if defined(__x86_64__)
#define RETURN_0 "xorl %eax, %eax\nret\n"
#else
#define RETURN_0 "mov x0, #0\nret\n"
#endif
__asm__(".text\na_function:\n" RETURN_0 ".data\n.balign 8\na_variable:\n.quad 0\n.text\n");
#include "names.h"

extern const char __executable_start[], _end[];

// The C library allocates in its callers' program.
static char heap[1 << 20];
static size_t heap_used;
#define ALLOCATES(name) __attribute__((visibility("default"))) void* name
ALLOCATES(malloc)(size_t bytes);
ALLOCATES(malloc)(size_t bytes) {
  char* memory = heap + heap_used;
  heap_used += (bytes + 31) & ~(size_t)15;
  return memory;
}
ALLOCATES(calloc)(size_t count, size_t bytes);
ALLOCATES(calloc)(size_t count, size_t bytes) { return malloc(count * bytes); }
ALLOCATES(realloc)(void* memory, size_t bytes);
ALLOCATES(realloc)(void* memory, size_t bytes) {
  (void)memory;
  return malloc(bytes);
}
__attribute__((visibility("default"))) void free(void* memory);
void free(void* memory) { (void)memory; }

static long Call(long number, long a, long b, long c) {
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
#else
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
#endif
}

static void Print(const char* text) {
  size_t size = 0;
  while (text[size] != '\0') ++size;
  Call(SYS_write, 1, (long)text, (long)size);
  Call(SYS_write, 1, (long)"\n", 1);
}

static int EndsWith(const char* text, const char* end) {
  const char *at = text, *wanted = end;
  while (*at != '\0') ++at;
  while (*wanted != '\0') ++wanted;
  while (at != text && wanted != end && at[-1] == wanted[-1]) --at, --wanted;
  return wanted == end;
}

static int CountStrays(const struct link_map* library) {
  const ElfW(Sym)* symbols = NULL;
  const char* names = NULL;
  const ElfW(Rela) * relocations[2] = {NULL, NULL};
  size_t counts[2] = {0, 0};
  int strays = 0;
  for (const ElfW(Dyn)* entry = library->l_ld; entry->d_tag != DT_NULL; ++entry) {
    const void* address = (const void*)entry->d_un.d_ptr;
    if (entry->d_tag == DT_SYMTAB) symbols = address;
    if (entry->d_tag == DT_STRTAB) names = address;
    if (entry->d_tag == DT_RELA) relocations[0] = address;
    if (entry->d_tag == DT_JMPREL) relocations[1] = address;
    if (entry->d_tag == DT_RELASZ) counts[0] = entry->d_un.d_val / sizeof(ElfW(Rela));
    if (entry->d_tag == DT_PLTRELSZ) counts[1] = entry->d_un.d_val / sizeof(ElfW(Rela));
  }
  for (int part = 0; part < 2; ++part) {
    for (size_t i = 0; i < counts[part]; ++i) {
      const ElfW(Rela)* relocation = &relocations[part][i];
      const ElfW(Addr) value = *(const ElfW(Addr)*)(library->l_addr + relocation->r_offset);
      if (value < (ElfW(Addr))__executable_start || value >= (ElfW(Addr))_end) continue;
      Print(names + symbols[ELF64_R_SYM(relocation->r_info)].st_name);
      ++strays;
    }
  }
  return strays;
}

#if defined(__x86_64__)
__attribute__((force_align_arg_pointer))  // as the kernel enters it
#endif
void _start(void);
void _start(void) {
  const struct link_map* modules = NULL;
  for (const ElfW(Dyn)* entry = _DYNAMIC; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_DEBUG) modules = ((const struct r_debug*)entry->d_un.d_ptr)->r_map;
  }
  for (; modules != NULL; modules = modules->l_next) {
    if (!EndsWith(modules->l_name, "lagwatch-preload.so")) continue;
    Call(SYS_exit_group, CountStrays(modules) != 0, 0, 0);
  }
  Print("the library is not loaded");
  Call(SYS_exit_group, 2, 0, 0);
  __builtin_unreachable();
}
