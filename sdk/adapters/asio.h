// SPDX-License-Identifier: Apache-2.0
// Watches handlers of Asio, Boost's or the one without Boost: include its headers first. Header only.
//
//   asio::post(context, lagwatch::Watched(handler));
//   socket.async_read_some(buffer, lagwatch::Watched(handler));
//
// Each thread that runs handlers is a loop of its own, and each handler is a dispatch, with its type as the
// tag. A handler keeps its executor, as of a strand, and its allocator.
#pragma once

#include <cxxabi.h>
#include <lagwatch/lagwatch.h>

#include <type_traits>
#include <typeinfo>
#include <utility>

namespace lagwatch {

// The loop of the calling thread's handlers. The thread's first call gives its name.
inline Loop AsioLoop(const char* name = "asio") {
  static thread_local const Loop loop(lw_watch_loop(name));
  return loop;
}

template <class Handler>
class WatchedHandler;

// The handler that one with an executor bound to it has been made of.
template <class Handler, class = void>
struct Unbound {
  using Type = Handler;
};
template <class Handler>
struct Unbound<Handler, std::void_t<typename Handler::target_type>> {
  using Type = typename Handler::target_type;
};

// The parts of a handler that Asio asks for, if it has them.
template <class Handler, class = void>
class WithExecutor {};
template <class Handler>
class WithExecutor<Handler, std::void_t<typename Handler::executor_type>> {
 public:
  using executor_type = typename Handler::executor_type;
  executor_type get_executor() const noexcept {
    return static_cast<const WatchedHandler<Handler>*>(this)->handler().get_executor();
  }
};
template <class Handler, class = void>
class WithAllocator {};
template <class Handler>
class WithAllocator<Handler, std::void_t<typename Handler::allocator_type>> {
 public:
  using allocator_type = typename Handler::allocator_type;
  allocator_type get_allocator() const noexcept {
    return static_cast<const WatchedHandler<Handler>*>(this)->handler().get_allocator();
  }
};

template <class Handler>
class WatchedHandler : public WithExecutor<Handler>, public WithAllocator<Handler> {
 public:
  explicit WatchedHandler(Handler handler) : handler_(std::move(handler)) {}

  template <class... Arguments>
  auto operator()(Arguments&&... arguments) {
    ScopedDispatch dispatch(AsioLoop(), Tag());
    return handler_(std::forward<Arguments>(arguments)...);
  }
  const Handler& handler() const noexcept { return handler_; }

 private:
  // The type's name, for as long as the program runs.
  static const char* Tag() {
    static const char* const tag = [] {
      int status = 0;
      const char* mangled = typeid(typename Unbound<Handler>::Type).name();
      const char* name = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
      return name != nullptr ? name : mangled;
    }();
    return tag;
  }

  Handler handler_;
};

// `handler`, watched. Hot: as a dispatch.
template <class Handler>
WatchedHandler<std::decay_t<Handler>> Watched(Handler&& handler) {
  return WatchedHandler<std::decay_t<Handler>>(std::forward<Handler>(handler));
}

}  // namespace lagwatch
