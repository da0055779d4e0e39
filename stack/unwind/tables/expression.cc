// SPDX-License-Identifier: Apache-2.0
#include "stack/unwind/tables/expression.h"

#include <cstring>

namespace lagwatch::stack {
namespace {

// DWARF 5, section 7.7.1.
enum Operation : uint8_t {
  kAddr = 0x03,
  kDeref = 0x06,
  kConst1u = 0x08,
  kConst1s = 0x09,
  kConst2u = 0x0a,
  kConst2s = 0x0b,
  kConst4u = 0x0c,
  kConst4s = 0x0d,
  kConst8u = 0x0e,
  kConst8s = 0x0f,
  kConstu = 0x10,
  kConsts = 0x11,
  kDup = 0x12,
  kDrop = 0x13,
  kOver = 0x14,
  kSwap = 0x16,
  kAnd = 0x1a,
  kMinus = 0x1c,
  kMul = 0x1e,
  kNeg = 0x1f,
  kNot = 0x20,
  kOr = 0x21,
  kPlus = 0x22,
  kPlusUconst = 0x23,
  kShl = 0x24,
  kShr = 0x25,
  kShra = 0x26,
  kXor = 0x27,
  kEq = 0x29,
  kGe = 0x2a,
  kGt = 0x2b,
  kLe = 0x2c,
  kLt = 0x2d,
  kNe = 0x2e,
  kLit0 = 0x30,
  kLit31 = 0x4f,
  kBreg0 = 0x70,
  kBreg31 = 0x8f,
  kDerefSize = 0x94,
  kNopOperation = 0x96,
};

class Machine {
 public:
  Machine(const ByteView& expression, ExpressionInput* input) : cursor_(expression), input_(input) {}

  void Push(uint64_t value) {
    if (depth_ == kMaxDepth) {
      ok_ = false;
    } else {
      stack_[depth_++] = value;
    }
  }
  bool Run(uint64_t* result) {
    while (ok_ && !cursor_.at_end()) {
      uint8_t operation = cursor_.U8();
      if (!PushConstant(operation)) RunOperator(operation);
      ok_ = ok_ && cursor_.ok();
    }
    if (!ok_ || depth_ == 0) return false;
    *result = stack_[depth_ - 1];
    return true;
  }

 private:
  static constexpr int kMaxDepth = 32;

  uint64_t Pop() {
    if (depth_ == 0) {
      ok_ = false;
      return 0;
    }
    return stack_[--depth_];
  }

  template <typename T>
  bool PushRead() {
    Push(static_cast<uint64_t>(static_cast<int64_t>(cursor_.Read<T>())));
    return true;
  }

  bool PushConstant(uint8_t operation) {
    if (operation >= kLit0 && operation <= kLit31) {
      Push(operation - kLit0);
      return true;
    }
    if (operation >= kBreg0 && operation <= kBreg31) {
      int64_t offset = cursor_.Sleb();
      uint64_t value = 0;
      ok_ = ok_ && input_->ReadRegister(operation - kBreg0, &value);
      Push(value + static_cast<uint64_t>(offset));
      return true;
    }
    switch (operation) {
      case kAddr:
      case kConst8u:
      case kConst8s:
        return PushRead<int64_t>();
      case kConst1u:
        return PushRead<uint8_t>();
      case kConst1s:
        return PushRead<int8_t>();
      case kConst2u:
        return PushRead<uint16_t>();
      case kConst2s:
        return PushRead<int16_t>();
      case kConst4u:
        return PushRead<uint32_t>();
      case kConst4s:
        return PushRead<int32_t>();
      case kConstu:
        Push(cursor_.Uleb());
        return true;
      case kConsts:
        Push(static_cast<uint64_t>(cursor_.Sleb()));
        return true;
      default:
        return false;
    }
  }

  void RunOperator(uint8_t operation) {
    switch (operation) {
      case kNopOperation:
        return;
      case kDrop:
        Pop();
        return;
      case kDup: {
        uint64_t top = Pop();
        Push(top);
        return Push(top);
      }
      case kOver: {
        uint64_t top = Pop();
        uint64_t second = Pop();
        Push(second);
        Push(top);
        return Push(second);
      }
      case kSwap: {
        uint64_t top = Pop();
        uint64_t second = Pop();
        Push(top);
        return Push(second);
      }
      case kDeref:
        return PushWordAt(Pop(), sizeof(uint64_t));
      case kDerefSize:
        return PushWordAt(Pop(), cursor_.U8());
      case kPlusUconst:
        return Push(Pop() + cursor_.Uleb());
      case kNeg:
        return Push(-Pop());
      case kNot:
        return Push(~Pop());
      default: {
        uint64_t right = Pop();
        RunBinary(operation, Pop(), right);
      }
    }
  }

  void RunBinary(uint8_t operation, uint64_t left, uint64_t right) {
    auto is_less = static_cast<int64_t>(left) < static_cast<int64_t>(right);
    switch (operation) {
      case kAnd:
        return Push(left & right);
      case kOr:
        return Push(left | right);
      case kXor:
        return Push(left ^ right);
      case kPlus:
        return Push(left + right);
      case kMinus:
        return Push(left - right);
      case kMul:
        return Push(left * right);
      case kShl:
        return Push(right < 64 ? left << right : 0);
      case kShr:
        return Push(right < 64 ? left >> right : 0);
      case kShra:
        return Push(static_cast<uint64_t>(static_cast<int64_t>(left) >> (right < 64 ? right : 63)));
      case kEq:
        return Push(left == right);
      case kNe:
        return Push(left != right);
      case kLt:
        return Push(is_less);
      case kGe:
        return Push(!is_less);
      case kLe:
        return Push(is_less || left == right);
      case kGt:
        return Push(!is_less && left != right);
      default:
        ok_ = false;
    }
  }

  void PushWordAt(uint64_t address, unsigned size_bytes) {
    uint64_t word = 0;
    ok_ = ok_ && size_bytes > 0 && size_bytes <= sizeof word && input_->ReadWord(address, &word);
    Push(size_bytes < sizeof word ? word & ((uint64_t{1} << (8 * size_bytes)) - 1) : word);
  }

  ByteCursor cursor_;
  ExpressionInput* input_;
  uint64_t stack_[kMaxDepth];
  int depth_ = 0;
  bool ok_ = true;
};

}  // namespace

bool EvaluateExpression(const ByteView& expression, const uint64_t* initial, ExpressionInput* input,
                        uint64_t* result) {
  Machine machine(expression, input);
  if (initial != nullptr) machine.Push(*initial);
  return machine.Run(result);
}

}  // namespace lagwatch::stack
