//===- Kernels.h - how single operations are evaluated --------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_KERNELS_H
#define ATTN_REFERENCE_KERNELS_H

#include "reference/Tensor.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::attn::reference {

class Frame;

/// Which function evaluates which operation.
class KernelTable {
public:
  /// Reads the operands in the frame and writes the results.
  using Kernel = LogicalResult (*)(Operation *, Frame &);

  static const KernelTable &get();

  /// Null for an operation that cannot be evaluated.
  Kernel lookup(Operation *op) const {
    return kernels.lookup(op->getName().getTypeID());
  }

  template <typename OpType> void add(Kernel kernel) {
    kernels[TypeID::get<OpType>()] = kernel;
  }
  template <typename OpType, LogicalResult (*kernel)(OpType, Frame &)>
  void add() {
    add<OpType>([](Operation *op, Frame &frame) {
      return kernel(cast<OpType>(op), frame);
    });
  }

private:
  KernelTable();

  llvm::DenseMap<TypeID, Kernel> kernels;
};

void addArithmeticKernels(KernelTable &table);
void addFeatureKernels(KernelTable &table);
void addCellKernels(KernelTable &table);
void addSequenceKernels(KernelTable &table);
void addPairKernels(KernelTable &table);
void addReadKernel(KernelTable &table);

/// The sum of products. Four partial sums keep the adder busy.
inline double sumOfProducts(const double *lhs, const double *rhs,
                            int64_t count) {
  double sums[4] = {0, 0, 0, 0};
  int64_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (int64_t lane = 0; lane < 4; ++lane)
      sums[lane] += lhs[i + lane] * rhs[i + lane];
  for (; i < count; ++i)
    sums[0] += lhs[i] * rhs[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

double sigmoid(double x);

} // namespace mlir::attn::reference

#endif // ATTN_REFERENCE_KERNELS_H
