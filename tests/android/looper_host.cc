// SPDX-License-Identifier: Apache-2.0
// A program around AOSP's native Looper: looper_host [SPOOL] runs messages by the commands of its standard
// input, one a line, which it reads by the Looper: "freeze MS", "burst COUNT" and "quit". With a spool
// directory it watches itself by the C interface.
#include <lagwatch/c.h>
#include <unistd.h>
#include <utils/Looper.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace {

using android::Looper;
using android::Message;
using android::sp;

constexpr int kQuit = -1;

lw_loop* g_loop = nullptr;
bool g_is_running = true;

[[gnu::noinline]] void FreezeHere(int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  asm volatile("");  // no tail call
}

struct Worker : android::MessageHandler {
  void handleMessage(const Message& message) override {
    if (message.what == kQuit) {
      g_is_running = false;
      return;
    }
    lw_dispatch_begin(g_loop, "Worker");
    FreezeHere(message.what);
    lw_dispatch_end(g_loop);
  }
};

void RunCommand(const std::string& command, const sp<Looper>& looper, const sp<Worker>& worker) {
  const size_t blank = command.find(' ');
  const int number = blank == std::string::npos ? 0 : std::atoi(command.c_str() + blank);
  if (command == "quit") looper->sendMessage(worker, Message(kQuit));
  if (command.rfind("freeze", 0) == 0) looper->sendMessage(worker, Message(number));
  // Always one more is due: the loop never waits.
  if (command.rfind("burst", 0) == 0)
    for (int i = 0; i < number; ++i) looper->sendMessage(worker, Message(5));
}

void Watch(const char* spool) {
  lw_options options;
  lw_options_init(&options);
  options.app = "looper_host";
  options.spool_directory = spool;
  options.threshold_ms = 400;
  options.check_period_ms = 50;
  lw_start(&options);
  g_loop = lw_watch_loop("main");
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count > 1) Watch(arguments[1]);
  sp<Looper> looper = Looper::prepare(Looper::PREPARE_ALLOW_NON_CALLBACKS);
  sp<Worker> worker = new Worker;
  looper->addFd(STDIN_FILENO, 1, Looper::EVENT_INPUT, nullptr, nullptr);
  std::puts("ready");
  std::fflush(stdout);
  std::string input;
  while (g_is_running) {
    if (looper->pollOnce(-1) != 1) continue;
    char bytes[256];
    const ssize_t size = read(STDIN_FILENO, bytes, sizeof bytes);
    if (size <= 0) break;
    input.append(bytes, static_cast<size_t>(size));
    for (size_t end = input.find('\n'); end != std::string::npos; end = input.find('\n')) {
      RunCommand(input.substr(0, end), looper, worker);
      input.erase(0, end + 1);
    }
  }
  if (g_loop != nullptr) lw_stop(0);
}
