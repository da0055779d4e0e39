// SPDX-License-Identifier: Apache-2.0
#include "collector/store/query_limit.h"

#include <algorithm>
#include <string>

namespace lagwatch::collector {
namespace {

thread_local const QueryLimit* of_this_thread = nullptr;

}  // namespace

std::chrono::milliseconds QueryLimit::Remaining() const {
  if (is_cancelled()) return {};
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now());
  return std::max(left, std::chrono::milliseconds(0));
}

base::Status QueryLimit::ToStatus() const {
  if (is_cancelled()) return {base::StatusCode::kUnavailable, "the client has disconnected"};
  const double seconds = std::chrono::duration<double>(time_).count();
  std::string text = std::to_string(seconds);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return {base::StatusCode::kUnavailable,
          "the query took longer than " + text + " s and was ended; narrow it: one program, fewer days"};
}

const QueryLimit* QueryLimit::OfThisThread() { return of_this_thread; }

QueryLimit::Scope::Scope(const QueryLimit* limit) : before_(of_this_thread) { of_this_thread = limit; }
QueryLimit::Scope::~Scope() { of_this_thread = before_; }

}  // namespace lagwatch::collector
