// SPDX-License-Identifier: Apache-2.0
// Programs that change their identity or their view of the system: user, root directory, namespaces.
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/hosts/host.h"

enum { kNobody = 65534 };

static int LoopAndHang(void) {
  BeginLoop();
  return HangTwice();
}

static void DropPrivileges(void) {
  Checked(setgroups(0, NULL), "setgroups");
  Checked(setgid(kNobody), "setgid");
  Checked(setuid(kNobody), "setuid");
  printf("user %d, dumpable %d\n", (int)getuid(), prctl(PR_GET_DUMPABLE));
}

// Servers drop their privileges before their loop begins, after it began, or in their workers.
static int DropBeforeLoop(void) {
  DropPrivileges();
  return LoopAndHang();
}
static int DropInLoop(void) {
  BeginLoop();
  DropPrivileges();
  return LoopAndHang();
}
static int DropInWorker(void) {
  BeginLoop();
  const pid_t child = Checked(fork(), "fork");
  if (child == 0) {
    DropPrivileges();
    exit(LoopAndHang());
  }
  return WaitInLoop(child, 10);
}
static int BecomeUndumpable(void) {
  Tick(10);
  Checked(prctl(PR_SET_DUMPABLE, 0), "prctl");
  return LoopAndHang();
}

static int ChangeRoot(void) {
  char path[] = "/tmp/host-root-XXXXXX";
  BeginLoop();
  PauseMs(50);
  if (mkdtemp(path) == NULL) return 1;
  Checked(chroot(path), "chroot");
  Checked(chdir("/"), "chdir");
  printf("files %d\n", access("/proc", F_OK) == 0);
  return LoopAndHang();
}

static int LoseDirectory(void) {
  char path[] = "/tmp/host-lost-XXXXXX";
  if (mkdtemp(path) == NULL) return 1;
  Checked(chdir(path), "chdir");
  Checked(rmdir(path), "rmdir");
  umask(0777);
  return LoopAndHang();
}

static int UnshareUser(void) {
  BeginLoop();
  PauseMs(50);
  const int result = unshare(CLONE_NEWUSER);
  printf("unshare %d %s\n", result, result == 0 ? "" : strerror(errno));
  return LoopAndHang();
}

// The process can start no more threads; its child is the first one of a namespace, and sees the old /proc.
static int UnsharePids(void) {
  Checked(unshare(CLONE_NEWPID), "unshare");
  Tick(10);
  HangSleeping();
  Tick(10);
  fflush(stdout);
  const pid_t child = Checked(fork(), "fork");
  if (child == 0) {
    Tick(10);
    HangOnce();
    printf("process %d\n", (int)getpid());
    exit(LoopAndHang());
  }
  return WaitInLoop(child, 10);
}

// As after a change of the root directory to one without it.
static int LoseProc(void) {
  Checked(unshare(CLONE_NEWNS), "unshare");
  Checked(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private");
  while (umount2("/proc", MNT_DETACH) == 0) {
  }
  printf("files %d\n", access("/proc/self", F_OK) == 0);
  return LoopAndHang();
}

// The main thread alone gives its capabilities up. The C library ends a process in which a change of user or
// group succeeds in some threads only.
static int ChangeIdsWithoutCapabilities(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0, 0, 0}, {0, 0, 0}};
  const gid_t group = kNobody;
  BeginLoop();
  Checked((int)syscall(SYS_capset, &header, none), "capset");
  printf("%d %d %d", setgroups(1, &group), setgid(kNobody), setegid(kNobody));
  printf(" %d %d %d\n", setuid(kNobody), seteuid(kNobody), setresuid(1, 1, 1));
  return LoopAndHang();
}
// As a program that keeps one capability.
static int KeepCapabilities(void) {
  BeginLoop();
  Checked(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0), "keepcaps");
  DropPrivileges();
  return LoopAndHang();
}
static int ChangeEffectiveUser(void) {
  Checked(seteuid(kNobody), "seteuid");
  return LoopAndHang();
}

const struct Host kIdentityHosts[] = {
    {"change_ids_without_capabilities", ChangeIdsWithoutCapabilities, "HangComputing,HangSleeping", "root"},
    {"keep_capabilities", KeepCapabilities, "HangComputing,HangSleeping", "root"},
    {"change_effective_user", ChangeEffectiveUser, "HangComputing,HangSleeping", "root"},
    {"drop_before_loop", DropBeforeLoop, "HangComputing,HangSleeping", "root"},
    {"drop_in_loop", DropInLoop, "HangComputing,HangSleeping", "root"},
    {"drop_in_worker", DropInWorker, "HangComputing,HangSleeping", "root"},
    {"become_undumpable", BecomeUndumpable, "HangComputing,HangSleeping", ""},
    {"change_root", ChangeRoot, "HangComputing,HangSleeping", "root"},
    {"lose_directory", LoseDirectory, "HangComputing,HangSleeping", ""},
    {"unshare_pids", UnsharePids, "HangComputing,HangSleeping", "root,times=4"},
    {"lose_proc", LoseProc, "HangComputing,HangSleeping", "root,nostack"},
    {"unshare_user", UnshareUser, "HangComputing,HangSleeping", ""},
    {NULL, NULL, NULL, NULL},
};
