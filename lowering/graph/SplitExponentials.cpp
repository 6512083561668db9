//===- SplitExponentials.cpp - f(query + memory) by a product -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// exp(q + k) = exp(q) exp(k), so a rational function of exp(q + k) needs no
// function of `math` for a pair. Where a factor is no normal number, the
// function is computed as it was written.
//
//===----------------------------------------------------------------------===//

#include "dialect/Axes.h"
#include "lowering/graph/Operations.h"
#include "lowering/graph/PairSides.h"
#include "lowering/graph/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

#include <limits>

namespace mlir::attn {
#define GEN_PASS_DEF_SPLITEXPONENTIALS
#include "lowering/graph/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

static constexpr remark::RemarkOpts remarkOpts =
    remark::RemarkOpts::name("exponentials")
        .category("attn-split-exponentials");

/// The largest magnitude of an exponent: exp of it, and of its negative, is a
/// normal number.
static constexpr double largestExponent = 86;
/// Divisors from here on leave f32's last bit of 1 + 2 / divisor as it is.
static constexpr double largestDivisor = 1 << 30;

namespace {

/// The terms of a sum by the side that they depend on; subtracted ones are
/// marked.
struct Terms {
  using Term = llvm::PointerIntPair<Value, 1, bool>;
  SmallVector<Term> query, memory;
};

/// Splits the functions of one region.
class Splitter {
public:
  Splitter(PairOpInterface op, Block &block)
      : op(op), block(block), sides(op, block) {}

  void run();

private:
  bool collectTerms(Value sum, bool negative, Terms &terms);
  /// Why a function is not split; empty if `terms` are those of its argument.
  std::string findTerms(Operation *function, Terms &terms);
  /// Whether what `terms` of one memory give is used more than once.
  bool servesSeveralQueries(Sides memory, ArrayRef<Terms::Term> terms);
  void split(DotOp dot);

  PairOpInterface op;
  Block &block;
  PairSides sides;
  /// The functions that are split, and what became of them.
  DenseMap<Operation *, Value> results;
};

/// Writes elementwise arithmetic on values of one type.
class Writer {
public:
  Writer(OpBuilder &builder, Location location, Type type)
      : b(location, builder), type(type) {}

  /// exp(factor * sum), NaN where that is no normal number.
  Value exponential(ArrayRef<Terms::Term> terms, double factor) {
    Value sum;
    for (Terms::Term term : terms) {
      Value value = term.getPointer();
      if (!sum)
        sum = term.getInt() ? arith::NegFOp::create(b, value) : value;
      else if (term.getInt())
        sum = arith::SubFOp::create(b, sum, value);
      else
        sum = arith::AddFOp::create(b, sum, value);
    }
    if (factor != 1)
      sum = arith::MulFOp::create(b, sum, number(factor));
    Value fits = arith::CmpFOp::create(b, arith::CmpFPredicate::OLE,
                                       math::AbsFOp::create(b, sum),
                                       number(largestExponent));
    return arith::SelectOp::create(
        b, fits, math::ExpOp::create(b, sum),
        number(std::numeric_limits<double>::quiet_NaN()));
  }

  /// numerator / (1 + x y)
  Value quotient(double numerator, Value x, Value y) {
    Value divisor = math::FmaOp::create(b, x, y, number(1));
    // A NaN stays one.
    Value large = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, divisor,
                                        number(largestDivisor));
    divisor =
        arith::SelectOp::create(b, large, number(largestDivisor), divisor);
    auto quotient = arith::DivFOp::create(b, number(numerator), divisor);
    quotient.setFastmath(arith::FastMathFlags::arcp);
    return quotient;
  }

  /// The function `op` of the sum of `terms`.
  Value function(Operation *op, const Terms &terms) {
    if (isa<math::ExpOp>(op))
      return arith::MulFOp::create(b, exponential(terms.query, 1),
                                   exponential(terms.memory, 1));
    if (isa<SigmoidOp>(op))
      return quotient(1, exponential(terms.query, -1),
                      exponential(terms.memory, -1));
    return arith::AddFOp::create(
        b,
        quotient(-2, exponential(terms.query, 2), exponential(terms.memory, 2)),
        number(1));
  }

private:
  Value number(double value) {
    Type element = getElementTypeOrSelf(type);
    TypedAttr attribute = b.getFloatAttr(element, value);
    if (auto shaped = dyn_cast<ShapedType>(type))
      attribute = DenseElementsAttr::get(shaped, attribute);
    return arith::ConstantOp::create(b, attribute);
  }

  ImplicitLocOpBuilder b;
  Type type;
};

} // namespace

/// Whether `op` is a function that `Writer` can split.
static bool isFunction(Operation *op) {
  return isa<math::TanhOp, math::ExpOp, SigmoidOp>(op) &&
         getElementTypeOrSelf(op->getResult(0).getType()).isF32();
}

/// Whether a value of a step over the positions so far was computed, but for
/// the last of them, in the steps before (see attn-cache-past).
static bool isKept(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<PastOp>(op))
    return op;
  return isLiftable(op) && llvm::all_of(op->getOperands(), [](Value operand) {
           return getNumAxes(operand.getType()) == 0 || isKept(operand);
         });
}

bool Splitter::collectTerms(Value sum, bool negative, Terms &terms) {
  Sides of = sides[sum];
  if (!of.isPair()) {
    (of.isMemory() ? terms.memory : terms.query).push_back({sum, negative});
    return sides.canLift(sum);
  }
  Operation *definition = sum.getDefiningOp();
  if (isa_and_present<arith::NegFOp>(definition))
    return collectTerms(definition->getOperand(0), !negative, terms);
  return isa_and_present<arith::AddFOp, arith::SubFOp>(definition) &&
         collectTerms(definition->getOperand(0), negative, terms) &&
         collectTerms(definition->getOperand(1),
                      negative != isa<arith::SubFOp>(definition), terms);
}

bool Splitter::servesSeveralQueries(Sides memory, ArrayRef<Terms::Term> terms) {
  if (memory.shared || op.hasQueryAxis())
    return true;
  llvm::SetVector<Value> seen;
  for (Terms::Term term : terms)
    seen.insert(term.getPointer());
  for (size_t i = 0; i < seen.size(); ++i)
    if (Operation *definition = seen[i].getDefiningOp())
      seen.insert_range(definition->getOperands());
    else if (unsigned number = cast<BlockArgument>(seen[i]).getArgNumber();
             number < op.getInputs().size() && sides[seen[i]].own &&
             !isKept(op.getInputs()[number]))
      return false;
  return true;
}

std::string Splitter::findTerms(Operation *function, Terms &terms) {
  if (!collectTerms(function->getOperand(0), false, terms))
    return "its argument is not a sum of what the query and what the memory "
           "determines";
  Sides memory;
  for (Terms::Term term : terms.memory)
    memory = memory | sides[term.getPointer()];
  if (!memory.isMemory() || terms.query.empty())
    return "its argument needs the sentence's memory and the row's own";
  if (!servesSeveralQueries(memory, terms.memory))
    return "the memory's exponential would serve one query only";
  return "";
}

void Splitter::split(DotOp dot) {
  // What is computed for a pair before it is summed.
  llvm::SetVector<Operation *> summed;
  SmallVector<Value> values(dot->getOperands());
  while (!values.empty()) {
    Value value = values.pop_back_val();
    Operation *definition = value.getDefiningOp();
    if (sides[value].isPair() && definition && isElementwise(definition) &&
        summed.insert(definition))
      llvm::append_range(values, definition->getOperands());
  }

  OpBuilder builder(dot);
  IRMapping mapping;
  for (Operation &inner : block) {
    if (!summed.contains(&inner))
      continue;
    Terms terms;
    if (Value known = results.lookup(&inner)) {
      mapping.map(inner.getResult(0), known);
    } else if (isFunction(&inner) && findTerms(&inner, terms).empty()) {
      Value result =
          Writer(builder, inner.getLoc(), inner.getResult(0).getType())
              .function(&inner, terms);
      mapping.map(inner.getResult(0), result);
      results[&inner] = result;
      remark::passed(inner.getLoc(), remarkOpts)
          << "'" + inner.getName().stripDialect().str() +
                 "' of query and memory becomes exponentials of each and a " +
                 (isa<math::ExpOp>(inner) ? "product" : "quotient");
    } else if (llvm::any_of(inner.getOperands(), [&](Value operand) {
                 return mapping.contains(operand);
               })) {
      builder.clone(inner, mapping);
    }
  }
  if (mapping.getValueMap().empty())
    return;
  Value sum = builder.clone(*dot, mapping)->getResult(0);
  builder.setInsertionPointAfter(dot);
  Value failed = arith::CmpFOp::create(builder, dot.getLoc(),
                                       arith::CmpFPredicate::UNO, sum, sum);
  Value result = arith::SelectOp::create(builder, dot.getLoc(), failed,
                                         dot.getResult(), sum);
  dot.getResult().replaceAllUsesExcept(result, result.getDefiningOp());
}

void Splitter::run() {
  llvm::SmallPtrSet<Operation *, 8> repairs = getRepairs(block);
  SmallVector<DotOp> dots;
  for (auto dot : block.getOps<DotOp>())
    if (!repairs.contains(dot) && sides[dot.getResult()].isPair() &&
        getFeatures(dot.getResult().getType()).empty())
      dots.push_back(dot);
  for (DotOp dot : dots)
    split(dot);
  for (Operation &inner : block)
    if (isFunction(&inner) && sides[inner.getResult(0)].isPair() &&
        !results.contains(&inner) && !repairs.contains(&inner)) {
      Terms terms;
      std::string reason = findTerms(&inner, terms);
      remark::missed(inner.getLoc(), remarkOpts)
          << "'" + inner.getName().stripDialect().str() + "' stays whole: " +
                 (reason.empty() ? "no dot product without heads sums it"
                                 : reason);
    }
}

namespace {
struct SplitExponentials
    : attn::impl::SplitExponentialsBase<SplitExponentials> {
  using SplitExponentialsBase::SplitExponentialsBase;

  void runOnOperation() override {
    SmallVector<PairOpInterface> pairs;
    getOperation()->walk([&](PairOpInterface op) { pairs.push_back(op); });
    for (PairOpInterface op : pairs)
      for (Region *region : op.getPairRegions())
        Splitter(op, region->front()).run();
  }
};
} // namespace
