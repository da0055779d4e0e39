// SPDX-License-Identifier: Apache-2.0
// lagwatch-collector: takes reports over HTTP, keeps them in one directory and answers what froze.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/env.h"
#include "collector/config/config_service.h"
#include "collector/http/http_server.h"

namespace lagwatch::collector {
namespace {

using base::Result;
using base::Status;

constexpr int kFailed = 1;
constexpr int kUsage = 2;

struct Flags {
  std::string listen = "127.0.0.1:8790";
  std::string data = "lagwatch-data";
  std::vector<std::string> keys;
  BodyLimits limits;
  int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::string wait_frames;
  std::string config;
  bool prints_public_key = false;
};

void Declare(Flags* flags, CLI::App* app) {
  app->set_version_flag("--version", "lagwatch-collector " LAGWATCH_VERSION);
  app->add_option("--listen", flags->listen, "IP:PORT to listen on; port 0 takes a free one")
      ->capture_default_str();
  app->add_option("--data", flags->data,
                  "Directory of the database and the key; created when it is not there")
      ->capture_default_str();
  app->add_option(
         "--key", flags->keys,
         "A key that clients may use; may be given several times. Without it, the key in DATA/key, which "
         "the first start creates")
      ->envname("LAGWATCH_KEY")
      ->allow_extra_args(false);
  app->add_option("--max-body-bytes", flags->limits.body_bytes, "Limit of a request's body as it is sent")
      ->capture_default_str();
  app->add_option("--max-inflated-bytes", flags->limits.inflated_bytes, "Limit of a request's body, inflated")
      ->capture_default_str();
  app->add_option("--threads", flags->threads, "Threads that answer requests")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app->add_option("--wait-frames", flags->wait_frames,
                  "File with the functions that only wait, instead of the list built in");
  app->add_option("--config", flags->config,
                  "File with the config for clients; need not be there (default: DATA/config.json)");
  app->add_flag("--print-public-key", flags->prints_public_key,
                "Print the key that clients know the config's signature by, and end");
}

// Keys that were given are not logged; of one that was not, its file is.
Result<ApiKeys> LoadKeys(const Flags& flags) {
  if (!flags.keys.empty()) return ApiKeys(flags.keys);
  std::string path = flags.data + "/key";
  auto key = LoadOrCreateKey(path);
  if (!key.ok()) return key.status();
  spdlog::info("clients need the key in {}", path);
  return ApiKeys(std::vector{std::move(*key)});
}

std::string SigningKeyPath(const Flags& flags) { return flags.data + "/signing-key"; }

Status CreateDataDirectory(const Flags& flags) {
  if (int error = base::SystemEnv().CreateDirectories(flags.data)) {
    return base::IoError("cannot create the data directory " + flags.data + " (give another with --data)",
                         error);
  }
  return {};
}

Status PrintPublicKey(const Flags& flags) {
  if (Status created = CreateDataDirectory(flags); !created.ok()) return created;
  auto key = LoadOrCreateSigningKey(SigningKeyPath(flags));
  if (!key.ok()) return key.status();
  auto public_key = key->ToPublicKey();
  if (!public_key.ok()) return public_key.status();
  std::printf("%s\n", report::ToHex(*public_key).c_str());
  return {};
}

// The signals that end the program, blocked in this thread and in all that it starts.
sigset_t BlockStopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

Status Serve(const Flags& flags, const ListenAddress& listen) {
  sigset_t stop_signals = BlockStopSignals();
  if (Status created = CreateDataDirectory(flags); !created.ok()) return created;
  auto clusterer = Clusterer::Create(flags.wait_frames);
  if (!clusterer.ok()) return clusterer.status();
  auto keys = LoadKeys(flags);
  if (!keys.ok()) return keys.status();
  auto signing_key = LoadOrCreateSigningKey(SigningKeyPath(flags));
  if (!signing_key.ok()) return signing_key.status();
  ConfigService config(flags.config.empty() ? flags.data + "/config.json" : flags.config,
                       flags.data + "/config-version", *signing_key);
  auto store = Store::Open(flags.data + "/collector.db");
  if (!store.ok()) return store.status();
  QueryApi query_api(store->get(), clusterer->wait_frames());
  Ingest ingest(store->get(), std::move(*clusterer));
  Router router(std::move(*keys), flags.limits, &ingest, &query_api, &config);
  auto server = HttpServer::Start({.listen = listen, .threads = flags.threads}, &router);
  if (!server.ok()) return server.status();

  ListenAddress bound{listen.ip, (*server)->port()};
  std::printf("lagwatch-collector listening on http://%s\n", bound.ToText().c_str());
  std::fflush(stdout);
  int signal_number = 0;
  sigwait(&stop_signals, &signal_number);
  spdlog::info("stopping on signal {}", signal_number);
  (*server)->Stop();
  return {};
}

int Main(int argc, char** argv) {
  umask(077);
  spdlog::set_default_logger(spdlog::stderr_logger_mt("collector"));
  Flags flags;
  CLI::App app("Collects lagwatch's reports and says what froze.", "lagwatch-collector");
  Declare(&flags, &app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  auto listen = ListenAddress::Parse(flags.listen);
  if (!listen.ok()) {
    std::fprintf(stderr, "lagwatch-collector: --listen: %s\n", listen.status().message().c_str());
    return kUsage;
  }
  Status served = flags.prints_public_key ? PrintPublicKey(flags) : Serve(flags, *listen);
  if (!served.ok()) std::fprintf(stderr, "lagwatch-collector: %s\n", served.message().c_str());
  return served.ok() ? 0 : kFailed;
}

}  // namespace
}  // namespace lagwatch::collector

int main(int argc, char** argv) { return lagwatch::collector::Main(argc, argv); }
