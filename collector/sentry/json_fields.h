// SPDX-License-Identifier: Apache-2.0
// Reads fields of an untrusted object: a missing one, or one of another type, is absent.
// Context: background; pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace lagwatch::collector {

// The member `name`; null when there is none. Borrows from `object`.
const nlohmann::json& Child(const nlohmann::json& object, const char* name);
// Empty when it is no string; at most kMaxFieldBytes of it, whole characters.
inline constexpr size_t kMaxFieldBytes = 1000;
std::string TextOf(const nlohmann::json& object, const char* name);
// Also of a number written as a string.
std::optional<uint64_t> NumberOf(const nlohmann::json& object, const char* name);
// A number, or a string of hexadecimal digits after "0x".
std::optional<uint64_t> AddressOf(const nlohmann::json& object, const char* name);
bool IsTrue(const nlohmann::json& object, const char* name);
// Sentry's lists: {"values": […]} or the array itself; an empty array when it is neither.
const nlohmann::json& ValuesOf(const nlohmann::json& object, const char* name);

}  // namespace lagwatch::collector
