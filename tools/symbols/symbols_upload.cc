// SPDX-License-Identifier: Apache-2.0
#include "tools/symbols/symbols_upload.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tools/symbols/symbols_client.h"

namespace lagwatch::tools {
namespace {

constexpr size_t kConnections = 4;
constexpr std::chrono::milliseconds kProgressInterval{200};

// One run over all files, shared by the threads that send.
class Upload {
 public:
  Upload(const Endpoint& endpoint, const std::vector<LocalSymbolFile>& files)
      : endpoint_(endpoint), files_(files) {}

  UploadTotals Run(const std::function<void(const UploadTotals&)>& on_progress) {
    std::vector<std::thread> threads;
    running_ = std::min(kConnections, files_.size());
    for (size_t i = 0; i < running_; ++i) threads.emplace_back([this] { SendFiles(); });
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, kProgressInterval, [this] { return running_ == 0; })) on_progress(totals_);
    on_progress(totals_);
    lock.unlock();
    for (std::thread& thread : threads) thread.join();
    return totals_;
  }

 private:
  void SendFiles() {
    SymbolsClient client(endpoint_);
    for (size_t next; !is_stopped_ && (next = next_++) < files_.size();) SendFile(&client, files_[next]);
    std::lock_guard lock(mutex_);
    --running_;
    ended_.notify_one();
  }

  void SendFile(SymbolsClient* client, const LocalSymbolFile& file) {
    auto add_bytes = [this](uint64_t bytes) {
      std::lock_guard lock(mutex_);
      totals_.bytes += bytes;
    };
    auto outcome = client->Upload(file, add_bytes, is_stopped_);
    std::lock_guard lock(mutex_);
    ++totals_.files;
    if (outcome.ok() && !outcome->was_there) {
      ++totals_.sent_files;
      totals_.sent_bytes += file.size_bytes;
      if (outcome->note != file.note) totals_.notes.push_back(file.path + ": " + outcome->note);
    }
    if (outcome.ok() || is_stopped_) return;
    totals_.problems.push_back(outcome.status().message());
    const StatusCode code = outcome.status().code();
    is_stopped_ = code == StatusCode::kUnavailable || code == StatusCode::kUnauthorized;
  }

  const Endpoint& endpoint_;
  const std::vector<LocalSymbolFile>& files_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> is_stopped_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  UploadTotals totals_;  // guarded by mutex_
  size_t running_ = 0;   // guarded by mutex_
};

}  // namespace

UploadTotals UploadSymbols(const Endpoint& endpoint, const std::vector<LocalSymbolFile>& files,
                           const std::function<void(const UploadTotals&)>& on_progress) {
  return Upload(endpoint, files).Run(on_progress);
}

}  // namespace lagwatch::tools
