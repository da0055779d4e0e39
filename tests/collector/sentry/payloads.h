// SPDX-License-Identifier: Apache-2.0
// Events as Sentry's SDKs send them when something hung, less what is not about that.
#pragma once

#include <string>

namespace lagwatch::testing {

// sentry-native on Linux: no threads, addresses alone.
inline const std::string kNativeHang = R"({
  "event_id": "9b2e7a4c5d6f40718293a4b5c6d7e8f9", "timestamp": "2026-08-21T09:08:24.250Z", "platform": "native",
  "level": "error", "release": "editor@2.3.1+45", "environment": "production", "user": {"id": "u-71"},
  "sdk": {"name": "sentry.native", "version": "0.16.1"},
  "contexts": {"os": {"name": "Linux", "version": "6.1.0"}},
  "message": {"formatted": "App hung for at least 5234 ms."},
  "exception": {"values": [{"type": "AppHang", "value": "App hung for at least 5234 ms.",
    "mechanism": {"type": "AppHang", "handled": true, "synthetic": true},
    "stacktrace": {"frames": [
      {"instruction_addr": "0x55d0c0001201"},
      {"instruction_addr": "0x55d0c0003405"},
      {"instruction_addr": "0x7f12000a1007"}]}}]},
  "debug_meta": {"images": [
    {"type": "elf", "code_file": "/usr/bin/editor", "code_id": "f1c3bcc0279865fe3058404b2831d9e64135386c",
     "debug_id": "c0bcc3f1-9827-fe65-3058-404b2831d9e6", "image_addr": "0x55d0c0000000", "image_size": 65536},
    {"type": "elf", "code_file": "/lib/x86_64-linux-gnu/libc.so.6", "debug_id": "c0bcc3f1-9827-fe65-3058-404b2831d9e6",
     "image_addr": "0x7f1200000000", "image_size": 2097152}]}})";

// sentry-cocoa: all threads, functions named on the device.
inline const std::string kCocoaHang = R"({
  "event_id": "1f0c9a3d2b4e4f60a1b2c3d4e5f60718", "timestamp": 1755766104.5, "platform": "cocoa", "level": "error",
  "release": "com.example.editor@2.3.1+45", "dist": "45", "transaction": "InboxViewController",
  "user": {"id": "1A2B3C4D-0000-4000-8000-ABCDEF012345"},
  "sdk": {"name": "sentry.cocoa", "version": "9.1.0"},
  "contexts": {"os": {"name": "iOS", "version": "18.1"}, "device": {"arch": "arm64e", "model": "iPhone15,2"}},
  "exception": {"values": [{"type": "App Hang Fully Blocked", "value": "App hanging between 2.1 and 2.5 seconds.",
    "mechanism": {"type": "AppHang", "data": {}},
    "stacktrace": {"snapshot": true, "frames": [
      {"function": "main", "package": "/private/var/app/Editor", "instruction_addr": "0x102004f10",
       "symbol_addr": "0x102004e00", "image_addr": "0x102000000", "in_app": true},
      {"function": "-[InboxViewController loadAll]", "package": "/private/var/app/Editor",
       "instruction_addr": "0x102008124", "symbol_addr": "0x102008100", "image_addr": "0x102000000"}]}}]},
  "threads": {"values": [
    {"id": 0, "name": "main", "current": true, "main": true, "crashed": false, "stacktrace": {"frames": [
      {"function": "main", "package": "/private/var/app/Editor", "instruction_addr": "0x102004f10",
       "symbol_addr": "0x102004e00", "image_addr": "0x102000000"},
      {"function": "-[InboxViewController loadAll]", "package": "/private/var/app/Editor",
       "instruction_addr": "0x102008124", "symbol_addr": "0x102008100", "image_addr": "0x102000000"}]}},
    {"id": 1, "name": "com.example.index", "current": false, "stacktrace": {"frames": [
      {"function": "<redacted>", "package": "/usr/lib/system/libsystem_kernel.dylib",
       "instruction_addr": "0x1f0001010", "image_addr": "0x1f0000000"}]}}]},
  "debug_meta": {"images": [
    {"type": "macho", "debug_id": "8F3C1A2B-4D5E-3F60-8172-93A4B5C6D7E8", "code_file": "/private/var/app/Editor",
     "image_addr": "0x102000000", "image_size": 131072, "image_vmaddr": "0x100000000"}]}})";

// sentry-java's watchdog on Android.
inline const std::string kAndroidAnr = R"({
  "event_id": "aa0c9a3d2b4e4f60a1b2c3d4e5f60718", "timestamp": "2026-08-21T15:13:11.000Z", "platform": "java",
  "level": "error", "release": "com.example.editor@2.3.1+45", "user": {"id": "8d1f", "email": "jo@example.com"},
  "contexts": {"os": {"name": "Android", "version": "15"}, "device": {"archs": ["arm64-v8a", "armeabi-v7a"]}},
  "exception": {"values": [{"type": "ApplicationNotResponding", "module": "io.sentry.android.core",
    "value": "ANR for at least 5000 ms.", "thread_id": 2, "mechanism": {"type": "ANR"},
    "stacktrace": {"snapshot": true, "frames": [
      {"module": "android.os.Looper", "function": "loop", "filename": "Looper.java", "lineno": 288},
      {"module": "com.example.editor.MainActivity", "function": "onClick", "filename": "MainActivity.java"},
      {"module": "com.example.editor.Index", "function": "rebuild", "filename": "Index.java", "lineno": 42}]}}]},
  "threads": {"values": [
    {"id": 2, "name": "main", "state": "RUNNABLE", "main": true, "crashed": true, "current": false},
    {"id": 31, "name": "pool-1", "state": "TIMED_WAITING", "stacktrace": {"frames": [
      {"module": "java.lang.Thread", "function": "sleep", "native": true}]}}]}})";

// sentry-unity's watchdog: a managed exception that nothing threw.
inline const std::string kUnityAnr = R"({
  "event_id": "cc0c9a3d2b4e4f60a1b2c3d4e5f60718", "timestamp": "2026-08-21T15:13:11.000Z", "platform": "csharp",
  "level": "error", "release": "com.example.game@1.0", "sdk": {"name": "sentry.dotnet.unity", "version": "4.0.0"},
  "exception": {"values": [{"type": "Sentry.Unity.ApplicationNotRespondingException", "module": "Sentry.Unity",
    "value": "Application not responding for at least 5000 ms.", "thread_id": 1,
    "mechanism": {"type": "MainThreadWatchdog", "handled": true},
    "stacktrace": {"frames": [
      {"module": "Game.Loop", "function": "Update"}, {"module": "Game.Assets", "function": "LoadAll"}]}}]}})";

// sentry-cocoa, of a diagnostic of MetricKit.
inline const std::string kMetricKitHang = R"({
  "event_id": "dd0c9a3d2b4e4f60a1b2c3d4e5f60718", "timestamp": 1755789191.123, "platform": "cocoa", "level": "warning",
  "release": "com.example.editor@2.3.1", "sdk": {"name": "sentry.cocoa", "version": "9.1.0"},
  "exception": {"values": [{"type": "MXHangDiagnostic", "value": "MXHangDiagnostic hangDuration:6.6 sec",
    "mechanism": {"type": "mx_hang_diagnostic", "handled": true, "synthetic": true},
    "stacktrace": {"frames": [
      {"function": "main", "package": "Editor", "instruction_addr": "0x102004f10", "image_addr": "0x102000000"},
      {"package": "Editor", "instruction_addr": "0x102008124", "image_addr": "0x102000000"}]}}]}})";

// sentry-java at the next start, from what Android kept of an ANR.
inline const std::string kAndroidExitInfo = R"({
  "event_id": "bb0c9a3d2b4e4f60a1b2c3d4e5f60718", "timestamp": 1755789191.123, "platform": "java", "level": "fatal",
  "release": "com.example.editor@2.3.1+45",
  "exception": {"values": [{"type": "ApplicationNotResponding", "value": "ANR", "thread_id": 1,
    "mechanism": {"type": "AppExitInfo"}}]},
  "threads": {"values": [{"id": 1, "name": "main", "state": "Native", "main": true, "stacktrace": {"frames": [
    {"module": "com.example.editor.MainActivity", "function": "onResume"},
    {"function": "nativeLoad", "package": "/data/app/lib/libeditor.so", "instruction_addr": "0x1234"}]}}]}})";

// sentry-javascript in Node.js and Electron.
inline const std::string kNodeAnr = R"({
  "event_id": "cc0c9a3d2b4e4f60a1b2c3d4e5f60718", "timestamp": 1755789191.5, "platform": "node", "level": "error",
  "release": "1.0.7", "contexts": {"app": {"app_name": "server"}},
  "exception": {"values": [{"type": "ApplicationNotResponding",
    "value": "Application Not Responding for at least 5000 ms", "mechanism": {"type": "ANR"},
    "stacktrace": {"frames": [
      {"filename": "node:internal/timers", "module": "timers", "function": "listOnTimeout", "in_app": false},
      {"filename": "/app/index.js", "function": "?", "lineno": 12, "colno": 3},
      {"filename": "/app/lib/hash.js", "function": "longWork", "lineno": 7, "colno": 9}]}}]}})";

// An envelope with one event, without a length, as the protocol allows.
inline std::string EnvelopeOf(const std::string& event, const std::string& headers = "{}") {
  std::string line = event;
  for (char& c : line)
    if (c == '\n') c = ' ';
  return headers + "\n{\"type\":\"event\"}\n" + line + "\n";
}

}  // namespace lagwatch::testing
