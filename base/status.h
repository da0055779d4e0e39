// SPDX-License-Identifier: Apache-2.0
// Status and Result<T>: errors of background code, with messages for people. Signal and watchdog context use
// bools, counts and small enums instead: a Status may allocate. Context: background.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace lagwatch::base {

enum class StatusCode {
  kOk = 0,
  kInvalid,       // the caller's input is wrong; the same call fails again
  kNotFound,      // the named thing does not exist
  kUnauthorized,  // the key is missing or wrong
  kTooLarge,      // over a documented limit
  kUnavailable,   // passing: the same call may succeed later
  kIo,            // the operating system refused; the message holds its reason
  kInternal,      // a bug, or damaged data of our own
};

// Ok, or a code and a message that says what to do. Cheap to move; an Ok holds an empty string.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

// `what` with the text of errno value `error_number`: "cannot open /x: Permission denied".
Status IoError(const std::string& what, int error_number);

// A T, or why there is none. value() may be called only when ok().
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: implicit by design

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace lagwatch::base

namespace lagwatch {

// Without `base::` in all layers.
using base::IoError;
using base::Result;
using base::Status;
using base::StatusCode;

}  // namespace lagwatch

// The value of an expression that is a Result; without one, the enclosing function returns the Result's
// Status. Two in one statement must not be nested.
#define LAGWATCH_TRY(...)                                 \
  ({                                                      \
    auto tried_result = (__VA_ARGS__);                    \
    if (!tried_result.ok()) return tried_result.status(); \
    std::move(tried_result).value();                      \
  })
