// SPDX-License-Identifier: Apache-2.0
// Whatever an expression holds: it ends, reads memory no more often than it has bytes, and means the same
// when evaluated again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "stack/frames/raw_stack.h"
#include "stack/unwind/tables/expression.h"
#include "tests/fuzz/seeds.h"

namespace {

using namespace lagwatch::stack;

constexpr uint64_t kStack = 0x7ffc00000000;
constexpr size_t kStackBytes = 64;
constexpr size_t kRegisterCount = 4;  // of numbers that follow each other
constexpr uint64_t kFirstRegister = Registers::kStackPointer - 1;
constexpr size_t kHeadBytes = 1 + kRegisterCount + kStackBytes;

// Registers point to the stack, each as far from its begin as its byte says.
class FuzzedThread final : public ExpressionInput {
 public:
  explicit FuzzedThread(const uint8_t* bytes) : registers_(bytes), stack_(bytes + kRegisterCount) {}

  bool ReadRegister(uint64_t number, uint64_t* value) override {
    if (number < kFirstRegister || number - kFirstRegister >= kRegisterCount) return false;
    *value = kStack + registers_[number - kFirstRegister];
    return true;
  }
  bool ReadWord(uint64_t address, uint64_t* word) override {
    ++read_count_;
    if (address - kStack > kStackBytes - sizeof *word) return false;
    std::memcpy(word, stack_ + (address - kStack), sizeof *word);
    return true;
  }
  size_t read_count() const { return read_count_; }

 private:
  const uint8_t* registers_;
  const uint8_t* stack_;
  size_t read_count_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  static lagwatch::testing::FuzzSeeds seeds;
  std::string head(kHeadBytes, '\0');
  for (size_t i = 0; i < kRegisterCount; ++i) head[1 + i] = static_cast<char>(8 * i);
  // A linkage stub's rule; a saved register's place; constants of all sizes; what is not supported.
  for (const std::string& expression :
       {std::string("\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", 11),
        std::string("\x76\x78\x06\x23\x10", 5),
        std::string("\x08\x01\x0a\x01\x02\x0c\x01\x02\x03\x04\x1c\x1e\x12\x14\x16\x1f\x20\x25", 18),
        std::string("\x31\x2f\xfd\xff\x28\xfc\xff", 7), std::string("\x77\x00\x94\x04\x26", 5)}) {
    seeds.Add(head + expression);
  }
  seeds.AppendTo(argc, argv);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  if (size_bytes < kHeadBytes) return 0;
  const ByteView expression{reinterpret_cast<const char*>(data) + kHeadBytes, size_bytes - kHeadBytes, 0};
  const uint64_t initial = kStack + 16;
  uint64_t first = 0;
  uint64_t second = 0;
  FuzzedThread thread(data + 1);
  bool ok = EvaluateExpression(expression, (data[0] & 1) != 0 ? &initial : nullptr, &thread, &first);
  if (thread.read_count() > expression.size) abort();
  FuzzedThread again(data + 1);
  if (EvaluateExpression(expression, (data[0] & 1) != 0 ? &initial : nullptr, &again, &second) != ok) abort();
  if (first != second) abort();
  return 0;
}
