// SPDX-License-Identifier: Apache-2.0
// A program with lagwatch in it that takes commands on standard input, one a line:
//   freeze MS   one dispatch of that length      hang   one that never ends
//   exit        ends the process in a dispatch   quit   stops the monitor and flushes
//   crash MS    a dispatch of that length that ends in a SIGSEGV, which a handler notes
//   fork        a child that ends at once        last   prints how the last run ended
//   scene NAME  sets the scene                   stop   notes a request to stop
//   try NAME    sets the experiment
//
//   freezer SPOOL [ENDPOINT KEY]       with FREEZER_SEAL_KEY in the environment, sealed
#include <lagwatch/lagwatch.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

namespace {

[[gnu::noinline]] void FreezeHere(std::chrono::milliseconds duration) {
  auto end = std::chrono::steady_clock::now() + duration;
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 100'000; ++i) asm volatile("");  // here, and not in the clock, is where the time goes
  }
  asm volatile("");
}

void TellAndDie(int signal_number) {
  lw_note_crash(signal_number);
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

void PrintLast(const std::optional<lw_last_exit>& last) {
  if (!last) {
    std::cout << "last none" << std::endl;
    return;
  }
  std::cout << "last " << last->reason << " signal " << last->signal << " lag " << last->was_in_hang << " "
            << last->hang_ms << " loop '" << last->loop << "' scene '" << last->scene << "' report "
            << last->report_id << std::endl;
}

// False when the command is for a dispatch.
bool Obey(const std::string& command, const lagwatch::Monitor& monitor) {
  if (command == "last") {
    PrintLast(monitor.last_exit());
  } else if (command == "scene") {
    std::string name;
    std::cin >> name;
    lw_set_scene(name.c_str());
  } else if (command == "try") {
    std::string name;
    std::cin >> name;
    lw_set_value("experiment", name.c_str());
  } else if (command == "stop") {
    lw_note_stop();
  } else if (command == "fork") {
    pid_t child = fork();
    if (child == 0) std::exit(0);
    waitpid(child, nullptr, 0);
    std::cout << "forked" << std::endl;
  } else {
    return false;
  }
  return true;
}

void CountCall(const lw_last_exit*, void* context) { ++*static_cast<int*>(context); }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::signal(SIGSEGV, TellAndDie);
  int calls = 0;
  const char* seal_key = std::getenv("FREEZER_SEAL_KEY");
  auto monitor = lagwatch::Monitor::Start(
      {.app = "freezer",
       .app_version = "1",
       .endpoint = argc > 2 ? argv[2] : "",
       .key = argc > 3 ? argv[3] : "",
       .user = seal_key == nullptr ? "u-1" : "user-who-is-nobodys-business",
       .spool_directory = argv[1],
       .threshold_ms = 100,
       .detection = {.check_period_ms = 100, .sample_interval_ms = 10, .usage_keys = "experiment"},
       .upload = {.user_rate_ppm = 1'000'000, .reports_per_day = UINT32_MAX, .reports_per_cause = UINT32_MAX},
       .privacy = {.seal_key = seal_key == nullptr ? "" : seal_key},
       .process = {.on_last_exit = CountCall, .on_last_exit_context = &calls}});
  if (calls != (monitor.last_exit() ? 1 : 0)) return 3;
  if (!monitor.is_on()) {
    std::cerr << monitor.why_off() << "\n";
    return 1;
  }
  auto loop = monitor.WatchLoop("main");
  std::cout << "ready" << std::endl;
  for (std::string command; std::cin >> command && command != "quit";) {
    if (Obey(command, monitor)) continue;
    int ms = 3'600'000;
    if (command == "freeze" || command == "crash") std::cin >> ms;
    {
      lagwatch::ScopedDispatch dispatch(loop, "freeze");
      if (command == "exit") std::exit(0);
      FreezeHere(std::chrono::milliseconds(ms));
      if (command == "crash") std::raise(SIGSEGV);
    }
    std::cout << "thawed" << std::endl;
  }
  monitor.Stop(5000);
  std::cout << "reports " << monitor.stats().reports_written << std::endl;
}
