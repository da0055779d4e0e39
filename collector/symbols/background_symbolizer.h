// SPDX-License-Identifier: Apache-2.0
// Names without waiting: answers with the names known already, and looks up the rest on a thread of its own.
// Context: background. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "collector/symbols/file_symbolizer.h"

namespace lagwatch::collector {

struct BackgroundSymbolizerLimits {
  // Of all look-ups that wait; then those that were asked for longest ago go.
  size_t waiting_modules = 10'000;
  size_t waiting_places = 200'000;
  std::chrono::milliseconds patience = std::chrono::seconds(60);  // a client that asks for longer has gone
};

class BackgroundSymbolizer final : public Symbolizer {
 public:
  // Borrows `files`.
  explicit BackgroundSymbolizer(FileSymbolizer* files, BackgroundSymbolizerLimits limits = {});
  // Waits for the look-up that is under way.
  ~BackgroundSymbolizer() override;

  // Never waits for files, processes or the network. kUnavailable while a look-up is under way.
  base::Result<SymbolizedFrames> Symbolize(std::string_view build_id,
                                           std::span<const CodePlace> places) override;
  void OnNewFile(std::function<void(std::string_view build_id)> callback) override {
    files_->OnNewFile(std::move(callback));
  }

  // Look-ups that were dropped because too many waited, or for too long.
  uint64_t dropped() const;
  bool is_idle() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Wanted {
    std::string build_id;  // raw bytes
    std::set<CodePlace> places;
    Clock::time_point asked;
  };
  using Queue = std::list<Wanted>;  // the last requested first

  void Run();
  void Want(std::string_view build_id, std::span<const CodePlace> places);
  Queue::iterator Drop(Queue::iterator wanted);

  FileSymbolizer* const files_;
  const BackgroundSymbolizerLimits limits_;
  mutable std::mutex mutex_;
  std::condition_variable has_work_;
  Queue queue_;                                                   // guarded by mutex_
  std::map<std::string, Queue::iterator, std::less<>> of_build_;  // likewise
  size_t places_ = 0;                                             // likewise: in the queue
  uint64_t dropped_ = 0;                                          // likewise
  bool is_busy_ = false;                                          // likewise
  bool is_stopping_ = false;                                      // likewise
  std::thread thread_;
};

}  // namespace lagwatch::collector
