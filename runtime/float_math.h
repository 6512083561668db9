//===- float_math.h - exponential and logarithm, the same everywhere ------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C library's functions give other last bits on other machines; scores must
// not (R21). These are made of additions, products, divisions and integer
// operations only, in a fixed order, with an error of a few units in the last
// place.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_FLOAT_MATH_H
#define ATTN_RUNTIME_FLOAT_MATH_H

#include <bit>
#include <cfenv>
#include <cstdint>

namespace attn {

/// e^x. Results below 2^-1022 are 0.
inline double portableExp(double x) {
#pragma STDC FP_CONTRACT OFF
  // x = k ln 2 + r with |r| <= ln 2 / 2; adding `shift` rounds to an integer
  // that then stands in the low bits.
  constexpr double shift = 0x1.8p52;
  double shifted = x * 0x1.71547652b82fep0 + shift;
  double k = shifted - shift;
  double r = (x - k * 0x1.62e42fefa0000p-1) - k * 0x1.cf79abc9e3b3ap-40;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  // The exponent is added in the bits; where it does not fit, the result is
  // chosen below, so that the function has no branches and can be vectorised.
  uint64_t exponent = std::bit_cast<uint64_t>(shifted) << 52;
  double result = std::bit_cast<double>(std::bit_cast<uint64_t>(p) + exponent);
  result = x < -708.0 ? 0.0 : result;
  result = x > 709.0 ? __builtin_huge_val() : result;
  return x == x ? result : x;
}

/// The natural logarithm of a positive, normal number.
inline double portableLog(double x) {
#pragma STDC FP_CONTRACT OFF
  // x = 2^k m with m in [sqrt(1/2), sqrt(2)), log m = 2 artanh((m-1)/(m+1)).
  uint64_t bits = std::bit_cast<uint64_t>(x);
  int64_t k = static_cast<int64_t>(bits >> 52) - 1023;
  double m =
      std::bit_cast<double>((bits & 0xfffffffffffff) | 0x3ff0000000000000);
  if (m > 0x1.6a09e667f3bcdp0) {
    m *= 0.5;
    ++k;
  }
  double f = m - 1.0;
  double s = f / (2.0 + f);
  double z = s * s;
  double p = 1.0 / 25.0;
  for (int i = 23; i >= 3; i -= 2)
    p = p * z + 1.0 / i;
  double exponent = static_cast<double>(k);
  return exponent * 0x1.62e42fefa0000p-1 +
         (2.0 * s + (2.0 * s * (z * p) + exponent * 0x1.cf79abc9e3b3ap-40));
}

/// x^y of a positive, normal x.
inline double portablePow(double x, double y) {
  if (y == 0.0)
    return 1.0;
  if (y == 1.0)
    return x;
  return portableExp(y * portableLog(x));
}

/// Sets the floating-point state that results are defined for (round to
/// nearest, no flushing of small numbers), and restores the caller's.
class FloatingPointScope {
public:
  FloatingPointScope() {
    fegetenv(&saved);
    fesetenv(FE_DFL_ENV);
  }
  ~FloatingPointScope() { fesetenv(&saved); }
  FloatingPointScope(const FloatingPointScope &) = delete;
  FloatingPointScope &operator=(const FloatingPointScope &) = delete;

private:
  fenv_t saved;
};

} // namespace attn

#endif // ATTN_RUNTIME_FLOAT_MATH_H
