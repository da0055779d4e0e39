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
#include <sys/wait.h>
#include <unistd.h>

#include "bench/hosts/host.h"

enum { kNobody = 65534 };

static int HangTwice(void) {
  Tick(10);
  Tick(10);
  HangComputing();
  Tick(10);
  HangSleeping();
  Tick(10);
  return 3;
}

static void DropPrivileges(void) {
  Checked(setgroups(0, NULL), "setgroups");
  Checked(setgid(kNobody), "setgid");
  Checked(setuid(kNobody), "setuid");
  printf("user %d, dumpable %d\n", (int)getuid(), prctl(PR_GET_DUMPABLE));
}

// Servers drop their privileges before their loop begins, after it began, or in their workers.
static int DropBeforeLoop(int count, char** arguments) {
  (void)count;
  (void)arguments;
  DropPrivileges();
  return HangTwice();
}
static int DropInLoop(int count, char** arguments) {
  (void)count;
  (void)arguments;
  Tick(10);
  Tick(10);
  DropPrivileges();
  return HangTwice();
}
static int DropInWorker(int count, char** arguments) {
  int status = 0;
  (void)count;
  (void)arguments;
  Tick(10);
  Tick(10);
  const pid_t child = Checked(fork(), "fork");
  if (child == 0) {
    DropPrivileges();
    exit(HangTwice());
  }
  while (waitpid(child, &status, WNOHANG) == 0) Tick(10);
  return WEXITSTATUS(status);
}
static int BecomeUndumpable(int count, char** arguments) {
  (void)count;
  (void)arguments;
  Tick(10);
  Checked(prctl(PR_SET_DUMPABLE, 0), "prctl");
  return HangTwice();
}

static int ChangeRoot(int count, char** arguments) {
  char path[] = "/tmp/host-root-XXXXXX";
  (void)count;
  (void)arguments;
  Tick(10);
  Tick(10);
  PauseMs(50);
  if (mkdtemp(path) == NULL) return 1;
  Checked(chroot(path), "chroot");
  Checked(chdir("/"), "chdir");
  printf("files %d\n", access("/proc", F_OK) == 0);
  HangTwice();
  return 3;
}

static int LoseDirectory(int count, char** arguments) {
  char path[] = "/tmp/host-lost-XXXXXX";
  (void)count;
  (void)arguments;
  if (mkdtemp(path) == NULL) return 1;
  Checked(chdir(path), "chdir");
  Checked(rmdir(path), "rmdir");
  umask(0777);
  return HangTwice();
}

static int UnshareUser(int count, char** arguments) {
  (void)count;
  (void)arguments;
  Tick(10);
  Tick(10);
  PauseMs(50);
  const int result = unshare(CLONE_NEWUSER);
  printf("unshare %d %s\n", result, result == 0 ? "" : strerror(errno));
  return HangTwice();
}

// The process can start no more threads; its child is the first one of a namespace, and sees the old /proc.
static int UnsharePids(int count, char** arguments) {
  int status = 0;
  (void)count;
  (void)arguments;
  Checked(unshare(CLONE_NEWPID), "unshare");
  Tick(10);
  HangSleeping();
  Tick(10);
  fflush(stdout);
  const pid_t child = Checked(fork(), "fork");
  if (child == 0) {
    Tick(10);
    HangComputing();
    Tick(10);
    printf("process %d\n", (int)getpid());
    exit(HangTwice());
  }
  while (waitpid(child, &status, WNOHANG) == 0) Tick(10);
  return WEXITSTATUS(status);
}

// As after a change of the root directory to one without it.
static int LoseProc(int count, char** arguments) {
  (void)count;
  (void)arguments;
  Checked(unshare(CLONE_NEWNS), "unshare");
  Checked(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private");
  while (umount2("/proc", MNT_DETACH) == 0) {
  }
  printf("files %d\n", access("/proc/self", F_OK) == 0);
  return HangTwice();
}

// The main thread alone gives its capabilities up. The C library ends a process in which a change of user or
// group succeeds in some threads only.
static int ChangeIdsWithoutCapabilities(int count, char** arguments) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0, 0, 0}, {0, 0, 0}};
  const gid_t group = kNobody;
  (void)count;
  (void)arguments;
  Tick(10);
  Tick(10);
  Checked((int)syscall(SYS_capset, &header, none), "capset");
  printf("%d %d %d", setgroups(1, &group), setgid(kNobody), setegid(kNobody));
  printf(" %d %d %d\n", setuid(kNobody), seteuid(kNobody), setresuid(1, 1, 1));
  return HangTwice();
}
// As a program that keeps one capability.
static int KeepCapabilities(int count, char** arguments) {
  (void)count;
  (void)arguments;
  Tick(10);
  Tick(10);
  Checked(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0), "keepcaps");
  DropPrivileges();
  return HangTwice();
}
static int ChangeEffectiveUser(int count, char** arguments) {
  (void)count;
  (void)arguments;
  Checked(seteuid(kNobody), "seteuid");
  return HangTwice();
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
