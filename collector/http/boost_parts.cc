// SPDX-License-Identifier: Apache-2.0
// The parts of Boost that need not be compiled with everybody who uses them.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
