// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "base/process/proc_file.h"
#include "policies/fact_names.h"
#include "watchdog/evidence/evidence.h"
#include "watchdog/facts/file_facts.h"
#include "watchdog/waits/peers/peer_target.h"
#include "watchdog/waits/sleeping_call.h"

namespace lagwatch::watchdog {
namespace {

struct DeviceNumber {
  uint64_t major = 0;
  uint64_t minor = 0;
};

// File systems that span devices have a number of their own, and name the device.
DeviceNumber DeviceOf(const Mount& mount) {
  if (mount.major != 0 || !std::string_view(mount.source).starts_with("/dev/"))
    return {mount.major, mount.minor};
  struct stat device {};
  if (stat(mount.source, &device) != 0 || !S_ISBLK(device.st_mode)) return {};
  return {major(device.st_rdev), minor(device.st_rdev)};
}

// By the folder of the device in /sys.
void DescribeDevice(const DeviceNumber& number, AwaitedFile* file) {
  if (number.major == 0) return;
  char path[64];
  std::snprintf(path, sizeof path, "/sys/dev/block/%lu:%lu", static_cast<unsigned long>(number.major),
                static_cast<unsigned long>(number.minor));
  char link[256];
  const ssize_t size = readlink(path, link, sizeof link);
  if (size <= 0) return;
  const std::string_view target(link, static_cast<size_t>(size));
  const std::string_view name = target.substr(target.rfind('/') + 1);
  file->device[name.copy(file->device, sizeof file->device - 1)] = '\0';
  std::snprintf(path, sizeof path, "/sys/dev/block/%lu:%lu/inflight",
                static_cast<unsigned long>(number.major), static_cast<unsigned long>(number.minor));
  char buffer[64];
  std::string_view requests = base::ReadSmallFile(path, buffer, sizeof buffer);
  uint64_t reads = 0;
  uint64_t writes = 0;
  if (base::ConsumeDecimal(&requests, &reads) && base::ConsumeDecimal(&requests, &writes))
    file->device_requests = static_cast<int64_t>(reads + writes);
}

bool IsInWaitForFile(const base::Thread& thread, const stack::BlockedThread& blocked) {
  const char state = stack::ReadThreadStateLetter(thread);
  if (state == 'D') return true;
  const bool is_lock = ObjectOfWait(thread, blocked).kind == WaitObject::Kind::kFileLock;
  return is_lock || WhatItWaitsFor(thread, blocked, state) == policies::Doing::kDisk;
}

}  // namespace

AwaitedFile FindAwaitedFile(const base::Thread& thread, const stack::ThreadFiles* files) {
  AwaitedFile file;
  stack::BlockedThread blocked{};
  if (stack::ReadThreadActivity(thread, files, &blocked) != stack::ThreadActivity::kBlocked ||
      !IsInWaitForFile(thread, blocked))
    return file;
  char channel[64];
  stack::ReadWaitChannel(thread, channel, sizeof channel);
  file.hung_task = ReadHungTask(thread);
  if (FindMountOfCall(thread, blocked, channel, &file.mount)) DescribeDevice(DeviceOf(file.mount), &file);
  const bool is_anything_known = file.mount.type[0] != '\0' || file.hung_task.text[0] != '\0';
  file.tid = is_anything_known ? thread.tid : 0;
  return file;
}

void AddFileFacts(const AwaitedFile& file, int32_t first_tid, bool hides_peers, FactList* facts) {
  if (file.tid == 0) return;
  if (file.tid != first_tid) facts->Add(policies::kFileSystemThreadFact, file.tid);
  if (file.hung_task.text[0] != '\0') facts->AddText(policies::kHungTaskFact, file.hung_task.text);
  if (file.hung_task.blocker[0] != '\0')
    facts->AddText(policies::kHungTaskBlockerFact, file.hung_task.blocker);
  if (file.mount.type[0] == '\0') return;
  facts->AddText(policies::kFileSystemFact, file.mount.type);
  facts->AddText(policies::kFileSystemMountFact, file.mount.point);
  const bool may_name_source = !hides_peers || !file.mount.is_remote;
  if (may_name_source && file.mount.source[0] != '\0')
    facts->AddText(policies::kFileSystemSourceFact, file.mount.source);
  if (file.device[0] == '\0') return;
  facts->AddText(policies::kBlockDeviceFact, file.device);
  if (file.device_requests >= 0) facts->Add(policies::kBlockDeviceRequestsFact, file.device_requests);
}

}  // namespace lagwatch::watchdog
