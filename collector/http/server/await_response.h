// SPDX-License-Identifier: Apache-2.0
// Lets a coroutine wait for a handler's callback without holding a thread. Context: background.
#pragma once

// clang-format off
#include <utility>  // which awaitable.hpp needs and does not include
// clang-format on
#include <atomic>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "collector/http/server/request.h"

namespace lagwatch::collector {

// Counts the answers in preparation. They hold executors on threads outside of the server, so that its
// context must outlive them. Thread-safe.
class AnswersUnderWay {
 public:
  class Token {
   public:
    explicit Token(AnswersUnderWay* all) : all_(all) {
      std::lock_guard lock(all_->mutex_);
      ++all_->count_;
    }
    ~Token() {
      std::lock_guard lock(all_->mutex_);
      if (--all_->count_ == 0) all_->none_.notify_all();
    }
    Token(const Token&) = delete;
    Token& operator=(const Token&) = delete;

   private:
    AnswersUnderWay* all_;
  };

  void WaitForNone() {
    std::unique_lock lock(mutex_);
    none_.wait(lock, [&] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  int64_t count_ = 0;  // guarded by mutex_
};

// The coroutine goes on where it ran before; only the first answer counts.
template <typename Continue>
class PendingResponse {
 public:
  using Executor = boost::asio::associated_executor_t<Continue>;

  PendingResponse(AnswersUnderWay* answers, Continue go_on) : waiting_(answers, std::move(go_on)) {}

  void Take(Response response) {
    if (is_taken_.test_and_set()) return;
    Waiting waiting = std::move(*waiting_.held);
    waiting_.held.reset();
    boost::asio::post(waiting.work.get_executor(),
                      [go_on = std::move(waiting.go_on), response = std::move(response)]() mutable {
                        go_on(std::move(response));
                      });
    waiting.work.reset();
  }

 private:
  // Returned when the answer was taken; the token last.
  struct Waiting {
    std::unique_ptr<AnswersUnderWay::Token> token;
    boost::asio::executor_work_guard<Executor> work;
    Continue go_on;
  };
  struct Held {
    Held(AnswersUnderWay* answers, Continue go_on)
        : held(
              Waiting{std::make_unique<AnswersUnderWay::Token>(answers),
                      boost::asio::executor_work_guard<Executor>(boost::asio::get_associated_executor(go_on)),
                      std::move(go_on)}) {}
    std::optional<Waiting> held;
  };

  std::atomic_flag is_taken_;
  Held waiting_;
};

// Calls `start` with what takes the answer, and waits for it. `answers` must outlive that.
template <typename Start>
boost::asio::awaitable<Response> AwaitResponse(AnswersUnderWay* answers, Start start) {
  return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void(Response)>(
      [answers](auto go_on, Start begin) {
        auto pending = std::make_shared<PendingResponse<decltype(go_on)>>(answers, std::move(go_on));
        begin([pending](Response response) { pending->Take(std::move(response)); });
      },
      boost::asio::use_awaitable, std::move(start));
}

}  // namespace lagwatch::collector
