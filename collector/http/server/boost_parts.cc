// SPDX-License-Identifier: Apache-2.0
// Compiles the parts of Boost that need not be compiled with each of their users.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
