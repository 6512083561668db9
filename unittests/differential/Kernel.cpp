//===- Kernel.cpp - a random function and its inputs ----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "unittests/differential/Kernel.h"

using namespace mlir::attn::differential;

std::vector<Result> Kernel::getUnweighted() const {
  std::vector<Result> others;
  for (const Result &result : results)
    if (!result.isWeights)
      others.push_back(result);
  return others;
}

Kernel mlir::attn::differential::makeKernel(uint64_t seed) {
  Random random(seed);
  // Reads are most of what there is to go wrong.
  int64_t kind = random.between(0, 9);
  return kind < 6   ? makeRead(random)
         : kind < 9 ? makeFeatures(random)
                    : makeScan(random);
}
