// SPDX-License-Identifier: Apache-2.0
// Two threads take two locks in opposite order: a deadlock. After SECONDS the program gives up.
//
//   deadlock [SECONDS [THRESHOLD_MS [SPOOL_DIRECTORY]]]
//   lagwatch reports
//   lagwatch report ID
#include <lagwatch/lagwatch.h>
#include <pthread.h>
#include <unistd.h>

#include <barrier>
#include <cstdlib>
#include <mutex>
#include <thread>

class Ledger {
 public:
  // Takes the accounts, then the journal.
  [[gnu::noinline]] void Transfer() {
    std::lock_guard accounts(accounts_mutex_);
    both_hold_one_.arrive_and_wait();
    std::lock_guard journal(journal_mutex_);
    ++entries_;
  }
  // Takes the journal, then the accounts.
  [[gnu::noinline]] void Audit() {
    std::lock_guard journal(journal_mutex_);
    both_hold_one_.arrive_and_wait();
    std::lock_guard accounts(accounts_mutex_);
    ++entries_;
  }

 private:
  std::mutex accounts_mutex_;
  std::mutex journal_mutex_;
  std::barrier<> both_hold_one_{2};  // before either asks for its second
  int entries_ = 0;
};

void StartThread(const char* name, auto run) {
  std::thread thread(run);
  pthread_setname_np(thread.native_handle(), name);
  thread.detach();
}

int main(int argc, char** argv) {
  const std::chrono::seconds patience(argc > 1 ? std::atoi(argv[1]) : 5);
  lagwatch::Options options{.app = "deadlock", .app_version = "1.0"};
  if (argc > 2) options.threshold_ms = static_cast<uint32_t>(std::atoi(argv[2]));
  if (argc > 3) options.spool_directory = argv[3];
  auto monitor = lagwatch::Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");

  static Ledger ledger;
  StartThread("patience", [patience] {
    std::this_thread::sleep_for(patience);
    _exit(0);
  });
  StartThread("auditor", [] { ledger.Audit(); });
  lagwatch::ScopedDispatch dispatch(loop, "transfer");
  ledger.Transfer();
}
