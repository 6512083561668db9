//===- ExpandMath.cpp - mathematics in plain arithmetic -------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// exp, tanh and log of f32 by range reduction and a polynomial, in operations
// whose bits IEEE 754 fixes (R21). The coefficients of exp and log are those of
// the Cephes library's expf and logf (S. Moshier), those of tanh minimise the
// largest relative error.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <limits>

namespace mlir::attn {
#define GEN_PASS_DEF_EXPANDMATH
#include "lowering/cpu/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Writes arithmetic on values of one type, a scalar or a vector of floating
/// point numbers, and on integers as wide.
class Arithmetic {
public:
  Arithmetic(ImplicitLocOpBuilder &b, Type type) : b(b), type(type) {
    integer =
        b.getIntegerType(getElementTypeOrSelf(type).getIntOrFloatBitWidth());
    if (auto vector = dyn_cast<VectorType>(type))
      integer = VectorType::get(vector.getShape(), integer);
  }

protected:
  Value number(double value) {
    return constant(type, b.getFloatAttr(getElementTypeOrSelf(type), value));
  }
  Value whole(int64_t value) {
    return constant(integer,
                    b.getIntegerAttr(getElementTypeOrSelf(integer), value));
  }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value negate(Value x) { return arith::NegFOp::create(b, x); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, x, y, z);
  }
  Value select(Value c, Value x, Value y) {
    return arith::SelectOp::create(b, c, x, y);
  }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, predicate, x, y);
  }
  Value bits(Value x) { return arith::BitcastOp::create(b, integer, x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(b, type, x); }

private:
  Value constant(Type of, TypedAttr value) {
    if (auto vector = dyn_cast<VectorType>(of))
      return arith::ConstantOp::create(b,
                                       DenseElementsAttr::get(vector, value));
    return arith::ConstantOp::create(b, value);
  }

protected:
  ImplicitLocOpBuilder &b;
  Type type, integer;
};

/// The functions of f32.
class Functions : Arithmetic {
public:
  using Arithmetic::Arithmetic;

  static bool accepts(Type element) { return element.isF32(); }

  Value f32(double value) { return number(value); }
  Value i32(int32_t value) { return whole(value); }
  Value absolute(Value x) {
    return fromBits(arith::AndIOp::create(b, bits(x), i32(0x7fffffff)));
  }

  /// c[0] x^n + ... + c[n], by Horner's scheme.
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value result = f32(coefficients.front());
    for (double coefficient : coefficients.drop_front())
      result = fma(result, x, f32(coefficient));
    return result;
  }

  /// x * 2^n for an integer n in i32, in two factors so that results below the
  /// normal range are rounded once.
  Value scale(Value x, Value n) {
    Value half = arith::ShRSIOp::create(b, n, i32(1));
    Value rest = arith::SubIOp::create(b, n, half);
    return mul(mul(x, powerOfTwo(half)), powerOfTwo(rest));
  }

  Value exp(Value x) {
    // Beyond these bounds the result is inf or 0; within them n stays small
    // enough for `scale`.
    Value high = f32(89), low = f32(-104);
    Value clamped =
        select(compare(arith::CmpFPredicate::OGT, x, high), high, x);
    clamped =
        select(compare(arith::CmpFPredicate::OLT, clamped, low), low, clamped);
    // n is x / ln 2 rounded: adding 1.5 * 2^23 leaves no bits after the point.
    Value magic = f32(12582912.0);
    Value shifted = fma(clamped, f32(1.4426950408889634), magic);
    Value n = sub(shifted, magic);
    // r = x - n ln 2, with ln 2 in two parts.
    Value r = fma(n, f32(-0.693359375), clamped);
    r = fma(n, f32(2.12194440e-4), r);
    Value p =
        polynomial(r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3,
                       4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1});
    Value e = add(fma(p, mul(r, r), r), f32(1));
    // The integer is in the low bits of the shifted number.
    Value exponent = arith::SubIOp::create(b, bits(shifted), bits(magic));
    return scale(e, exponent);
  }

  Value tanh(Value x) {
    // tanh |x| = (1 - e) / (1 + e) with e = exp(-2 |x|) = 2^n (1 + q). Small q
    // keep their precision where n is 0, and so does the result near 0.
    Value sign = i32(int32_t(0x80000000));
    Value exponent = fromBits(arith::OrIOp::create(b, bits(x), sign)); // -|x|
    exponent = add(exponent, exponent);
    // Beyond this bound the result is 1.
    Value bound = f32(-18.1);
    exponent = select(compare(arith::CmpFPredicate::OLT, exponent, bound),
                      bound, exponent);
    Value shifted = fma(exponent, f32(1.4426950408889634), f32(12582912.0));
    Value n = sub(shifted, f32(12582912.0));
    // n is at least -26: the number nearest to ln 2 is near enough.
    Value r = fma(n, f32(-0.6931471805599453), exponent);
    // q = exp(r) - 1, to 2^-26 of itself for |r| < 0.348; not by Horner's
    // scheme, whose steps wait for each other.
    Value square = mul(r, r);
    Value p = fma(square, f32(1.3882484915817908e-3),
                  fma(r, f32(8.366713378492189e-3), f32(4.166720606538753e-2)));
    p = fma(square, p,
            fma(r, f32(1.6666542189017533e-1), f32(4.999999812172937e-1)));
    Value q = fma(p, square, r);
    // -2^n, by its bits.
    Value scale = fromBits(arith::AddIOp::create(
        b, arith::ShLIOp::create(b, bits(shifted), i32(23)),
        i32(int32_t(0xbf800000))));
    Value numerator = fma(scale, q, add(f32(1), scale));
    Value denominator = fma(negate(scale), q, sub(f32(1), scale));
    Value result = div(numerator, denominator);
    return fromBits(arith::OrIOp::create(
        b, bits(result), arith::AndIOp::create(b, bits(x), sign)));
  }

  Value erf(Value x) {
    Value magnitude = absolute(x);
    // Near zero x times a polynomial in x^2, elsewhere 1 - exp of a polynomial,
    // which is the logarithm of 1 - erf. From 4 on the result rounds to 1.
    Value square = mul(x, x);
    Value small = mul(
        x, polynomial(square, {-9.67359116943455e-06, 1.126825402169864e-4,
                               -8.484396568555994e-4, 5.221053413802682e-3,
                               -2.6865438310979452e-2, 1.1283782622070483e-1,
                               -3.76126384759919e-1, 1.1283791670623609}));
    Value four = f32(4);
    Value bounded = select(compare(arith::CmpFPredicate::OGT, magnitude, four),
                           four, magnitude);
    Value logarithm = polynomial(
        bounded,
        {1.6140615995073571e-6, -4.559062237034805e-5, 5.927695371492814e-4,
         -4.740222338258415e-3, 2.636471735277883e-2, -1.0997824510874266e-1,
         -6.319370936890967e-1, -1.130166675495838, 3.032129666733496e-4});
    Value sign = arith::AndIOp::create(b, bits(x), i32(int32_t(0x80000000)));
    Value large = fromBits(
        arith::OrIOp::create(b, bits(sub(f32(1), exp(logarithm))), sign));
    return select(compare(arith::CmpFPredicate::OGT, magnitude, f32(1)), large,
                  small);
  }

  Value log(Value x) {
    // Numbers below the normal range are brought into it first.
    Value tiny = f32(1.17549435e-38);
    Value isTiny = compare(arith::CmpFPredicate::OLT, x, tiny);
    Value normal = select(isTiny, mul(x, f32(8388608.0)), x);
    Value bitsOf = bits(normal);
    Value exponent = arith::SubIOp::create(
        b, arith::ShRSIOp::create(b, bitsOf, i32(23)), i32(126));
    exponent =
        arith::SubIOp::create(b, exponent, select(isTiny, i32(23), i32(0)));
    Value mantissa = fromBits(arith::OrIOp::create(
        b, arith::AndIOp::create(b, bitsOf, i32(0x007fffff)), i32(0x3f000000)));
    // The mantissa in [sqrt(1/2), sqrt(2)).
    Value low =
        compare(arith::CmpFPredicate::OLT, mantissa, f32(0.70710678118654752));
    Value e = arith::SIToFPOp::create(
        b, type,
        arith::SubIOp::create(b, exponent, select(low, i32(1), i32(0))));
    Value m = sub(select(low, add(mantissa, mantissa), mantissa), f32(1));
    Value square = mul(m, m);
    Value p =
        polynomial(m, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1,
                       -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
                       2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
    Value y = mul(mul(p, m), square);
    y = fma(e, f32(-2.12194440e-4), y);
    y = fma(square, f32(-0.5), y);
    Value result = fma(e, f32(0.693359375), add(m, y));
    double inf = std::numeric_limits<double>::infinity();
    double nan = std::numeric_limits<double>::quiet_NaN();
    result = select(compare(arith::CmpFPredicate::OEQ, x, f32(inf)), x, result);
    result = select(compare(arith::CmpFPredicate::OEQ, x, f32(0)), f32(-inf),
                    result);
    return select(compare(arith::CmpFPredicate::ULT, x, f32(0)), f32(nan),
                  result);
  }

private:
  /// 2^n for n in the exponent's range.
  Value powerOfTwo(Value n) {
    Value biased = arith::AddIOp::create(b, n, i32(127));
    return fromBits(arith::ShLIOp::create(b, biased, i32(23)));
  }
};

/// Sine and cosine of f64, for arguments below a million: angles of position
/// encodings. Products and sums are rounded one by one, so that the numerics of
/// f32 do not matter.
class Trigonometry : Arithmetic {
public:
  using Arithmetic::Arithmetic;

  static bool accepts(Type element) { return element.isF64(); }

  Value sin(Value x) { return write(x, 0); }
  Value cos(Value x) { return write(x, 1); }

private:
  /// The sine of x and `quarters` quarter turns.
  Value write(Value x, int64_t quarters) {
    // n is x / (pi / 2) rounded: adding 1.5 * 2^52 leaves no bits after the
    // point.
    Value magic = number(6755399441055744.0);
    Value shifted = add(mul(x, number(0.63661977236758134308)), magic);
    Value n = sub(shifted, magic);
    // r = x - n pi / 2, with pi / 2 in three parts of which n times the first
    // two is exact.
    Value r = sub(x, mul(n, number(0x1.921fb544p+0)));
    r = sub(r, mul(n, number(0x1.0b4611a6p-34)));
    r = sub(r, mul(n, number(0x1.3198a2e037073p-69)));
    // Taylor's series up to pi / 4, exact to 1e-15.
    Value square = mul(r, r);
    double factorial = 1;
    SmallVector<double> inverses = {1};
    for (int i = 1; i <= 16; ++i)
      inverses.push_back(1 / (factorial *= i));
    Value sine = number(-inverses[15]);
    for (int i = 13; i >= 1; i -= 2)
      sine = add(mul(sine, square),
                 number(i % 4 == 1 ? inverses[i] : -inverses[i]));
    sine = mul(sine, r);
    Value cosine = number(inverses[16]);
    for (int i = 14; i >= 0; i -= 2)
      cosine = add(mul(cosine, square),
                   number(i % 4 == 0 ? inverses[i] : -inverses[i]));
    // Every quarter turn goes on to the next of sin, cos, -sin, -cos.
    Value quarter = arith::AddIOp::create(b, bits(shifted), whole(quarters));
    auto hasBit = [&](int64_t bit) -> Value {
      return arith::CmpIOp::create(
          b, arith::CmpIPredicate::ne,
          arith::AndIOp::create(b, quarter, whole(bit)), whole(0));
    };
    Value result = select(hasBit(1), cosine, sine);
    return select(hasBit(2), negate(result), result);
  }
};

/// Replaces one function of `math` by the arithmetic that `Writer` writes.
template <typename MathOp, typename Writer, Value (Writer::*write)(Value)>
struct Expand : OpRewritePattern<MathOp> {
  using OpRewritePattern<MathOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(MathOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!Writer::accepts(getElementTypeOrSelf(type)) || isa<TensorType>(type))
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Writer writer(b, type);
    rewriter.replaceOp(op, (writer.*write)(op.getOperand()));
    return success();
  }
};

/// Replaces a fused multiply-add by a product and a sum.
struct SplitFma : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FmaOp op,
                                PatternRewriter &rewriter) const override {
    Value product =
        arith::MulFOp::create(rewriter, op.getLoc(), op.getA(), op.getB());
    rewriter.replaceOpWithNewOp<arith::AddFOp>(op, product, op.getC());
    return success();
  }
};

struct ExpandMath : attn::impl::ExpandMathBase<ExpandMath> {
  using ExpandMathBase::ExpandMathBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<Expand<math::ExpOp, Functions, &Functions::exp>,
                 Expand<math::TanhOp, Functions, &Functions::tanh>,
                 Expand<math::ErfOp, Functions, &Functions::erf>,
                 Expand<math::LogOp, Functions, &Functions::log>,
                 Expand<math::SinOp, Trigonometry, &Trigonometry::sin>,
                 Expand<math::CosOp, Trigonometry, &Trigonometry::cos>>(
        &getContext());
    if (portable)
      patterns.add<SplitFma>(&getContext());
    GreedyRewriteConfig config;
    config.enableFolding(false);
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      return signalPassFailure();
    // What is left would become a call of a library, scalar and with bits of
    // its own.
    WalkResult result = getOperation().walk([&](Operation *op) {
      if (!isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
          isa<math::FmaOp, math::SqrtOp, math::AbsFOp, math::AbsIOp>(op) ||
          isa<TensorType>(op->getResult(0).getType()))
        return WalkResult::advance();
      op->emitError("expected a function that CPU code can compute, but got '")
          << op->getName() << "'";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
