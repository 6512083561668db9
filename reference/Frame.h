//===- Frame.h - the values of a block while it is evaluated --*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A frame has a tensor for every value of a block. A block can be run many
// times in one frame, for example once per pair of a query and a memory
// position; memory is then reused.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_FRAME_H
#define ATTN_REFERENCE_FRAME_H

#include "reference/Evaluator.h"
#include "reference/Kernels.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::attn::reference {

class Frame {
public:
  /// Values from outside of the block are looked up in `outer`.
  Frame(Block &block, Environment &environment, const Frame *outer = nullptr);

  /// The value of `value` is `tensor`, which has to outlive the frame's use.
  void bind(Value value, const Tensor &tensor) {
    slots.find(value)->second.bound = &tensor;
  }
  /// The tensor of a value, to be written.
  Tensor &own(Value value) {
    Slot &slot = slots.find(value)->second;
    slot.bound = nullptr;
    return slot.own;
  }
  /// The same, in the shape of the value's type with axes of the given sizes.
  Tensor &own(Value value, ArrayRef<int64_t> axes) {
    Tensor &tensor = own(value);
    tensor.reset(value.getType(), axes);
    return tensor;
  }
  const Tensor &get(Value value) const;

  /// Evaluates the operations of the block, the terminator excepted.
  LogicalResult run();

  /// Notes why the evaluation fails.
  LogicalResult fail(Operation *op, const Twine &message);

  Environment &environment;

private:
  struct Slot {
    Tensor own;
    const Tensor *bound = nullptr;
  };
  struct Instruction {
    Operation *op;
    KernelTable::Kernel kernel; ///< Null where there is none.
    bool isConstant;
  };

  const Frame *outer;
  llvm::DenseMap<Value, Slot> slots;
  std::vector<Instruction> instructions;
  bool hasConstants = false;
};

/// The sizes of the axes that a value has in a frame.
ArrayRef<int64_t> getAxes(const Frame &frame, Value value);

} // namespace mlir::attn::reference

#endif // ATTN_REFERENCE_FRAME_H
