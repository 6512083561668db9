//===- Mathematics.h - functions in plain arithmetic ----------*- C++ -*-===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions that models are made of, as Halide expressions of additions,
// products, divisions and integers. Nothing calls a mathematical library: a
// lane of a vector gets the bits that a number alone gets (R13), and a vector
// costs no call per lane. Written independently of lowering/cpu/ExpandMath.cpp,
// against which they are tested.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_HALIDE_MATHEMATICS_H
#define ATTN_LOWERING_HALIDE_MATHEMATICS_H

#include "lowering/halide/Halide.h"

namespace mlir::attn::halide {

/// How floating-point numbers are multiplied and added.
enum class Multiply {
  Fused,     ///< One rounding, with an instruction of the processor.
  OpenCl,    ///< The same, as OpenCL C calls it.
  Separately ///< Two roundings: on processors without such an instruction.
};

/// Functions of f32. NaN gives NaN.
class Mathematics {
public:
  explicit Mathematics(Multiply multiply) : multiply(multiply) {}

  /// x y + z
  Expr fma(Expr x, Expr y, Expr z) const;
  /// Within 2 units in the last place, down to subnormal results.
  Expr exp(Expr x) const;
  Expr log(Expr x) const;
  Expr tanh(Expr x) const;
  Expr sigmoid(Expr x) const;
  Expr erf(Expr x) const;

  /// Sine and cosine of an f64, for angles up to 2^30: within 1e-7.
  static Expr sin(Expr x);
  static Expr cos(Expr x);

private:
  Expr polynomial(Expr x, std::initializer_list<double> coefficients) const;

  Multiply multiply;
};

Expr isNan(Expr x);
/// The larger and the smaller of two; NaN if one is (arith.maximumf).
Expr maximum(Expr x, Expr y);
Expr minimum(Expr x, Expr y);

} // namespace mlir::attn::halide

#endif // ATTN_LOWERING_HALIDE_MATHEMATICS_H
