// SPDX-License-Identifier: Apache-2.0
// Hooks of the C library's streams and folders, which call the functions of io_hooks_linux.cc inside the
// library, where no hook sees it. Nothing is captured in them.
#include <dirent.h>

#include <cstdio>

#include "trace/hooks/io_hook.h"

namespace lagwatch::trace {
namespace {

using enum IoOperation;

constexpr IoShape kOpensStream{.operation = kOpen, .path = 0};
constexpr IoShape kOpensFolder{.operation = kOpen, .path = 0, .opens = true};
constexpr IoShape kReadsItems{
    .operation = kRead, .key = 3, .transfers = true, .size = 1, .buffer = IoBuffer::kItemsRead};
constexpr IoShape kReadsItemsChecked{
    .operation = kRead, .key = 4, .transfers = true, .size = 2, .buffer = IoBuffer::kItemsRead};
constexpr IoShape kWritesItems{
    .operation = kWrite, .key = 3, .transfers = true, .size = 1, .buffer = IoBuffer::kItemsWritten};
constexpr IoShape kReadsLine{.operation = kRead, .key = 2, .text = 0, .buffer = IoBuffer::kLine};
constexpr IoShape kReadsLineChecked{.operation = kRead, .key = 3, .text = 0, .buffer = IoBuffer::kLine};
constexpr IoShape kReadsAnyLine{
    .operation = kRead, .key = 2, .transfers = true, .buffer = IoBuffer::kAnyLine};
constexpr IoShape kReadsUpToMark{
    .operation = kRead, .key = 3, .transfers = true, .buffer = IoBuffer::kAnyLine};
constexpr IoShape kWritesText{.operation = kWrite, .key = 1, .text = 0, .buffer = IoBuffer::kTextWritten};
constexpr IoShape kLists{.operation = kList, .key = 0, .buffer = IoBuffer::kEntry};

}  // namespace

void AddStreamHooks(HookTable* table) {
  AddCounted<"fopen", kOpensStream, FILE*(const char*, const char*)>(table);
  AddCounted<"fopen64", kOpensStream, FILE*(const char*, const char*)>(table);
  AddCounted<"fread", kReadsItems, size_t(void*, size_t, size_t, FILE*)>(table);
  AddCounted<"fread_unlocked", kReadsItems, size_t(void*, size_t, size_t, FILE*)>(table);
  AddCounted<"__fread_chk", kReadsItemsChecked, size_t(void*, size_t, size_t, size_t, FILE*)>(table);
  AddCounted<"__fread_unlocked_chk", kReadsItemsChecked, size_t(void*, size_t, size_t, size_t, FILE*)>(table);
  AddCounted<"fgets", kReadsLine, char*(char*, int, FILE*)>(table);
  AddCounted<"fgets_unlocked", kReadsLine, char*(char*, int, FILE*)>(table);
  AddCounted<"__fgets_chk", kReadsLineChecked, char*(char*, size_t, int, FILE*)>(table);
  AddCounted<"getline", kReadsAnyLine, ssize_t(char**, size_t*, FILE*)>(table);
  AddCounted<"getdelim", kReadsUpToMark, ssize_t(char**, size_t*, int, FILE*)>(table);
  AddCounted<"__getdelim", kReadsUpToMark, ssize_t(char**, size_t*, int, FILE*)>(table);
  AddCounted<"fwrite", kWritesItems, size_t(const void*, size_t, size_t, FILE*)>(table);
  AddCounted<"fwrite_unlocked", kWritesItems, size_t(const void*, size_t, size_t, FILE*)>(table);
  AddCounted<"fputs", kWritesText, int(const char*, FILE*)>(table);
  AddCounted<"fflush", IoShape{.operation = kWrite, .key = 0}, int(FILE*)>(table);
  AddCounted<"fclose", IoShape{.operation = kClose}, int(FILE*)>(table);
  AddCounted<"opendir", kOpensFolder, DIR*(const char*)>(table);
  AddCounted<"readdir", kLists, dirent*(DIR*)>(table);
  AddCounted<"readdir64", kLists, dirent64*(DIR*)>(table);
  AddCounted<"closedir", IoShape{.operation = kClose, .closes = true}, int(DIR*)>(table);
}

}  // namespace lagwatch::trace
