//===- Mathematics.cpp - functions in plain arithmetic --------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/halide/Mathematics.h"

#include "lowering/halide/FusedMultiplyAdd.h"

#include <limits>

using namespace mlir::attn::halide;

static Expr number(double value) { return Expr(static_cast<float>(value)); }
static Expr bits(Expr x) { return hl::reinterpret<int32_t>(std::move(x)); }
static Expr fromBits(Expr x) { return hl::reinterpret<float>(std::move(x)); }

Expr mlir::attn::halide::isNan(Expr x) {
  // Halide takes `x != x` for false.
  return (bits(std::move(x)) & 0x7fffffff) > 0x7f800000;
}

Expr mlir::attn::halide::maximum(Expr x, Expr y) {
  return hl::select(isNan(x) || x > y, x, y);
}

Expr mlir::attn::halide::minimum(Expr x, Expr y) {
  return hl::select(isNan(x) || x < y, x, y);
}

Expr Mathematics::fma(Expr x, Expr y, Expr z) const {
  if (multiply == Multiply::Separately)
    return x * y + z;
  // Halide has no such operation, but takes functions by name.
  return hl::Internal::Call::make(
      hl::Float(32),
      multiply == Multiply::OpenCl ? "fma" : fusedMultiplyAddName,
      {std::move(x), std::move(y), std::move(z)},
      hl::Internal::Call::PureExtern);
}

Expr Mathematics::polynomial(Expr x,
                             std::initializer_list<double> coefficients) const {
  Expr result;
  for (double coefficient : coefficients)
    result = result.defined() ? fma(result, x, number(coefficient))
                              : number(coefficient);
  return result;
}

/// 2^n for an integer n of the normal range.
static Expr powerOfTwo(Expr n) { return fromBits((std::move(n) + 127) << 23); }

/// x 2^n in two steps, so that what is subnormal is rounded once.
static Expr scale(Expr x, Expr n) {
  Expr half = n >> 1;
  return x * powerOfTwo(half) * powerOfTwo(n - half);
}

/// The integer nearest to x, in the low bits of x + 1.5 2^23.
static constexpr double roundingShift = 12582912.0;

Expr Mathematics::exp(Expr x) const {
  // Comparisons with NaN are false, so it passes.
  Expr bounded = hl::select(x > number(89), number(89), x);
  bounded = hl::select(bounded < number(-104), number(-104), bounded);
  Expr shifted =
      fma(bounded, number(1.44269504088896341), number(roundingShift));
  Expr whole = shifted - number(roundingShift);
  // ln 2 in two parts, the first of few bits.
  Expr rest = fma(whole, number(-0.693145751953125), bounded);
  rest = fma(whole, number(-1.42860682030941723e-6), rest);
  // Taylor's series up to 7: the next term is below 2^-27 within ln 2 / 2.
  Expr p = polynomial(
      rest, {1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5});
  Expr result = fma(p, rest * rest, rest) + number(1);
  return scale(result, bits(shifted) - bits(number(roundingShift)));
}

Expr Mathematics::tanh(Expr x) const {
  // |x| large: 1 - 2 / (exp(2 |x|) + 1); small: an odd series, which does not
  // lose what a difference from 1 would.
  Expr magnitude = hl::abs(x);
  Expr large = number(1) - number(2) / (exp(magnitude + magnitude) + number(1));
  Expr square = x * x;
  Expr p = polynomial(square, {21844.0 / 6081075, -1382.0 / 155925, 62.0 / 2835,
                               -17.0 / 315, 2.0 / 15, -1.0 / 3});
  Expr small = fma(p * square, x, x);
  Expr signedLarge = fromBits((bits(large) & 0x7fffffff) |
                              (bits(x) & Expr(int32_t(0x80000000))));
  return hl::select(magnitude < number(0.45), small, isNan(x), x, signedLarge);
}

Expr Mathematics::sigmoid(Expr x) const {
  Expr e = exp(-hl::abs(x));
  return hl::select(x < number(0), e, number(1)) / (number(1) + e);
}

Expr Mathematics::log(Expr x) const {
  // x = 2^n m with m in [sqrt(1/2), sqrt(2)); subnormal numbers are made
  // normal.
  Expr tiny = x < number(std::numeric_limits<float>::min());
  Expr normal = hl::select(tiny, x * number(8388608), x);
  Expr n = ((bits(normal) - bits(number(0.70710678118654752))) >> 23);
  Expr m = fromBits(bits(normal) - (n << 23));
  n = n - hl::select(tiny, 23, 0);
  // With s = f / (2 + f), log(1 + f) = f - s (f - r) = f - (h - s (h + r))
  // where h = f f / 2 and r is a series in s s: nothing of f is lost. The
  // coefficients are those of FreeBSD's logf.
  Expr f = m - number(1);
  Expr s = f / (m + number(1));
  Expr z = s * s;
  Expr r = z * polynomial(z, {0.24279078841, 0.28498786688, 0.40000972152,
                              0.66666662693});
  Expr h = number(0.5) * f * f;
  Expr whole = hl::cast<float>(n);
  Expr low = fma(s, h + r, whole * number(9.0580006145e-6));
  Expr result = whole * number(0.69313812256) - ((h - low) - f);
  Expr infinity = number(std::numeric_limits<float>::infinity());
  return hl::select(x == number(0), -infinity, x == infinity, infinity,
                    x < number(0) || isNan(x),
                    number(std::numeric_limits<float>::quiet_NaN()), result);
}

Expr Mathematics::erf(Expr x) const {
  // For |x| < 1 the Maclaurin series; beyond it 1 - erfc, with the Chebyshev
  // fit of Press et al. (Numerical Recipes, erfcc), whose error is
  // below 1.2e-7.
  Expr magnitude = hl::abs(x);
  Expr z = x * x;
  Expr series = polynomial(z, {1.0 / 6894720 /* 9! * 19 */, -1.0 / 685440,
                               1.0 / 75600, -1.0 / 9360, 1.0 / 1320, -1.0 / 216,
                               1.0 / 42, -1.0 / 10, 1.0 / 3});
  constexpr double scaleOfSeries = 1.12837916709551257; // 2 / sqrt(pi)
  Expr small = number(scaleOfSeries) * fma(-(series * z), x, x);
  Expr bounded = hl::select(magnitude > number(5), number(5), magnitude);
  Expr t = number(1) / fma(number(0.5), bounded, number(1));
  Expr exponent = polynomial(
      t, {0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807,
          -0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223});
  Expr complement = t * exp(exponent - bounded * bounded);
  Expr large = number(1) - complement;
  large = fromBits((bits(large) & 0x7fffffff) |
                   (bits(x) & Expr(int32_t(0x80000000))));
  return hl::select(magnitude < number(1), small, isNan(x), x, large);
}

/// Sine or cosine: x = n pi / 2 + r, and what `quarter` quarters later is.
static Expr turn(Expr x, int quarter) {
  Expr n = hl::cast<double>(
      hl::cast<int32_t>(hl::floor(x * Expr(0.63661977236758134) + Expr(0.5))));
  // pi / 2 in parts of which the first have few bits: n times them is exact.
  Expr r = x - n * Expr(1.5707963267341256);
  r = r - n * Expr(6.0771005063039659e-11);
  r = r - n * Expr(2.0222662487959506e-21);
  Expr z = r * r;
  Expr sine =
      r + r * z *
              (Expr(-1.0 / 6) +
               z * (Expr(1.0 / 120) +
                    z * (Expr(-1.0 / 5040) + z * (Expr(1.0 / 362880) +
                                                  z * Expr(-1.0 / 39916800)))));
  Expr cosine =
      Expr(1.0) +
      z * (Expr(-0.5) +
           z * (Expr(1.0 / 24) + z * (Expr(-1.0 / 720) +
                                      z * (Expr(1.0 / 40320) +
                                           z * (Expr(-1.0 / 3628800) +
                                                z * Expr(1.0 / 479001600))))));
  Expr which = (hl::cast<int32_t>(n) + quarter) & 3;
  Expr value = hl::select((which & 1) == 0, sine, cosine);
  return hl::select((which & 2) == 0, value, -value);
}

Expr Mathematics::sin(Expr x) { return turn(std::move(x), 0); }
Expr Mathematics::cos(Expr x) { return turn(std::move(x), 1); }
