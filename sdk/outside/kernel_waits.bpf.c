/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Runs in the kernel, whenever a thread begins or ends a call by which loops wait: notes it, if the thread is
 * watched and this is its loop's wait. */
/* The second one needs the first one's types. */
/* clang-format off */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
/* clang-format on */

#include "kernel_waits_slot.h"

/* As /sys/kernel/tracing/events/syscalls has it for all of them. */
struct call_begin {
  __u64 common;
  __s64 number;
  __u64 arguments[6];
};

struct call_end {
  __u64 common;
  __s64 number;
  __s64 result;
};

/* The kernel's ERESTART_RESTARTBLOCK, which programs never see. */
#define GOES_ON_LATER (-516)

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, LAGWATCH_WAIT_SLOTS);
  __type(key, __u32);
  __type(value, struct lagwatch_wait_slot);
} slots SEC(".maps");

static __always_inline struct lagwatch_wait_slot* OwnSlot(void) {
  const __u32 tid = (__u32)bpf_get_current_pid_tgid();
  const __u32 place = tid % LAGWATCH_WAIT_SLOTS;
  struct lagwatch_wait_slot* slot = bpf_map_lookup_elem(&slots, &place);
  return slot && slot->tid == tid ? slot : 0;
}

static __always_inline __s64 WordOf(enum lagwatch_wait_kind kind, const struct call_begin* call) {
  if (kind != LAGWATCH_POLL_WAIT) return (__s32)call->arguments[0];
  __s32 descriptor = -1;
  if (call->arguments[1] != 0) bpf_probe_read_user(&descriptor, sizeof descriptor, (void*)call->arguments[0]);
  return descriptor;
}

static __always_inline int NoteBegin(enum lagwatch_wait_kind kind, const struct call_begin* call) {
  struct lagwatch_wait_slot* slot = OwnSlot();
  if (!slot) return 0;
  slot->is_interrupted = 0;
  if (slot->home_kind != kind || slot->home_word != WordOf(kind, call)) return 0;
  const __u64 now_ns = bpf_ktime_get_ns();
  const __u64 begin_ns = slot->turn >> 1;
  if (slot->turn != 0 && !(slot->turn & 1) && now_ns - begin_ns > LAGWATCH_LONG_NS) {
    struct lagwatch_long_dispatch* kept = &slot->kept[slot->long_count % LAGWATCH_LONG_DISPATCHES];
    kept->begin_ns = begin_ns;
    kept->end_ns = now_ns;
    __sync_fetch_and_add(&slot->long_count, 1);
  }
  slot->turn = now_ns << 1 | 1;
  return 0;
}

static __always_inline int NoteEnd(const struct call_end* call) {
  struct lagwatch_wait_slot* slot = OwnSlot();
  if (!slot || !(slot->turn & 1)) return 0;
  slot->is_interrupted = call->result == GOES_ON_LATER;
  slot->turn = bpf_ktime_get_ns() << 1;
  return 0;
}

/* The time in between is no dispatch: the thread was stopped. */
SEC("tracepoint/syscalls/sys_enter_restart_syscall")
int Enter_restart_syscall(const struct call_begin* call) {
  struct lagwatch_wait_slot* slot = OwnSlot();
  (void)call;
  if (slot && slot->is_interrupted) slot->turn = bpf_ktime_get_ns() << 1 | 1;
  return 0;
}
SEC("tracepoint/syscalls/sys_exit_restart_syscall")
int Exit_restart_syscall(const struct call_end* call) { return NoteEnd(call); }

#define WAIT(kind, name)                                                            \
  SEC("tracepoint/syscalls/sys_enter_" #name)                                       \
  int Enter_##name(const struct call_begin* call) { return NoteBegin(kind, call); } \
  SEC("tracepoint/syscalls/sys_exit_" #name)                                        \
  int Exit_##name(const struct call_end* call) { return NoteEnd(call); }

#define kEpoll LAGWATCH_EPOLL_WAIT
#define kPoll LAGWATCH_POLL_WAIT
#define kSelect LAGWATCH_SELECT_WAIT
#define SET_CALL(name, x86_64, aarch64, kind, ...) WAIT(kind, name)
#ifndef __TARGET_ARCH_arm64
#define SET_CALL_X86_64(name, x86_64, kind, ...) WAIT(kind, name)
#endif
#include "base/system/system_calls.def"

/* The kernel reads user memory only for programs under its license. */
char license_text[] SEC("license") = "Dual MIT/GPL";
