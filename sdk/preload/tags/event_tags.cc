// SPDX-License-Identifier: Apache-2.0
// Events of Qt 5 and 6: the entries of its applications' virtual functions for notify() are found by their
// names, so this library's functions stand in them. Compiled without exceptions: see thread_waits.cc.
#include <atomic>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "sdk/preload/tags/loop_tags.h"

namespace lagwatch::sdk {
namespace {

using Notify = bool(void* application, void* receiver, void* event);

// All there is to know of the loaded Qt.
struct Qt {
  std::atomic<const char* (*)(const void*)> class_name{nullptr};  // QMetaObject::className()
  std::atomic<uint32_t> type_offset{0};                           // in a QEvent; 0: not known
};
constinit Qt g_qt{};

struct NextNotify {
  const char* symbol;
  std::atomic<Notify*> function{nullptr};
};
constinit NextNotify g_core{"_ZN16QCoreApplication6notifyEP7QObjectP6QEvent"};
constinit NextNotify g_gui{"_ZN15QGuiApplication6notifyEP7QObjectP6QEvent"};
constinit NextNotify g_widgets{"_ZN12QApplication6notifyEP7QObjectP6QEvent"};

// Qt stays loaded once it has an application.
Notify* FindNext(NextNotify* next) {
  const LoadedFunction function = FindLoaded(next->symbol);
  const LoadedFunction class_name = FindLoaded("_ZNK11QMetaObject9classNameEv");
  const std::string_view library = class_name.library;
  // A QEvent has its type behind the table of its virtual functions; in Qt 5 a pointer is between them.
  const uint32_t type_offset = library.starts_with("libQt5") ? 16 : library.starts_with("libQt6") ? 8 : 0;
  g_qt.type_offset.store(type_offset, std::memory_order_relaxed);
  using ClassName = const char*(const void*);
  g_qt.class_name.store(reinterpret_cast<ClassName*>(class_name.address), std::memory_order_relaxed);
  next->function.store(reinterpret_cast<Notify*>(function.address),
                       std::memory_order_release);  // pairs with Call()
  return reinterpret_cast<Notify*>(function.address);
}

// QEvent::Type, which is part of Qt's ABI; the types that programs handle most.
std::string_view NameOfType(uint16_t type) {
  switch (type) {
#define LAGWATCH_TYPE(number, name) \
  case number:                      \
    return name;
    LAGWATCH_TYPE(1, "Timer")
    LAGWATCH_TYPE(2, "MouseButtonPress")
    LAGWATCH_TYPE(3, "MouseButtonRelease")
    LAGWATCH_TYPE(4, "MouseButtonDblClick")
    LAGWATCH_TYPE(5, "MouseMove")
    LAGWATCH_TYPE(6, "KeyPress")
    LAGWATCH_TYPE(7, "KeyRelease")
    LAGWATCH_TYPE(8, "FocusIn")
    LAGWATCH_TYPE(9, "FocusOut")
    LAGWATCH_TYPE(10, "Enter")
    LAGWATCH_TYPE(11, "Leave")
    LAGWATCH_TYPE(12, "Paint")
    LAGWATCH_TYPE(13, "Move")
    LAGWATCH_TYPE(14, "Resize")
    LAGWATCH_TYPE(17, "Show")
    LAGWATCH_TYPE(18, "Hide")
    LAGWATCH_TYPE(19, "Close")
    LAGWATCH_TYPE(20, "Quit")
    LAGWATCH_TYPE(31, "Wheel")
    LAGWATCH_TYPE(43, "MetaCall")
    LAGWATCH_TYPE(50, "SockAct")
    LAGWATCH_TYPE(52, "DeferredDelete")
    LAGWATCH_TYPE(63, "Drop")
    LAGWATCH_TYPE(76, "LayoutRequest")
    LAGWATCH_TYPE(77, "UpdateRequest")
#undef LAGWATCH_TYPE
    default:
      return {};
  }
}

const char* TagOf(void* receiver, const void* event) {
  const uint32_t type_offset =
      g_qt.type_offset.load(std::memory_order_relaxed);  // published with the function
  auto* class_name = g_qt.class_name.load(std::memory_order_relaxed);
  if (type_offset == 0 || class_name == nullptr || receiver == nullptr || event == nullptr) return nullptr;
  const uint16_t type = *reinterpret_cast<const uint16_t*>(static_cast<const char*>(event) + type_offset);
  // QObject's first virtual function.
  using MetaObject = const void*(const void*);
  const void* meta_object = (**static_cast<MetaObject***>(receiver))(receiver);
  char digits[8];
  std::string_view name = NameOfType(type);
  if (name.empty()) name = {digits, std::to_chars(digits, digits + sizeof digits, type).ptr};
  // A user's address has at most 48 bits here; with more, two tags may be taken for one.
  const uint64_t key = reinterpret_cast<uint64_t>(meta_object) << 16 | type;
  return g_tag_texts.Find(key, class_name(meta_object), "::", name);
}

bool Call(NextNotify* next, void* application, void* receiver, void* event) {
  Notify* function = next->function.load(std::memory_order_acquire);  // pairs with FindNext()
  if (function == nullptr) [[unlikely]]
    function = FindNext(next);
  if (function == nullptr) return false;
  HookedThread& thread = t_waits;
  const char* tag = HasTags(thread) ? TagOf(receiver, event) : nullptr;
  if (tag == nullptr) return function(application, receiver, event);
  const char* before = Rename(thread, tag);
  const char* outer = thread.event_tag;
  thread.event_tag = tag;
  const bool result = function(application, receiver, event);
  thread.event_tag = outer;
  // After a loop in the event, too, which has had other tags.
  if (HasTags(thread)) Rename(thread, outer != nullptr ? outer : before);
  return result;
}

}  // namespace
}  // namespace lagwatch::sdk

#define LAGWATCH_NOTIFY(function, symbol, next)                                                      \
  extern "C" __attribute__((visibility("default"))) bool function(void* application, void* receiver, \
                                                                  void* event) __asm__(symbol);      \
  bool function(void* application, void* receiver, void* event) {                                    \
    return lagwatch::sdk::Call(&lagwatch::sdk::next, application, receiver, event);                  \
  }
LAGWATCH_NOTIFY(LagwatchNotifyCore, "_ZN16QCoreApplication6notifyEP7QObjectP6QEvent", g_core)
LAGWATCH_NOTIFY(LagwatchNotifyGui, "_ZN15QGuiApplication6notifyEP7QObjectP6QEvent", g_gui)
LAGWATCH_NOTIFY(LagwatchNotifyWidgets, "_ZN12QApplication6notifyEP7QObjectP6QEvent", g_widgets)
