// SPDX-License-Identifier: Apache-2.0
// A chain of three: the loop's thread waits for a lock that a second thread holds, which waits for a lock
// that a third one holds, which is busy for SECONDS. The one to blame is not the one that the loop waits for.
//
//   convoy [SECONDS [THRESHOLD_MS [SPOOL_DIRECTORY]]]
//   lagwatch reports
//   lagwatch report ID
#include <lagwatch/lagwatch.h>
#include <pthread.h>

#include <cstdlib>
#include <latch>
#include <mutex>
#include <shared_mutex>
#include <thread>

using Seconds = std::chrono::seconds;

class Database {
 public:
  // Keeps all readers out while it writes.
  [[gnu::noinline]] void Backup(Seconds duration) {
    std::unique_lock lock(mutex_);
    is_backing_up.count_down();
    auto end = std::chrono::steady_clock::now() + duration;
    while (std::chrono::steady_clock::now() < end) {
      // The time goes here, and not into asking for it.
      for (int block = 0; block < 1'000'000; ++block) blocks_written_ = blocks_written_ + 1;
    }
  }
  [[gnu::noinline]] long Query() {
    std::shared_lock lock(mutex_);
    return blocks_written_;
  }

  std::latch is_backing_up{1};

 private:
  std::shared_mutex mutex_;
  volatile long blocks_written_ = 0;
};

class Cache {
 public:
  explicit Cache(Database* database) : database_(database) {}

  // Holds the cache's lock while it asks the database.
  [[gnu::noinline]] void Refill() {
    std::lock_guard lock(mutex_);
    is_refilling.count_down();
    value_ = database_->Query();
  }
  [[gnu::noinline]] long Find() {
    std::lock_guard lock(mutex_);
    return value_;
  }

  std::latch is_refilling{1};

 private:
  Database* database_;
  std::mutex mutex_;
  long value_ = 0;
};

std::jthread StartThread(const char* name, auto run) {
  std::jthread thread(run);
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

int main(int argc, char** argv) {
  const Seconds duration(argc > 1 ? std::atoi(argv[1]) : 5);
  lagwatch::Options options{.app = "convoy", .app_version = "1.0"};
  if (argc > 2) options.threshold_ms = static_cast<uint32_t>(std::atoi(argv[2]));
  if (argc > 3) options.spool_directory = argv[3];
  auto monitor = lagwatch::Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");

  Database database;
  Cache cache(&database);
  auto backup = StartThread("backup", [&] { database.Backup(duration); });
  database.is_backing_up.wait();
  auto refill = StartThread("refill", [&] { cache.Refill(); });
  cache.is_refilling.wait();
  lagwatch::ScopedDispatch dispatch(loop, "find");
  cache.Find();
}
