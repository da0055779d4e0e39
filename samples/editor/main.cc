// SPDX-License-Identifier: Apache-2.0
// A small editor without a screen: an epoll loop that takes commands, one a line, on standard input.
//
//   printf 'key\nreindex\nfind\nsave\npaste\nquit\n' | editor --save /tmp/text --endpoint
//   http://127.0.0.1:8790 --key K
#include <getopt.h>
#include <lagwatch/lagwatch.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "editor.h"

namespace {

constexpr char kUsage[] =
    "Usage: editor --save FILE [--freeze-ms N] [--threshold-ms N] [--endpoint URL] [--key KEY] [--spool "
    "DIR]\n"
    "              [--user NAME]\n"
    "\n"
    "Commands on standard input: key, reindex, find, save, paste, quit.\n"
    "  reindex then find   freezes on a lock that the indexing thread holds\n"
    "  save                freezes in fsync\n"
    "  paste               freezes in a quadratic parse\n";

struct Settings {
  lagwatch::Options lagwatch{.app = "editor", .app_version = "2.3.1"};
  std::string save_path;
  std::chrono::milliseconds freeze{3000};
};

bool ParseArguments(int argc, char** argv, Settings* settings) {
  static const option kOptions[] = {
      {"save", required_argument, nullptr, 's'},     {"freeze-ms", required_argument, nullptr, 'f'},
      {"endpoint", required_argument, nullptr, 'e'}, {"threshold-ms", required_argument, nullptr, 't'},
      {"key", required_argument, nullptr, 'k'},      {"spool", required_argument, nullptr, 'd'},
      {"user", required_argument, nullptr, 'u'},     {nullptr, 0, nullptr, 0},
  };
  for (int name; (name = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    switch (name) {
      case 's':
        settings->save_path = optarg;
        break;
      case 'f':
        settings->freeze = std::chrono::milliseconds(std::strtoul(optarg, nullptr, 10));
        break;
      case 'e':
        settings->lagwatch.endpoint = optarg;
        break;
      case 't':
        settings->lagwatch.threshold_ms = static_cast<uint32_t>(std::strtoul(optarg, nullptr, 10));
        break;
      case 'k':
        settings->lagwatch.key = optarg;
        break;
      case 'd':
        settings->lagwatch.spool_directory = optarg;
        break;
      case 'u':
        settings->lagwatch.user = optarg;
        break;
      default:
        return false;
    }
  }
  return optind == argc && !settings->save_path.empty();
}

// Takes the next whole line of the bytes read so far; returns false without one.
bool TakeLine(std::string* buffered, std::string* line) {
  size_t end = buffered->find('\n');
  if (end == std::string::npos) return false;
  *line = buffered->substr(0, end);
  buffered->erase(0, end + 1);
  return true;
}

void RunLoop(Editor* editor, lagwatch::Loop loop) {
  int poller = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{.events = EPOLLIN, .data = {.fd = STDIN_FILENO}};
  if (epoll_ctl(poller, EPOLL_CTL_ADD, STDIN_FILENO, &event) != 0) {
    std::perror("editor: standard input must be a terminal or a pipe");
    return;
  }
  std::string buffered;
  for (;;) {
    char bytes[512];
    if (epoll_wait(poller, &event, 1, -1) < 0) continue;
    ssize_t size = read(STDIN_FILENO, bytes, sizeof bytes);
    if (size <= 0) break;
    buffered.append(bytes, static_cast<size_t>(size));
    for (std::string command; TakeLine(&buffered, &command);) {
      if (command == "quit") return;
      lagwatch::ScopedDispatch dispatch(loop, command.c_str());
      if (!editor->Handle(command)) std::printf("no such command: %s\n", command.c_str());
    }
  }
  close(poller);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (!ParseArguments(argc, argv, &settings)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  // A real program keeps the default of 5 %, enough for estimates with many users. Here there is one user.
  settings.lagwatch.upload.user_rate_ppm = 1'000'000;
  auto monitor = lagwatch::Monitor::Start(settings.lagwatch);
  if (!monitor.is_on()) std::fprintf(stderr, "editor: lagwatch is off: %s\n", monitor.why_off().c_str());
  auto loop = monitor.WatchLoop("ui");
  Editor editor(settings.save_path, settings.freeze);
  RunLoop(&editor, loop);
  monitor.Stop(5000);
}
