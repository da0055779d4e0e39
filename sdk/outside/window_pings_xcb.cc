// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xcb/xcb.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "sdk/outside/window_pings.h"

namespace lagwatch::sdk {
namespace {

constexpr int64_t kPingIntervalNs = 10 * base::kNsPerSecond;
constexpr int kDeepest = 4;          // a window manager's frames are between the root and a program's window
constexpr uint32_t kMostWords = 64;  // of 32 bits, of a property

// As the program was started with it; empty if there is none.
std::string VariableOf(pid_t pid, std::string_view name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  for (std::string entry; std::getline(file, entry, '\0');)
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
  return "";
}

// A connection to an X server. Any failure ends in none.
class Display {
 public:
  explicit Display(const char* name) : connection_(xcb_connect(name, &screen_)) {}
  ~Display() { xcb_disconnect(connection_); }
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;

  bool works() const { return xcb_connection_has_error(connection_) == 0; }
  xcb_connection_t* get() const { return connection_; }
  xcb_window_t Root() const {
    xcb_screen_iterator_t screens = xcb_setup_roots_iterator(xcb_get_setup(connection_));
    for (int i = 0; i < screen_ && screens.rem > 1; ++i) xcb_screen_next(&screens);
    return screens.rem > 0 ? screens.data->root : 0;
  }
  // 0 if the server knows no such name: then no window has it.
  xcb_atom_t Atom(std::string_view name) const {
    const auto cookie = xcb_intern_atom(connection_, 1, static_cast<uint16_t>(name.size()), name.data());
    return Take(xcb_intern_atom_reply(connection_, cookie, nullptr),
                [](const auto& reply) { return reply.atom; });
  }
  // The property's bytes; empty if the window has none.
  std::string Property(xcb_window_t window, xcb_atom_t name) const {
    const auto cookie =
        xcb_get_property(connection_, 0, window, name, XCB_GET_PROPERTY_TYPE_ANY, 0, kMostWords);
    return Take(xcb_get_property_reply(connection_, cookie, nullptr),
                [](const xcb_get_property_reply_t& reply) {
                  return std::string(static_cast<const char*>(xcb_get_property_value(&reply)),
                                     static_cast<size_t>(xcb_get_property_value_length(&reply)));
                });
  }
  // The windows in this one.
  std::vector<xcb_window_t> Children(xcb_window_t window) const {
    const auto cookie = xcb_query_tree(connection_, window);
    return Take(xcb_query_tree_reply(connection_, cookie, nullptr), [](const xcb_query_tree_reply_t& reply) {
      const xcb_window_t* first = xcb_query_tree_children(&reply);
      return std::vector<xcb_window_t>(first, first + xcb_query_tree_children_length(&reply));
    });
  }
  // Returns after the server has done all that was requested.
  bool Sync() const {
    const auto cookie = xcb_get_input_focus(connection_);
    return Take(xcb_get_input_focus_reply(connection_, cookie, nullptr), [](const auto&) { return true; });
  }

 private:
  // Frees the reply. A default value for none.
  template <typename Reply, typename Read>
  static auto Take(Reply* reply, Read read) -> decltype(read(*reply)) {
    if (reply == nullptr) return {};
    auto value = read(*reply);
    std::free(reply);
    return value;
  }

  int screen_ = 0;
  xcb_connection_t* connection_;
};

struct PingAtoms {
  xcb_atom_t protocols;
  xcb_atom_t ping;
  xcb_atom_t pid;
};

bool HoldsWord(const std::string& bytes, uint32_t wanted) {
  for (size_t at = 0; at + sizeof wanted <= bytes.size(); at += sizeof wanted) {
    uint32_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    if (word == wanted) return true;
  }
  return false;
}

// A window of the process that answers pings, in this one; 0 if there is none.
xcb_window_t FindWindow(const Display& display, const PingAtoms& atoms, pid_t pid, const std::string& host,
                        xcb_window_t window, int depth) {
  if (HoldsWord(display.Property(window, atoms.pid), static_cast<uint32_t>(pid)) &&
      HoldsWord(display.Property(window, atoms.protocols), atoms.ping) &&
      display.Property(window, XCB_ATOM_WM_CLIENT_MACHINE) == host)
    return window;
  if (depth == kDeepest) return 0;
  for (const xcb_window_t child : display.Children(window))
    if (const xcb_window_t found = FindWindow(display, atoms, pid, host, child, depth + 1); found != 0)
      return found;
  return 0;
}

void SendPing(const Display& display, const PingAtoms& atoms, xcb_window_t window, uint32_t stamp) {
  xcb_client_message_event_t event{};
  event.response_type = XCB_CLIENT_MESSAGE;
  event.format = 32;
  event.window = window;
  event.type = atoms.protocols;
  event.data.data32[0] = atoms.ping;
  event.data.data32[1] = stamp;
  event.data.data32[2] = window;
  xcb_send_event(display.get(), 0, window, XCB_EVENT_MASK_NO_EVENT, reinterpret_cast<const char*>(&event));
}

// Returns when the window has answered, or the server has gone.
void AwaitAnswer(const Display& display, const PingAtoms& atoms, xcb_window_t window, uint32_t stamp) {
  for (bool is_answered = false; !is_answered;) {
    xcb_generic_event_t* event = xcb_wait_for_event(display.get());
    if (event == nullptr) return;
    const auto* message = reinterpret_cast<const xcb_client_message_event_t*>(event);
    constexpr uint8_t kWithoutSentFlag = 0x7f;
    is_answered = (event->response_type & kWithoutSentFlag) == XCB_CLIENT_MESSAGE &&
                  message->data.data32[0] == atoms.ping && message->data.data32[1] == stamp &&
                  message->data.data32[2] == window;
    // It may close the window instead of answering.
    const auto* destroyed = reinterpret_cast<const xcb_destroy_notify_event_t*>(event);
    is_answered |=
        (event->response_type & kWithoutSentFlag) == XCB_DESTROY_NOTIFY && destroyed->window == window;
    std::free(event);
  }
}

}  // namespace

std::unique_ptr<WindowPings> WindowPings::Create(pid_t pid) {
  const std::string display = VariableOf(pid, "DISPLAY");
  struct stat process {};
  // A display of this machine; another one would be a connection that the program asks us to make.
  if (!display.starts_with(':') || stat(("/proc/" + std::to_string(pid)).c_str(), &process) != 0 ||
      process.st_uid != geteuid())
    return nullptr;
  if (const std::string file = VariableOf(pid, "XAUTHORITY"); !file.empty())
    setenv("XAUTHORITY", file.c_str(), 1);
  return std::unique_ptr<WindowPings>(new WindowPings(pid, display));
}

void WindowPings::Ask(int64_t now_ns) {
  if (phase_->load() != Phase::kIdle || (asked_ns_ != 0 && now_ns - asked_ns_ < kPingIntervalNs)) return;
  asked_ns_ = now_ns;
  phase_->store(Phase::kAsking);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the main thread's
  try {
    std::thread([display = display_, pid = pid_, phase = phase_] {
      AskWindow(display, pid, phase.get());
      phase->store(Phase::kIdle);
    }).detach();
  } catch (const std::system_error&) {  // there are too many threads
    phase_->store(Phase::kIdle);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void WindowPings::AskWindow(const std::string& name, pid_t pid, std::atomic<Phase>* phase) {
  const Display display(name.c_str());
  if (!display.works()) return;
  const PingAtoms atoms{.protocols = display.Atom("WM_PROTOCOLS"),
                        .ping = display.Atom("_NET_WM_PING"),
                        .pid = display.Atom("_NET_WM_PID")};
  const xcb_window_t root = display.Root();
  if (atoms.protocols == 0 || atoms.ping == 0 || atoms.pid == 0 || root == 0) return;
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const xcb_window_t window = FindWindow(display, atoms, pid, host, root, 0);
  if (window == 0) return;
  // Some toolkits answer to clients with the first mask, Qt to those with the second.
  const uint32_t roots_events = XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY | XCB_EVENT_MASK_STRUCTURE_NOTIFY;
  xcb_change_window_attributes(display.get(), root, XCB_CW_EVENT_MASK, &roots_events);
  const uint32_t windows_events = XCB_EVENT_MASK_STRUCTURE_NOTIFY;
  xcb_change_window_attributes(display.get(), window, XCB_CW_EVENT_MASK, &windows_events);
  // No window manager's: theirs is the server's time.
  const auto stamp = static_cast<uint32_t>(base::SystemClock().MonoNs() / 1000) | 1U;
  SendPing(display, atoms, window, stamp);
  if (!display.Sync()) return;
  phase->store(Phase::kUnanswered, std::memory_order_release);
  AwaitAnswer(display, atoms, window, stamp);
}

}  // namespace lagwatch::sdk
