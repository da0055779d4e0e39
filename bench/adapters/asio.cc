// SPDX-License-Identifier: Apache-2.0
// clang-format off
#include <boost/asio.hpp>
#include <lagwatch/adapters/asio.h>
// clang-format on

#include "rounds.h"

static boost::asio::io_context context;
static long left;

struct Turn {
  void operator()() const {
    if (--left <= 0) return;
    if (rounds_is_watched)
      boost::asio::post(context, lagwatch::Watched(Turn()));
    else
      boost::asio::post(context, Turn());
  }
};

static void Run(long dispatches) {
  left = dispatches;
  boost::asio::post(context, Turn());
  context.run();
  context.restart();
}

int main(int, char** arguments) {
  rounds_start(arguments);
  return rounds_measure(&Run);
}
