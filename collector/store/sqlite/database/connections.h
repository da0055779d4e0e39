// SPDX-License-Identifier: Apache-2.0
// One connection that writes and several that read at the same time, of one database file. A database in
// memory has one connection for all. Thread-safe. Context: background.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "collector/store/sqlite/database/database.h"

namespace lagwatch::collector {

class Connections {
 public:
  // Throws SqliteError.
  explicit Connections(std::string path) : path_(std::move(path)), writer_(path_) {}

  // Holds the connection while it lives. Waits until one is free.
  class ScopedWriter {
   public:
    explicit ScopedWriter(Connections* owner) : lock_(owner->writer_mutex_), database_(&owner->writer_) {}
    Database* operator->() const { return database_; }
    Database* get() const { return database_; }

   private:
    std::unique_lock<std::mutex> lock_;
    Database* database_;
  };

  // A query ended by the thread's QueryLimit throws SqliteError; so does this if it is over before there is
  // a free connection.
  class ScopedReader {
   public:
    explicit ScopedReader(Connections* owner);
    ~ScopedReader();
    ScopedReader(const ScopedReader&) = delete;
    ScopedReader& operator=(const ScopedReader&) = delete;
    Database* operator->() const { return database_; }
    Database* get() const { return database_; }

   private:
    void WaitForFreeReader(std::unique_lock<std::mutex>* lock);

    Connections* owner_;
    std::unique_lock<std::mutex> writer_lock_;  // of a database in memory
    std::unique_ptr<Database> own_;
    Database* database_;
  };

  // While it lives no query begins. Those under way have `most_time` to end.
  class ScopedQuiet {
   public:
    ScopedQuiet(Connections* owner, std::chrono::milliseconds most_time);
    ~ScopedQuiet();
    ScopedQuiet(const ScopedQuiet&) = delete;
    ScopedQuiet& operator=(const ScopedQuiet&) = delete;
    // Whether all have ended.
    bool is_quiet() const { return is_quiet_; }

   private:
    Connections* owner_;
    bool is_quiet_ = false;
  };

  // Closes all connections, calls `between`, and opens the file at the path again. To be called with the
  // writer and `quiet`, which is_quiet(). Throws SqliteError, and what `between` does; then the database is
  // empty and without tables until another call.
  void Reopen(const ScopedQuiet& quiet, const std::function<void()>& between);

 private:
  bool is_in_memory() const { return path_ == ":memory:"; }

  const std::string path_;
  std::mutex writer_mutex_;
  Database writer_;  // guarded by writer_mutex_
  std::mutex readers_mutex_;
  std::condition_variable reader_is_free_;
  std::vector<std::unique_ptr<Database>> free_readers_;  // guarded by readers_mutex_
  size_t readers_in_use_ = 0;                            // guarded by readers_mutex_
  int quiet_wishes_ = 0;                                 // guarded by readers_mutex_
};

}  // namespace lagwatch::collector
