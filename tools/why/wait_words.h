// SPDX-License-Identifier: Apache-2.0
// Words for what threads wait for, which go on after "waits for". Context: background; pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "policies/verdict.h"
#include "tools/read/endpoint.h"

namespace lagwatch::tools {

// "the main thread (4711)"; "thread 4714 (backup)".
std::string ThreadWords(int64_t tid, const std::string& name, int64_t pid);

// " in Rest, called by FreezeSleep": the innermost functions of a stack that people know, two at most, from
// the one of the name `first` on; where none near has a name, its place in its module. Empty for an empty
// stack.
std::string InWords(const Json& stack, const std::string& first);

// " in Cache::Find, called by Server::Answer": the functions that the cause of `report` is about.
std::string PlaceWords(const Json& report);

// "waited for a file or a device", as in verdict.def.
std::string_view DidWords(policies::VerdictWord word);

// ": redis-server (pid 99), 10.0.0.7:6379", of the peer that the facts name; empty where they name none.
std::string FactPeerWords(const Json& facts);

// "a mutex that thread 4714 (backup) holds in Database::Backup", of one of a report's waits. `pid` is the
// report's process.
std::string AwaitedWords(const Json& wait, int64_t pid);

// Follows the waits of `report` from the first one's object on: "a mutex that thread 4714 (backup)
// holds in Database::Backup, which waits for …". `last` is what the last owner does, "computes" for example;
// it may be empty. Empty for a report without waits.
std::string ChainWords(const Json& report, const std::string& last);

// "probably for thread 12 (worker), which signalled it last"; empty where a report names none.
std::string CandidateWords(const Json& facts);

// "the disk: fsync of /var/lib/x.db (ext4 at /var, device sda1, 3 requests under way)". `call` and `file` may
// be empty.
std::string DiskWords(const std::string& call, const std::string& file, const Json& facts);

}  // namespace lagwatch::tools
