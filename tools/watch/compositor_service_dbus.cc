// SPDX-License-Identifier: Apache-2.0
#include <dbus/dbus.h>
#include <dlfcn.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/clock.h"
#include "tools/watch/compositor_service.h"

namespace lagwatch::tools {
namespace {

constexpr char kName[] = "org.lagwatch.Watch";
constexpr int kAnswerMs = 1000;

constexpr char kIntrospection[] = R"(<!DOCTYPE node PUBLIC
 "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
<node name="/org/lagwatch/Watch">
  <interface name="org.lagwatch.Watch">
    <method name="NotResponding"><arg name="pid" type="u" direction="in"/></method>
    <method name="Responding"><arg name="pid" type="u" direction="in"/></method>
  </interface>
</node>
)";

// libdbus, loaded when it is needed: lagwatch runs on machines without it.
struct Library {
  decltype(&dbus_connection_open_private) connection_open_private;
  decltype(&dbus_connection_close) connection_close;
  decltype(&dbus_connection_unref) connection_unref;
  decltype(&dbus_connection_get_is_connected) connection_get_is_connected;
  decltype(&dbus_connection_get_unix_fd) connection_get_unix_fd;
  decltype(&dbus_connection_has_messages_to_send) connection_has_messages_to_send;
  decltype(&dbus_connection_read_write) connection_read_write;
  decltype(&dbus_connection_pop_message) connection_pop_message;
  decltype(&dbus_connection_send) connection_send;
  decltype(&dbus_message_get_reply_serial) message_get_reply_serial;
  decltype(&dbus_message_new_method_call) message_new_method_call;
  decltype(&dbus_message_new_method_return) message_new_method_return;
  decltype(&dbus_message_new_error) message_new_error;
  decltype(&dbus_message_append_args) message_append_args;
  decltype(&dbus_message_unref) message_unref;
  decltype(&dbus_message_get_type) message_get_type;
  decltype(&dbus_message_get_no_reply) message_get_no_reply;
  decltype(&dbus_message_get_sender) message_get_sender;
  decltype(&dbus_message_is_method_call) message_is_method_call;
  decltype(&dbus_message_is_signal) message_is_signal;
  decltype(&dbus_message_iter_init) message_iter_init;
  decltype(&dbus_message_iter_get_arg_type) message_iter_get_arg_type;
  decltype(&dbus_message_iter_get_basic) message_iter_get_basic;

  static std::optional<Library> Load() {
    void* handle = dlopen("libdbus-1.so.3", RTLD_NOW | RTLD_LOCAL);  // stays loaded
    if (handle == nullptr) return std::nullopt;
    Library library{};
    bool is_whole = true;
    const auto find = [&](auto* function, const char* name) {
      *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(handle, name));
      is_whole = is_whole && *function != nullptr;
    };
#define LAGWATCH_FIND(name) find(&library.name, "dbus_" #name)
    LAGWATCH_FIND(connection_open_private);
    LAGWATCH_FIND(connection_close);
    LAGWATCH_FIND(connection_unref);
    LAGWATCH_FIND(connection_get_is_connected);
    LAGWATCH_FIND(connection_get_unix_fd);
    LAGWATCH_FIND(connection_has_messages_to_send);
    LAGWATCH_FIND(connection_read_write);
    LAGWATCH_FIND(connection_pop_message);
    LAGWATCH_FIND(connection_send);
    LAGWATCH_FIND(message_get_reply_serial);
    LAGWATCH_FIND(message_new_method_call);
    LAGWATCH_FIND(message_new_method_return);
    LAGWATCH_FIND(message_new_error);
    LAGWATCH_FIND(message_append_args);
    LAGWATCH_FIND(message_unref);
    LAGWATCH_FIND(message_get_type);
    LAGWATCH_FIND(message_get_no_reply);
    LAGWATCH_FIND(message_get_sender);
    LAGWATCH_FIND(message_is_method_call);
    LAGWATCH_FIND(message_is_signal);
    LAGWATCH_FIND(message_iter_init);
    LAGWATCH_FIND(message_iter_get_arg_type);
    LAGWATCH_FIND(message_iter_get_basic);
#undef LAGWATCH_FIND
    return is_whole ? std::optional(library) : std::nullopt;
  }
};

// The session bus's address as a socket of this machine; empty if there is none. Other kinds of addresses
// would start programs, or connect to other machines.
std::string AddressOfBus() {
  const char* addresses = std::getenv("DBUS_SESSION_BUS_ADDRESS");
  if (addresses == nullptr) {
    const char* directory = std::getenv("XDG_RUNTIME_DIR");
    const std::string path = directory == nullptr ? "" : std::string(directory) + "/bus";
    return !path.empty() && access(path.c_str(), F_OK) == 0 ? "unix:path=" + path : "";
  }
  for (std::string_view rest = addresses; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find(';'));
    if (one.starts_with("unix:")) return std::string(one);
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
  }
  return "";
}

base::Status Unavailable(const char* why) { return {base::StatusCode::kUnavailable, why}; }

}  // namespace

class CompositorService::Connection {
 public:
  Connection(const Library& bus, DBusConnection* connection, std::shared_ptr<sdk::UnansweredWindows> windows)
      : bus_(bus), connection_(connection), windows_(std::move(windows)) {}
  ~Connection() {
    ForgetAll();
    bus_.connection_close(connection_);
    bus_.connection_unref(connection_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool has_name() const { return has_name_; }

  // Whether the bus has answered.
  bool Begin() {
    if (!Ask("Hello", nullptr, nullptr)) return false;
    uint32_t flags = 0;  // to have the name after the one that has it now
    uint32_t answer = 0;
    constexpr uint32_t kIsOwner = 1;
    if (!Ask("RequestName", kName, &flags, &answer)) return false;
    has_name_ = answer == kIsOwner;
    return Ask("AddMatch",
               "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
               "member='NameOwnerChanged',arg2=''",
               nullptr);
  }

  // Until `deadline_ns` (CLOCK_MONOTONIC), or a signal.
  void ServeUntil(int64_t deadline_ns) {
    for (int64_t left_ns; (left_ns = deadline_ns - base::SystemClock().MonoNs()) > 0;) {
      const bool is_connected = bus_.connection_get_is_connected(connection_) != 0;
      if (!is_connected) ForgetAll();
      pollfd socket{.fd = -1, .events = POLLIN, .revents = 0};
      if (is_connected) bus_.connection_get_unix_fd(connection_, &socket.fd);
      if (is_connected && bus_.connection_has_messages_to_send(connection_)) socket.events |= POLLOUT;
      const timespec left{.tv_sec = left_ns / base::kNsPerSecond, .tv_nsec = left_ns % base::kNsPerSecond};
      const int ready = ppoll(&socket, 1, &left, nullptr);
      if (ready < 0) return;
      if (ready == 0) continue;
      bus_.connection_read_write(connection_, 0);
      while (DBusMessage* message = bus_.connection_pop_message(connection_)) {
        Handle(message);
        bus_.message_unref(message);
      }
    }
    ForgetEnded();
  }

 private:
  // Calls the bus itself with a text and a number, as far as there are any. Its answer is a number, if one is
  // wanted.
  bool Ask(const char* method, const char* text, const uint32_t* number, uint32_t* answer = nullptr) {
    DBusMessage* call =
        bus_.message_new_method_call(DBUS_SERVICE_DBUS, DBUS_PATH_DBUS, DBUS_INTERFACE_DBUS, method);
    if (call == nullptr) return false;
    if (text != nullptr) bus_.message_append_args(call, DBUS_TYPE_STRING, &text, DBUS_TYPE_INVALID);
    if (number != nullptr) bus_.message_append_args(call, DBUS_TYPE_UINT32, number, DBUS_TYPE_INVALID);
    uint32_t serial = 0;
    bus_.connection_send(connection_, call, &serial);
    bus_.message_unref(call);
    DBusMessage* reply = Await(serial);
    if (reply == nullptr) return false;
    DBusMessageIter place;
    if (answer != nullptr && bus_.message_iter_init(reply, &place) &&
        bus_.message_iter_get_arg_type(&place) == DBUS_TYPE_UINT32)
      bus_.message_iter_get_basic(&place, answer);
    bus_.message_unref(reply);
    return true;
  }

  // The answer to be unreferenced; null without one in time, or for an error. libdbus itself would wait for
  // ever for a bus that has not authenticated this process.
  DBusMessage* Await(uint32_t serial) {
    const int64_t deadline_ns = base::SystemClock().MonoNs() + kAnswerMs * base::kNsPerMs;
    constexpr int kPieceMs = 10;
    while (base::SystemClock().MonoNs() < deadline_ns &&
           bus_.connection_read_write(connection_, kPieceMs) != 0) {
      while (DBusMessage* message = bus_.connection_pop_message(connection_)) {
        const bool is_answer = bus_.message_get_reply_serial(message) == serial;
        if (is_answer && bus_.message_get_type(message) == DBUS_MESSAGE_TYPE_METHOD_RETURN) return message;
        if (!is_answer) Handle(message);
        bus_.message_unref(message);
        if (is_answer) return nullptr;
      }
    }
    return nullptr;
  }

  void Handle(DBusMessage* message) {
    const int type = bus_.message_get_type(message);
    if (type == DBUS_MESSAGE_TYPE_SIGNAL) return HandleSignal(message);
    if (type != DBUS_MESSAGE_TYPE_METHOD_CALL) return;
    if (bus_.message_is_method_call(message, kName, "NotResponding")) return Note(message, true);
    if (bus_.message_is_method_call(message, kName, "Responding")) return Note(message, false);
    if (bus_.message_is_method_call(message, DBUS_INTERFACE_INTROSPECTABLE, "Introspect"))
      return Answer(message, kIntrospection);
    Refuse(message, DBUS_ERROR_UNKNOWN_METHOD,
           "org.lagwatch.Watch has NotResponding and Responding, each with a process id");
  }

  void HandleSignal(DBusMessage* signal) {
    if (bus_.message_is_signal(signal, DBUS_INTERFACE_DBUS, "NameAcquired") && FirstText(signal) == kName)
      has_name_ = true;
    if (bus_.message_is_signal(signal, DBUS_INTERFACE_DBUS, "NameOwnerChanged"))
      ForgetSaidBy(FirstText(signal));
  }

  void Note(DBusMessage* call, bool is_unanswered) {
    const std::optional<pid_t> pid = FirstProcess(call);
    if (!pid) return Refuse(call, DBUS_ERROR_INVALID_ARGS, "needs the id of a process");
    if (!windows_->Set(*pid, is_unanswered))
      return Refuse(call, DBUS_ERROR_LIMITS_EXCEEDED, "too many processes do not respond");
    if (is_unanswered) {
      const char* sender = bus_.message_get_sender(call);
      said_by_[*pid] = sender == nullptr ? "" : sender;
    } else {
      said_by_.erase(*pid);
    }
    Answer(call, nullptr);
  }

  // Scripts of KWin send signed numbers.
  std::optional<pid_t> FirstProcess(DBusMessage* message) const {
    DBusMessageIter place;
    if (!bus_.message_iter_init(message, &place)) return std::nullopt;
    const int type = bus_.message_iter_get_arg_type(&place);
    uint32_t number = 0;
    if (type != DBUS_TYPE_UINT32 && type != DBUS_TYPE_INT32) return std::nullopt;
    bus_.message_iter_get_basic(&place, &number);
    return number > 0 && number <= INT_MAX ? std::optional(static_cast<pid_t>(number)) : std::nullopt;
  }
  std::string FirstText(DBusMessage* message) const {
    DBusMessageIter place;
    const char* text = "";
    if (bus_.message_iter_init(message, &place) && bus_.message_iter_get_arg_type(&place) == DBUS_TYPE_STRING)
      bus_.message_iter_get_basic(&place, &text);
    return text;
  }

  void Answer(DBusMessage* call, const char* text) {
    DBusMessage* answer = bus_.message_new_method_return(call);
    if (answer != nullptr && text != nullptr)
      bus_.message_append_args(answer, DBUS_TYPE_STRING, &text, DBUS_TYPE_INVALID);
    Send(call, answer);
  }
  void Refuse(DBusMessage* call, const char* error, const char* text) {
    Send(call, bus_.message_new_error(call, error, text));
  }
  void Send(DBusMessage* call, DBusMessage* answer) {
    if (answer == nullptr) return;
    if (!bus_.message_get_no_reply(call)) bus_.connection_send(connection_, answer, nullptr);
    bus_.message_unref(answer);
  }

  template <typename IsOver>
  void ForgetIf(const IsOver& is_over) {
    std::erase_if(said_by_, [&](const auto& said) {
      if (!is_over(said)) return false;
      windows_->Set(said.first, false);
      return true;
    });
  }
  void ForgetAll() {
    ForgetIf([](const auto&) { return true; });
  }
  // A compositor that has gone says no more that they do respond.
  void ForgetSaidBy(const std::string& sender) {
    ForgetIf([&](const auto& said) { return said.second == sender; });
  }
  void ForgetEnded() {
    ForgetIf([](const auto& said) { return kill(said.first, 0) != 0 && errno == ESRCH; });
  }

  Library bus_;
  DBusConnection* connection_;
  std::shared_ptr<sdk::UnansweredWindows> windows_;
  std::map<pid_t, std::string> said_by_;  // of each process that does not respond: the name on the bus
  bool has_name_ = false;
};

base::Result<std::unique_ptr<CompositorService>> CompositorService::Start(
    std::shared_ptr<sdk::UnansweredWindows> windows) {
  const std::string address = AddressOfBus();
  if (address.empty()) return Unavailable("there is no session bus");
  const std::optional<Library> library = Library::Load();
  if (!library) return Unavailable("there is no libdbus-1.so.3");
  DBusConnection* bus = library->connection_open_private(address.c_str(), nullptr);
  if (bus == nullptr) return Unavailable("the session bus cannot be reached");
  auto connection = std::make_unique<Connection>(*library, bus, std::move(windows));
  if (!connection->Begin()) return Unavailable("the session bus does not answer");
  return std::unique_ptr<CompositorService>(new CompositorService(std::move(connection)));
}

CompositorService::CompositorService(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)) {}

CompositorService::~CompositorService() = default;

bool CompositorService::has_name() const { return connection_->has_name(); }

void CompositorService::ServeFor(int64_t ns) { connection_->ServeUntil(base::SystemClock().MonoNs() + ns); }

}  // namespace lagwatch::tools
