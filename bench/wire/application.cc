// SPDX-License-Identifier: Apache-2.0
#include "bench/wire/application.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <future>
#include <latch>
#include <map>
#include <mutex>
#include <random>
#include <regex>
#include <shared_mutex>
#include <sstream>
#include <thread>

// Keeps callers on the stack: a call before it is no tail call.
#define STAYS_ON_STACK asm volatile("")

namespace mail {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

class Deadline {
 public:
  explicit Deadline(int64_t ms) : end_(Clock::now() + Milliseconds(ms)) {}
  bool is_over() const { return Clock::now() >= end_; }

 private:
  Clock::time_point end_;
};

struct Message {
  std::string sender;
  std::string subject;
  int64_t date = 0;
};

std::vector<Message> MakeMessages(size_t count) {
  std::mt19937 random(7);
  std::vector<Message> messages(count);
  for (Message& message : messages) {
    message.sender = "sender-" + std::to_string(random() % 500) + "@example.org";
    message.subject = "Re: about the matter of " + std::to_string(random() % 9000);
    message.date = static_cast<int64_t>(random());
  }
  return messages;
}

// --- work that takes CPU time

class MessageList {
 public:
  [[gnu::noinline]] void SortBySubject(const Deadline& deadline) {
    while (!deadline.is_over()) {
      std::vector<Message> sorted = messages_;
      std::sort(sorted.begin(), sorted.end(), [](const Message& a, const Message& b) {
        return std::tie(a.subject, a.date) < std::tie(b.subject, b.date);
      });
      first_ = sorted.front().date;
    }
  }
  [[gnu::noinline]] void GroupBySender(const Deadline& deadline) {
    while (!deadline.is_over()) {
      std::map<std::string, std::vector<const Message*>> groups;
      for (const Message& message : messages_) groups[message.sender].push_back(&message);
      first_ = static_cast<int64_t>(groups.size());
    }
  }
  [[gnu::noinline]] void SortByDate(const Deadline& deadline) {
    while (!deadline.is_over()) {
      std::vector<Message*> order;
      for (Message& message : messages_) order.push_back(&message);
      std::qsort(order.data(), order.size(), sizeof order[0], &CompareDates);
      first_ = order.front()->date;
    }
  }

 private:
  [[gnu::noinline]] static int CompareDates(const void* a, const void* b) {
    const Message* left = *static_cast<Message* const*>(a);
    const Message* right = *static_cast<Message* const*>(b);
    return left->date < right->date ? -1 : left->date > right->date;
  }

  std::vector<Message> messages_ = MakeMessages(4000);
  volatile int64_t first_ = 0;
};

class Searcher {
 public:
  [[gnu::noinline]] void FindAddresses(const Deadline& deadline) {
    std::regex address("([a-z0-9.-]+)@([a-z0-9.-]+)\\.(org|com|net)");
    while (!deadline.is_over()) {
      for (int line = 0; line < 8; ++line) {
        std::smatch match;
        found_ = found_ + std::regex_search(text_, match, address);
      }
    }
  }
  [[gnu::noinline]] void ParseHeaders(const Deadline& deadline) {
    while (!deadline.is_over()) {
      std::istringstream lines("From 12 34.5 abc\nDate 99 1e9 xyz\nSize 4096 0.25 q\n");
      std::string key, rest;
      long number = 0;
      double value = 0;
      while (lines >> key >> number >> value >> rest) found_ = found_ + static_cast<int>(number);
    }
  }

 private:
  std::string text_ =
      "the quick brown fox wrote a long line to nobody in particular, then to fox@den.example.org";
  volatile int found_ = 0;
};

// A tree of parts, each laid out by its container: a deep stack.
class View {
 public:
  virtual ~View() = default;
  virtual int Layout(int width) = 0;
};
class Label final : public View {
 public:
  int Layout(int width) override {
    volatile int height = 0;
    for (int i = 0; i < 200; ++i) height = height + width % (i + 1);
    return height;
  }
};
class Box final : public View {
 public:
  explicit Box(int depth) {
    for (int i = 0; i < 2; ++i) {
      if (depth == 0) {
        children_.push_back(std::make_unique<Label>());
      } else if (i == 0 || depth % 4 == 0) {
        children_.push_back(std::make_unique<Box>(depth - 1));
      }
    }
  }
  int Layout(int width) override {
    int height = 0;
    for (const auto& child : children_) height += child->Layout(width - 1);
    STAYS_ON_STACK;
    return height;
  }

 private:
  std::vector<std::unique_ptr<View>> children_;
};

class Folder {
 public:
  [[gnu::noinline]] static int CountUnread(int depth, const Deadline& deadline) {
    if (depth == 0) {
      volatile int unread = 0;
      while (!deadline.is_over()) {
        for (int i = 0; i < 1000; ++i) unread = unread + i % 3;
      }
      return unread;
    }
    int below = CountUnread(depth - 1, deadline);
    STAYS_ON_STACK;
    return below + 1;
  }
};

// --- waiting for others

class Cache {
 public:
  [[gnu::noinline]] void Refill(const std::function<void()>& load) {
    std::lock_guard lock(mutex_);
    load();
    STAYS_ON_STACK;
  }
  [[gnu::noinline]] int Find() {
    std::lock_guard lock(mutex_);
    return ++finds_;
  }

 private:
  std::mutex mutex_;
  int finds_ = 0;
};

class Database {
 public:
  [[gnu::noinline]] void Compact(int64_t ms, std::latch* is_busy) {
    std::unique_lock lock(mutex_);
    is_busy->count_down();
    std::this_thread::sleep_for(Milliseconds(ms));
    STAYS_ON_STACK;
  }
  [[gnu::noinline]] int Query() {
    std::shared_lock lock(mutex_);
    return rows_;
  }

 private:
  std::shared_mutex mutex_;
  int rows_ = 17;
};

std::jthread StartThread(const char* name, auto run) {
  std::jthread thread(run);
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

class Store {
 public:
  explicit Store(int64_t stall_ms) : stall_ms_(stall_ms) {}

  // Waits for the cache, which waits for the database, which is busy.
  [[gnu::noinline]] void OpenMessage() {
    std::latch is_compacting(1), is_refilling(1);
    auto compactor = StartThread("compactor", [&] { database_.Compact(stall_ms_, &is_compacting); });
    is_compacting.wait();
    auto refiller = StartThread("cache-refill", [&] {
      cache_.Refill([&] {
        is_refilling.count_down();
        database_.Query();
      });
    });
    is_refilling.wait();
    cache_.Find();
    STAYS_ON_STACK;
  }
  [[gnu::noinline]] void CountRows() {
    std::latch is_compacting(1);
    auto compactor = StartThread("compactor", [&] { database_.Compact(stall_ms_, &is_compacting); });
    is_compacting.wait();
    database_.Query();
    STAYS_ON_STACK;
  }
  [[gnu::noinline]] void WaitForExport() {
    std::thread exporter([this] { Export(); });
    pthread_setname_np(exporter.native_handle(), "exporter");
    exporter.join();
  }
  [[gnu::noinline]] void WaitForThumbnail() {
    auto thumbnail = std::async(std::launch::async, [this] { return RenderThumbnail(); });
    pixels_ = thumbnail.get();
  }

 private:
  [[gnu::noinline]] void Export() {
    std::this_thread::sleep_for(Milliseconds(stall_ms_));
    STAYS_ON_STACK;
  }
  [[gnu::noinline]] int RenderThumbnail() {
    Deadline deadline(stall_ms_);
    volatile int pixels = 0;
    while (!deadline.is_over()) pixels = pixels + 1;
    return pixels;
  }

  int64_t stall_ms_;
  Cache cache_;
  Database database_;
  volatile int pixels_ = 0;
};

// --- files, memory, network

class Disk {
 public:
  explicit Disk(std::string path) : path_(std::move(path)) {}
  ~Disk() { unlink(path_.c_str()); }

  [[gnu::noinline]] void SaveDraft(const Deadline& deadline) {
    int fd = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (!deadline.is_over()) Flush(fd);
    close(fd);
  }
  [[gnu::noinline]] void LoadAttachment(const Deadline& deadline) {
    constexpr size_t kBytes = 8 << 20;
    while (!deadline.is_over()) {
      void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) return;
      Decode(static_cast<char*>(memory), kBytes);
      munmap(memory, kBytes);
    }
  }
  [[gnu::noinline]] void WriteLog(const Deadline& deadline) {
    std::ofstream log(path_);
    while (!deadline.is_over()) log << "opened message " << 4711 << " in " << 0.25 << " s" << std::endl;
  }

 private:
  [[gnu::noinline]] static void Flush(int fd) {
    if (pwrite(fd, "draft", 5, 0) == 5) fsync(fd);
    STAYS_ON_STACK;
  }
  [[gnu::noinline]] static void Decode(char* memory, size_t size_bytes) {
    for (size_t at = 0; at < size_bytes; at += 4096) static_cast<volatile char*>(memory)[at] = 1;
  }

  std::string path_;
};

[[gnu::noinline]] void FetchMail(int64_t ms) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return;
  pollfd waiting{sockets[0], POLLIN, 0};
  poll(&waiting, 1, static_cast<int>(ms));
  close(sockets[0]);
  close(sockets[1]);
}

[[gnu::noinline]] void Throttle(int64_t ms) {
  std::this_thread::sleep_for(Milliseconds(ms));
  STAYS_ON_STACK;
}

// --- the threads that are there all the time

class Workers {
 public:
  Workers() {
    for (int i = 0; i < 4; ++i) {
      threads_.push_back(StartThread(("pool-" + std::to_string(i)).c_str(), [this] { RunTasks(); }));
    }
    threads_.push_back(StartThread("indexer", [this] { Every(Milliseconds(15), [] { IndexWords(); }); }));
    threads_.push_back(StartThread("imap-sync", [this] { Every(Milliseconds(40), [] { FetchMail(20); }); }));
    threads_.push_back(StartThread("journal", [this] { Every(Milliseconds(200), [] {}); }));
  }
  ~Workers() {
    {
      std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
  }

 private:
  [[gnu::noinline]] void RunTasks() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_over_; });
  }
  [[gnu::noinline]] void Every(Milliseconds pause, const std::function<void()>& work) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, pause, [this] { return is_over_; })) {
      lock.unlock();
      work();
      lock.lock();
    }
  }
  [[gnu::noinline]] static void IndexWords() {
    std::map<std::string, int> words;
    for (int i = 0; i < 300; ++i) ++words["word-" + std::to_string(i * 7 % 97)];
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::vector<std::jthread> threads_;  // last: they end before what they use
};

}  // namespace mail

namespace lagwatch::bench {

struct Application::Parts {
  Parts(const std::string& directory, int64_t duration_ms)
      : stall_ms(duration_ms), store(duration_ms), disk(directory + "/draft") {}

  int64_t stall_ms;
  mail::MessageList list;
  mail::Searcher searcher;
  mail::Store store;
  mail::Disk disk;
  mail::Box window{40};
  mail::Workers workers;
};

Application::Application(const std::string& directory, int64_t stall_ms)
    : parts_(std::make_unique<Parts>(directory, stall_ms)) {}
Application::~Application() = default;

std::vector<Stall> Application::Stalls() {
  Parts* parts = parts_.get();
  auto until = [parts](auto work) { return [parts, work] { work(mail::Deadline(parts->stall_ms)); }; };
  return {
      {"sort", until([parts](const auto& end) { parts->list.SortBySubject(end); })},
      {"open-message", [parts] { parts->store.OpenMessage(); }},
      {"search", until([parts](const auto& end) { parts->searcher.FindAddresses(end); })},
      {"save-draft", until([parts](const auto& end) { parts->disk.SaveDraft(end); })},
      {"resize", until([parts](const auto& end) {
         while (!end.is_over()) parts->window.Layout(1200);
       })},
      {"group", until([parts](const auto& end) { parts->list.GroupBySender(end); })},
      {"fetch", [parts] { mail::FetchMail(parts->stall_ms); }},
      {"open-attachment", until([parts](const auto& end) { parts->disk.LoadAttachment(end); })},
      {"count", [parts] { parts->store.CountRows(); }},
      {"sort-by-date", until([parts](const auto& end) { parts->list.SortByDate(end); })},
      {"unread", until([](const auto& end) { mail::Folder::CountUnread(50, end); })},
      {"export", [parts] { parts->store.WaitForExport(); }},
      {"parse", until([parts](const auto& end) { parts->searcher.ParseHeaders(end); })},
      {"throttle", [parts] { mail::Throttle(parts->stall_ms); }},
      {"log", until([parts](const auto& end) { parts->disk.WriteLog(end); })},
      {"thumbnail", [parts] { parts->store.WaitForThumbnail(); }},
  };
}

void Application::Turn(int64_t microseconds) {
  auto end = mail::Clock::now() + std::chrono::microseconds(microseconds);
  while (mail::Clock::now() < end) {
  }
}

}  // namespace lagwatch::bench
