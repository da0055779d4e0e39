// SPDX-License-Identifier: Apache-2.0
// The epoll descriptors that the threads of one process wait for at their last looks. A loop that several
// threads serve (Boost.Asio, tokio) has one of them in its wait, while the others are parked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lagwatch::sdk {

// Thread safety: one thread's. Context: background.
class SharedWaits {
 public:
  // Thread `tid` waits for `epoll`; -1: for none.
  void Set(int32_t tid, int32_t epoll) {
    const auto found = std::ranges::find(waits_, tid, &Wait::tid);
    if (found != waits_.end() && epoll < 0) {
      waits_.erase(found);
    } else if (found != waits_.end()) {
      found->epoll = epoll;
    } else if (epoll >= 0) {
      waits_.push_back({tid, epoll});
    }
  }
  // Whether another thread than `tid` waits for `epoll`.
  bool HasOther(int32_t tid, int32_t epoll) const {
    return std::ranges::any_of(waits_,
                               [&](const Wait& wait) { return wait.epoll == epoll && wait.tid != tid; });
  }

 private:
  struct Wait {
    int32_t tid;
    int32_t epoll;
  };
  std::vector<Wait> waits_;
};

}  // namespace lagwatch::sdk
