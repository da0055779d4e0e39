// SPDX-License-Identifier: Apache-2.0
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/system/capabilities.h"

namespace lagwatch::base {
namespace {

struct Capabilities {
  __user_cap_data_struct words[_LINUX_CAPABILITY_U32S_3] = {};
};

bool Read(int tid, Capabilities* capabilities) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, tid};
  return syscall(SYS_capget, &header, capabilities->words) == 0;
}

}  // namespace

bool HasCapabilitiesOf(int tid) {
  const int saved_errno = errno;
  Capabilities own;
  Capabilities others;
  const bool are_known = Read(0, &own) && Read(tid, &others);
  errno = saved_errno;
  if (!are_known) return true;
  for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; ++i) {
    if (own.words[i].effective != others.words[i].effective ||
        own.words[i].permitted != others.words[i].permitted)
      return false;
  }
  return true;
}

}  // namespace lagwatch::base
