// SPDX-License-Identifier: Apache-2.0
#include "bench/ingest/server_process.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

#include "collector/http/endpoints.h"
#include "collector/http/server/http_server.h"
#include "collector/store/sqlite/sqlite_store.h"

namespace lagwatch::bench {
namespace {

using namespace collector;

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "bench: %s\n", why.c_str());
  std::exit(1);
}

// Until the pipe closes.
int Serve(const std::string& directory, bool is_tls, int from_parent, int to_parent) {
  spdlog::set_level(spdlog::level::err);
  auto store = SqliteStore::Open(directory + "/collector.db");
  if (!store.ok()) Fail(store.status().message());
  KeyRing keys({{kKey, Access::kProject}}, KeyFile(directory + "/keys.json"));
  const Ingest ingest(store->get(), std::move(*Clusterer::Create("")));
  uint64_t commit_count = 0;
  {
    GroupCommit commits(store->get());
    std::vector<Endpoint> endpoints =
        CollectorEndpoints({.ingest = &ingest, .commits = &commits, .keys = &keys}, {});
    Endpoint nothing = endpoints.front();
    for (const Endpoint& endpoint : endpoints) {
      if (endpoint.method == "POST") nothing = endpoint;
    }
    nothing.path = kNothingPath;
    nothing.handler = [](Request, const Respond& respond) { respond({204, ""}); };
    endpoints.push_back(nothing);
    const Router router(std::move(endpoints), &keys);
    HttpOptions options{.listen = {"127.0.0.1", 0},
                        .threads = static_cast<int>(std::thread::hardware_concurrency())};
    if (is_tls) options.tls = {directory + "/cert.pem", directory + "/key.pem"};
    auto server = HttpServer::Start(options, &router);
    if (!server.ok()) Fail(server.status().message());
    const uint16_t port = (*server)->port();
    if (write(to_parent, &port, sizeof port) != sizeof port) return 1;
    char byte;
    while (read(from_parent, &byte, 1) > 0) {
    }
    (*server)->Stop();
    commit_count = commits.commits();
  }
  return write(to_parent, &commit_count, sizeof commit_count) == sizeof commit_count ? 0 : 1;
}

}  // namespace

ServerProcess::ServerProcess(const std::string& directory, bool is_tls) {
  int down[2], up[2];
  if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0) Fail("cannot make a pipe");
  pid_ = fork();
  if (pid_ == 0) {
    close(down[1]);
    close(up[0]);
    std::exit(Serve(directory, is_tls, down[0], up[1]));
  }
  close(down[0]);
  close(up[1]);
  to_child_ = down[1];
  from_child_ = up[0];
  if (read(from_child_, &port_, sizeof port_) != sizeof port_) Fail("the server did not start");
}

ServerProcess::~ServerProcess() {
  if (pid_ != 0) StopAndCountCommits();
}

double ServerProcess::RssMib() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  }
  return 0;
}

uint64_t ServerProcess::StopAndCountCommits() {
  close(to_child_);
  uint64_t commits = 0;
  if (read(from_child_, &commits, sizeof commits) != sizeof commits) Fail("the server did not stop");
  close(from_child_);
  waitpid(pid_, nullptr, 0);
  pid_ = 0;
  return commits;
}

}  // namespace lagwatch::bench
