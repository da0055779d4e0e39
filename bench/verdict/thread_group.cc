// SPDX-License-Identifier: Apache-2.0
#include "bench/verdict/thread_group.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>

namespace lagwatch::bench {

bool WriteFile(const std::string& path, const std::string& text) {
  int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool is_written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return is_written;
}

std::string ScratchFolder() {
  const char* folder = std::getenv("TMPDIR");
  return folder == nullptr ? "/tmp" : folder;
}

ThreadGroup::ThreadGroup(const std::string& root, const std::string& threads_file, std::vector<Limit> limits)
    : path_(root + "/lagwatch-verdict-" + std::to_string(getpid())),
      threads_file_(path_ + threads_file),
      outer_threads_file_(root + threads_file) {
  if (mkdir(path_.c_str(), 0700) != 0) return;
  is_usable_ = true;
  for (const Limit& limit : limits) is_usable_ = is_usable_ && WriteFile(path_ + limit.file, limit.value);
}

ThreadGroup::~ThreadGroup() { rmdir(path_.c_str()); }

bool ThreadGroup::Enter() const { return WriteFile(threads_file_, std::to_string(gettid())); }

bool ThreadGroup::Leave() const { return WriteFile(outer_threads_file_, std::to_string(gettid())); }

std::unique_ptr<ThreadGroup> CreateQuotaGroup() {
  for (const char* root : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}) {
    auto group = std::make_unique<ThreadGroup>(
        root, "/tasks",
        std::vector<ThreadGroup::Limit>{
            {"/cpu.cfs_period_us", "50000"}, {"/cpu.cfs_quota_us", "10000"}, {"/cpu.shares", "20000"}});
    if (group->is_usable()) return group;
  }
  return std::make_unique<ThreadGroup>(
      "/sys/fs/cgroup", "/cgroup.threads",
      std::vector<ThreadGroup::Limit>{
          {"/cgroup.type", "threaded"}, {"/cpu.max", "10000 50000"}, {"/cpu.weight", "2000"}});
}

std::unique_ptr<ThreadGroup> CreateSlowDiskGroup() {
  struct stat folder {};
  stat(ScratchFolder().c_str(), &folder);
  std::string device = std::to_string(major(folder.st_dev)) + ":" + std::to_string(minor(folder.st_dev));
  return std::make_unique<ThreadGroup>(
      "/sys/fs/cgroup/blkio", "/tasks",
      std::vector<ThreadGroup::Limit>{{"/blkio.throttle.read_iops_device", device + " 200"},
                                      {"/blkio.throttle.write_iops_device", device + " 100"}});
}

}  // namespace lagwatch::bench
