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

#if !defined(BOOST_ASIO_VERSION) && !defined(ASIO_VERSION)
#error "include the headers of Asio before this one"
#endif

namespace lagwatch {

// The loop of the calling thread's handlers. The thread's first call gives its name.
inline Loop AsioLoop(const char* name = "asio") {
  static thread_local const Loop loop(lw_watch_loop(name));
  return loop;
}

// The handler that one with an executor bound to it has been made of.
template <class Handler, class = void>
struct Unbound {
  using Type = Handler;
};
template <class Handler>
struct Unbound<Handler, std::void_t<typename Handler::target_type>> {
  using Type = typename Handler::target_type;
};

template <class Handler>
class WatchedHandler {
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

// All that is associated with a handler is so with the watched one.
#define LW_ASIO_ASSOCIATED(NAME)                                        \
  template <class Handler, class Default>                               \
  struct NAME<lagwatch::WatchedHandler<Handler>, Default> {             \
    using type = typename NAME<Handler, Default>::type;                 \
    static type get(const lagwatch::WatchedHandler<Handler>& watched,   \
                    const Default& otherwise = Default()) noexcept {    \
      return NAME<Handler, Default>::get(watched.handler(), otherwise); \
    }                                                                   \
  };
#define LW_ASIO_ASSOCIATOR                                                                                   \
  template <template <class, class> class Associator, class Handler, class Default>                          \
  struct associator<Associator, lagwatch::WatchedHandler<Handler>, Default> : Associator<Handler, Default> { \
    static auto get(const lagwatch::WatchedHandler<Handler>& watched) noexcept {                             \
      return Associator<Handler, Default>::get(watched.handler());                                           \
    }                                                                                                        \
    static auto get(const lagwatch::WatchedHandler<Handler>& watched, const Default& otherwise) noexcept {   \
      return Associator<Handler, Default>::get(watched.handler(), otherwise);                                \
    }                                                                                                        \
  };
#if defined(BOOST_ASIO_VERSION)
namespace boost {
namespace asio {
#if BOOST_ASIO_VERSION >= 102100
LW_ASIO_ASSOCIATOR
#else
LW_ASIO_ASSOCIATED(associated_executor)
LW_ASIO_ASSOCIATED(associated_allocator)
#endif
}  // namespace asio
}  // namespace boost
#endif
#if defined(ASIO_VERSION)
namespace asio {
#if ASIO_VERSION >= 102100
LW_ASIO_ASSOCIATOR
#else
LW_ASIO_ASSOCIATED(associated_executor)
LW_ASIO_ASSOCIATED(associated_allocator)
#endif
}  // namespace asio
#endif
#undef LW_ASIO_ASSOCIATOR
#undef LW_ASIO_ASSOCIATED
