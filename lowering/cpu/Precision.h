//===- Precision.h - what products are computed in ------------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_PRECISION_H
#define ATTN_LOWERING_CPU_PRECISION_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace mlir::attn {

/// What the weights of products are kept as. Sums are f32 or exact at every
/// precision, and what is no product is f32.
enum class Precision {
  F32,
  /// Weights rounded to bfloat16.
  BF16,
  /// Weights of an output in [-127, 127] times a number of their own, and
  /// likewise a row when it is multiplied.
  Int8
};

/// The instructions that sum products of bytes. All give the same sums.
enum class ByteDot {
  Generic,    ///< Integer arithmetic that every processor has.
  Sse2,       ///< pmaddwd, 128 bits.
  Avx2,       ///< vpmaddwd, 256 bits.
  Avx512,     ///< vpmaddwd, 512 bits.
  AvxVnni,    ///< vpdpbusd, 256 bits.
  Avx512Vnni, ///< vpdpbusd, 512 bits.
  Dp4a        ///< dp4a, 32 bits of each lane of a device.
};

/// How products are computed.
struct ProductOptions {
  Precision precision = Precision::F32;
  ByteDot byteDot = ByteDot::Generic;
  /// Whether kernels are for a device, where all iterations that do not depend
  /// on each other run side by side, instead of a few threads.
  bool device = false;
  /// Whether another compiler makes the kernels: they are called, and what they
  /// compute stands in functions of tensors (see ExternalKernels.cpp).
  bool external = false;
};

/// The precision that users call `name`.
std::optional<Precision> parsePrecision(llvm::StringRef name);
llvm::StringRef stringifyPrecision(Precision precision);
/// The option of attn-convert-to-loops.
llvm::StringRef stringifyByteDot(ByteDot dot);
/// The size of a weight.
inline int64_t getWeightBytes(Precision precision) {
  return precision == Precision::F32 ? 4 : precision == Precision::BF16 ? 2 : 1;
}

} // namespace mlir::attn

#endif // ATTN_LOWERING_CPU_PRECISION_H
