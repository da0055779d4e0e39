/* SPDX-License-Identifier: Apache-2.0 */
/* Watches loops that wait in epoll_wait() or epoll_pwait(), from a library that is loaded later than the
 * loop's: an addon of Node, a module of Python. The import slots of the module that waits are led to the
 * functions below, which call the C library's; its code is not changed. For programs and libraries of one's
 * own, epoll.h does the same without a patch.
 *
 * One file of the library defines LW_EPOLL_SLOTS_IMPLEMENTATION before it includes this. The library must
 * stay loaded: lw_epoll_patch() pins it. LW_EPOLL_SLOTS_BEFORE_WAIT(loop), if it is defined, is called before
 * each wait of a thread's loop. */
#ifndef LAGWATCH_ADAPTERS_EPOLL_SLOTS_H_
#define LAGWATCH_ADAPTERS_EPOLL_SLOTS_H_

#include <lagwatch/c.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Patches the module that has `address`, once; a later call does nothing more. Returns the number of slots of
 * that module that lead here now; 0 if it does not import those functions, if another library has led them to
 * itself, as a second copy of this one, or if the library cannot be pinned. Takes the loader's lock; any
 * thread. */
int lw_epoll_patch(const void* address);
/* The loop that waits in the epoll instance `descriptor` is the calling thread's; -1: the first instance that
 * the thread waits in from now on. Waits in others are part of a dispatch. NULL: the thread has no such loop
 * any more. Does not own the loop. */
void lw_epoll_set_loop(lw_loop* loop, int descriptor);

#ifdef __cplusplus
}
#endif

#endif /* LAGWATCH_ADAPTERS_EPOLL_SLOTS_H_ */

#if defined(LW_EPOLL_SLOTS_IMPLEMENTATION) && !defined(LAGWATCH_ADAPTERS_EPOLL_SLOTS_DEFINED_)
#define LAGWATCH_ADAPTERS_EPOLL_SLOTS_DEFINED_

#ifndef _GNU_SOURCE
#error "define _GNU_SOURCE"
#endif
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef LW_EPOLL_SLOTS_BEFORE_WAIT
#define LW_EPOLL_SLOTS_BEFORE_WAIT(loop) ((void)(loop))
#endif

/* Of x86-64 and of arm64, which share no numbers. */
static int lw_slot_is_import(uint64_t type) {
  return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_AARCH64_JUMP_SLOT ||
         type == R_AARCH64_GLOB_DAT;
}

static __thread lw_loop* lw_slot_loop;
static __thread int lw_slot_descriptor;

void lw_epoll_set_loop(lw_loop* loop, int descriptor) {
  lw_slot_loop = loop;
  lw_slot_descriptor = descriptor;
}

/* The loop whose wait this is. NULL: it is another one's. */
static lw_loop* lw_slot_loop_of(int descriptor) {
  if (lw_slot_loop == NULL) return NULL;
  if (lw_slot_descriptor == -1) lw_slot_descriptor = descriptor;
  return lw_slot_descriptor == descriptor ? lw_slot_loop : NULL;
}

static lw_loop* lw_slot_loop_before(int descriptor) {
  lw_loop* loop = lw_slot_loop_of(descriptor);
  if (loop == NULL) return NULL;
  LW_EPOLL_SLOTS_BEFORE_WAIT(loop);
  lw_loop_wait_begin(loop);
  return loop;
}

static int lw_slot_after(lw_loop* loop, int ready) {
  const int error = errno;
  lw_loop_wait_end(loop, NULL);
  errno = error;
  return ready;
}

static int lw_slot_epoll_wait(int descriptor, struct epoll_event* events, int room, int timeout_ms) {
  lw_loop* loop = lw_slot_loop_before(descriptor);
  return lw_slot_after(loop, epoll_wait(descriptor, events, room, timeout_ms));
}

static int lw_slot_epoll_pwait(int descriptor, struct epoll_event* events, int room, int timeout_ms,
                               const sigset_t* mask) {
  lw_loop* loop = lw_slot_loop_before(descriptor);
  return lw_slot_after(loop, epoll_pwait(descriptor, events, room, timeout_ms, mask));
}

typedef struct {
  const void* address; /* in the module */
  uintptr_t base;
  uintptr_t relro_begin, relro_end; /* read-only once the loader has bound it */
  const ElfW(Dyn) * dynamic;
  int count;
} lw_slot_module;

/* Writes a slot; other threads may call through it meanwhile. */
static int lw_slot_write(const lw_slot_module* module, uintptr_t slot, void* function) {
  const uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
  void* page = (void*)(slot & ~(page_bytes - 1)); /* a slot is aligned: it is in one page */
  const int is_sealed = slot >= module->relro_begin && slot < module->relro_end;
  if (is_sealed && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return 0;
  __atomic_store_n((void**)slot, function, __ATOMIC_RELEASE);
  if (is_sealed) mprotect(page, page_bytes, PROT_READ);
  return 1;
}

/* glibc has the addresses in the dynamic section relocated, but those of the vDSO. */
static uintptr_t lw_slot_address(const lw_slot_module* module, uintptr_t value) {
  return value < module->base ? module->base + value : value;
}

/* A slot that is not bound yet leads into its own module. One that leads to a function of another name is
 * another library's, as a second copy of this one: the waits of its loops must stay where they are seen. */
static int lw_slot_is_free(const lw_slot_module* module, uintptr_t slot, const char* name, void* function) {
  void* target = __atomic_load_n((void**)slot, __ATOMIC_ACQUIRE);
  Dl_info found, own;
  if (target == function) return 1;
  if (dladdr(target, &found) == 0) return 0;
  if (found.dli_saddr == target && found.dli_sname != NULL && strstr(found.dli_sname, name) != NULL) return 1;
  return dladdr(module->address, &own) != 0 && own.dli_fbase == found.dli_fbase;
}

static void lw_slot_patch_table(lw_slot_module* module, uintptr_t table, size_t size_bytes,
                                const ElfW(Sym) * symbols, const char* names) {
  static const struct {
    const char* name;
    void* function;
  } hooks[] = {{"epoll_wait", (void*)lw_slot_epoll_wait}, {"epoll_pwait", (void*)lw_slot_epoll_pwait}};
  const ElfW(Rela)* rows = (const ElfW(Rela)*)table;
  for (size_t i = 0; i < size_bytes / sizeof *rows; ++i) {
    const uint64_t type = ELF64_R_TYPE(rows[i].r_info);
    const char* name = names + symbols[ELF64_R_SYM(rows[i].r_info)].st_name;
    if (!lw_slot_is_import(type)) continue;
    for (size_t hook = 0; hook < sizeof hooks / sizeof hooks[0]; ++hook)
      if (strcmp(name, hooks[hook].name) == 0 &&
          lw_slot_is_free(module, module->base + rows[i].r_offset, name, hooks[hook].function))
        module->count += lw_slot_write(module, module->base + rows[i].r_offset, hooks[hook].function);
  }
}

static void lw_slot_patch_module(lw_slot_module* module) {
  uintptr_t plt = 0, table = 0, symbols = 0, names = 0;
  size_t plt_bytes = 0, table_bytes = 0;
  for (const ElfW(Dyn)* row = module->dynamic; row->d_tag != DT_NULL; ++row) {
    switch (row->d_tag) {
      case DT_JMPREL:
        plt = lw_slot_address(module, row->d_un.d_ptr);
        break;
      case DT_PLTRELSZ:
        plt_bytes = row->d_un.d_val;
        break;
      case DT_RELA:
        table = lw_slot_address(module, row->d_un.d_ptr);
        break;
      case DT_RELASZ:
        table_bytes = row->d_un.d_val;
        break;
      case DT_SYMTAB:
        symbols = lw_slot_address(module, row->d_un.d_ptr);
        break;
      case DT_STRTAB:
        names = lw_slot_address(module, row->d_un.d_ptr);
        break;
      default:
        break;
    }
  }
  if (symbols == 0 || names == 0) return;
  lw_slot_patch_table(module, plt, plt_bytes, (const ElfW(Sym)*)symbols, (const char*)names);
  lw_slot_patch_table(module, table, table_bytes, (const ElfW(Sym)*)symbols, (const char*)names);
}

static int lw_slot_look(struct dl_phdr_info* info, size_t size_bytes, void* context) {
  lw_slot_module* module = (lw_slot_module*)context;
  const uintptr_t address = (uintptr_t)module->address;
  int is_it = 0;
  (void)size_bytes;
  module->base = info->dlpi_addr;
  module->relro_begin = module->relro_end = 0;
  module->dynamic = NULL;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_LOAD && address >= begin && address < begin + part->p_memsz) is_it = 1;
    if (part->p_type == PT_DYNAMIC) module->dynamic = (const ElfW(Dyn)*)begin;
    if (part->p_type == PT_GNU_RELRO) {
      module->relro_begin = begin;
      module->relro_end = begin + part->p_memsz;
    }
  }
  if (!is_it) module->dynamic = NULL;
  return is_it;
}

/* A slot that leads into a library that is gone would be the end of the program. */
static int lw_slot_pin(void) {
  Dl_info own;
  return dladdr((const void*)&lw_slot_look, &own) != 0 && own.dli_fname != NULL &&
         dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != NULL;
}

int lw_epoll_patch(const void* address) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* two threads' changes of a page's protection */
  lw_slot_module module = {address, 0, 0, 0, NULL, 0};
  if (address == NULL || !lw_slot_pin()) return 0;
  dl_iterate_phdr(&lw_slot_look, &module);
  if (module.dynamic == NULL) return 0;
  pthread_mutex_lock(&mutex); /* not in the walk: dladdr() takes the loader's other lock */
  lw_slot_patch_module(&module);
  pthread_mutex_unlock(&mutex);
  return module.count;
}

#endif
