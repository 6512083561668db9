//===- Elements.cpp - elementwise operations, and those that redirect -----===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations whose element is made of elements of their operands. They are
// written out where they are used.
//
//===----------------------------------------------------------------------===//

#include "dialect/Axes.h"
#include "lowering/halide/Translator.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::halide;

static Expr compare(arith::CmpFPredicate predicate, Expr x, Expr y) {
  using P = arith::CmpFPredicate;
  Expr unordered = isNan(x) || isNan(y);
  switch (predicate) {
  case P::AlwaysFalse:
    return hl::Internal::const_false();
  case P::AlwaysTrue:
    return hl::Internal::const_true();
  case P::OEQ:
    return x == y;
  case P::OGT:
    return x > y;
  case P::OGE:
    return x >= y;
  case P::OLT:
    return x < y;
  case P::OLE:
    return x <= y;
  case P::ONE:
    return !unordered && x != y;
  case P::ORD:
    return !unordered;
  case P::UEQ:
    return unordered || x == y;
  case P::UGT:
    return unordered || x > y;
  case P::UGE:
    return unordered || x >= y;
  case P::ULT:
    return unordered || x < y;
  case P::ULE:
    return unordered || x <= y;
  case P::UNE:
    return x != y;
  case P::UNO:
    return unordered;
  }
  llvm_unreachable("all predicates are handled");
}

static Expr compare(arith::CmpIPredicate predicate, Expr x, Expr y) {
  using P = arith::CmpIPredicate;
  auto u = [](Expr e) {
    return e.type().is_bool() ? e
                              : hl::cast(e.type().with_code(hl::Type::UInt), e);
  };
  switch (predicate) {
  case P::eq:
    return x == y;
  case P::ne:
    return x != y;
  case P::slt:
    return x < y;
  case P::sle:
    return x <= y;
  case P::sgt:
    return x > y;
  case P::sge:
    return x >= y;
  case P::ult:
    return u(x) < u(y);
  case P::ule:
    return u(x) <= u(y);
  case P::ugt:
    return u(x) > u(y);
  case P::uge:
    return u(x) >= u(y);
  }
  llvm_unreachable("all predicates are handled");
}

/// The type of an element in expressions.
static hl::Type getElementType(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (element.isInteger(1))
    return hl::Bool();
  if (auto integer = dyn_cast<IntegerType>(element))
    return hl::Int(integer.getWidth());
  return hl::Float(element.getIntOrFloatBitWidth());
}

/// Integer division, zero where the divisor is (as on every target).
static Expr divide(Operation *op, Expr x, Expr y) {
  Expr zero = hl::cast(x.type(), 0);
  Expr safe = hl::select(y == zero, hl::cast(x.type(), 1), y);
  hl::Type unsignedType = x.type().with_code(hl::Type::UInt);
  // Halide's own division leaves a remainder of 0 or more. The one that rounds
  // to zero is wrong for some constants: it has -1 for 1 by 3.
  auto roundBy = [&](Expr isHigher, Expr isLower) -> Expr {
    Expr one = hl::cast(x.type(), 1), quotient = x / safe;
    Expr step = hl::select(isHigher, one, hl::select(isLower, -one, zero));
    return quotient + hl::select(x % safe != zero, step, zero);
  };
  const Expr no = hl::Internal::const_false();
  Expr result =
      llvm::TypeSwitch<Operation *, Expr>(op)
          .Case<arith::FloorDivSIOp>(
              [&](auto) { return roundBy(no, safe < zero); })
          .Case<arith::CeilDivSIOp>(
              [&](auto) { return roundBy(safe > zero, no); })
          .Case<arith::DivSIOp>([&](auto) {
            return roundBy(x < zero && safe > zero, x < zero && safe < zero);
          })
          .Case<arith::RemSIOp>([&](auto) -> Expr {
            return hl::Internal::Call::make(
                x.type(), hl::Internal::Call::mod_round_to_zero, {x, safe},
                hl::Internal::Call::PureIntrinsic);
          })
          .Case<arith::DivUIOp>([&](auto) -> Expr {
            return hl::cast(x.type(), hl::cast(unsignedType, x) /
                                          hl::cast(unsignedType, safe));
          })
          .Case<arith::RemUIOp>([&](auto) -> Expr {
            return hl::cast(x.type(), hl::cast(unsignedType, x) %
                                          hl::cast(unsignedType, safe));
          })
          .Case<arith::CeilDivUIOp>([&](auto) -> Expr {
            Expr a = hl::cast(unsignedType, x),
                 b = hl::cast(unsignedType, safe);
            return hl::cast(
                x.type(), a / b + hl::cast(unsignedType,
                                           a % b != hl::cast(unsignedType, 0)));
          })
          .Default([&](Operation *) -> Expr {
            llvm_unreachable("all divisions are handled");
          });
  return hl::select(y == zero, zero, result);
}

Expr Translator::getElement(Operation *op, ArrayRef<Expr> x) {
  using Result = Expr;
  hl::Type type = getElementType(op->getResult(0).getType());
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<arith::AddFOp, arith::AddIOp>([&](auto) { return x[0] + x[1]; })
      .Case<arith::SubFOp, arith::SubIOp>([&](auto) { return x[0] - x[1]; })
      .Case<arith::MulFOp, arith::MulIOp>([&](auto) { return x[0] * x[1]; })
      .Case<arith::DivFOp>([&](auto) { return x[0] / x[1]; })
      .Case<arith::MaximumFOp>([&](auto) { return maximum(x[0], x[1]); })
      .Case<arith::MinimumFOp>([&](auto) { return minimum(x[0], x[1]); })
      .Case<arith::MaxNumFOp>([&](auto) {
        return hl::select(isNan(x[1]) || x[0] > x[1], x[0], x[1]);
      })
      .Case<arith::MinNumFOp>([&](auto) {
        return hl::select(isNan(x[1]) || x[0] < x[1], x[0], x[1]);
      })
      .Case<arith::NegFOp>([&](auto) { return -x[0]; })
      .Case<arith::CmpFOp>([&](arith::CmpFOp cmp) {
        return compare(cmp.getPredicate(), x[0], x[1]);
      })
      .Case<arith::CmpIOp>([&](arith::CmpIOp cmp) {
        return compare(cmp.getPredicate(), x[0], x[1]);
      })
      .Case<arith::SelectOp>([&](auto) { return hl::select(x[0], x[1], x[2]); })
      .Case<arith::AndIOp>([&](auto) -> Expr {
        return x[0].type().is_bool() ? x[0] && x[1] : x[0] & x[1];
      })
      .Case<arith::OrIOp>([&](auto) -> Expr {
        return x[0].type().is_bool() ? x[0] || x[1] : x[0] | x[1];
      })
      .Case<arith::XOrIOp>([&](auto) -> Expr {
        return x[0].type().is_bool() ? x[0] != x[1] : x[0] ^ x[1];
      })
      .Case<arith::MaxSIOp>([&](auto) { return hl::max(x[0], x[1]); })
      .Case<arith::MinSIOp>([&](auto) { return hl::min(x[0], x[1]); })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
            arith::FloorDivSIOp, arith::CeilDivSIOp, arith::CeilDivUIOp>(
          [&](auto) { return divide(op, x[0], x[1]); })
      .Case<arith::SIToFPOp>([&](auto) { return hl::cast<float>(x[0]); })
      .Case<arith::UIToFPOp>([&](auto) {
        return hl::cast<float>(x[0].type().is_bool()
                                   ? hl::cast<int32_t>(x[0])
                                   : hl::cast<uint32_t>(x[0]));
      })
      .Case<arith::FPToSIOp>([&](auto) { return hl::cast(type, x[0]); })
      .Case<arith::TruncIOp>([&](auto) -> Expr {
        return type.is_bool() ? (x[0] & 1) != 0 : hl::cast(type, x[0]);
      })
      .Case<arith::ExtUIOp>([&](auto) -> Expr {
        hl::Type from = x[0].type();
        return hl::cast(type,
                        from.is_bool()
                            ? x[0]
                            : hl::cast(from.with_code(hl::Type::UInt), x[0]));
      })
      .Case<arith::ExtSIOp>([&](auto) -> Expr {
        return x[0].type().is_bool() ? -hl::cast(type, x[0])
                                     : hl::cast(type, x[0]);
      })
      .Case<math::FmaOp>([&](auto) { return math.fma(x[0], x[1], x[2]); })
      .Case<math::AbsFOp>([&](auto) { return hl::abs(x[0]); })
      .Case<math::AbsIOp>(
          [&](auto) { return hl::cast<int32_t>(hl::abs(x[0])); })
      .Case<math::SqrtOp>([&](auto) { return hl::sqrt(x[0]); })
      .Case<math::FloorOp>([&](auto) { return hl::floor(x[0]); })
      .Case<math::CeilOp>([&](auto) { return hl::ceil(x[0]); })
      .Case<math::ExpOp>([&](auto) { return math.exp(x[0]); })
      .Case<math::LogOp>([&](auto) { return math.log(x[0]); })
      .Case<math::TanhOp>([&](auto) { return math.tanh(x[0]); })
      .Case<math::ErfOp>([&](auto) { return math.erf(x[0]); })
      .Case<SigmoidOp>([&](auto) { return math.sigmoid(x[0]); })
      .Case<DetachOp>([&](auto) { return x[0]; })
      .Default([](Operation *) { return Expr(); });
}

/// The number that an attribute holds.
static Expr getNumber(Attribute attribute) {
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return Expr(number.getValue().convertToFloat());
  auto integer = cast<IntegerAttr>(attribute);
  if (integer.getType().isInteger(1))
    return integer.getValue().isZero() ? hl::Internal::const_false()
                                       : hl::Internal::const_true();
  return hl::Internal::make_const(getElementType(integer.getType()),
                                  integer.getInt());
}

/// A constant that differs from element to element, as data of the kernel.
static hl::Buffer<> makeTable(DenseElementsAttr values,
                              const std::string &name) {
  std::vector<int> sizes;
  for (int64_t size :
       llvm::reverse(cast<ShapedType>(values.getType()).getShape()))
    sizes.push_back(size);
  if (values.getElementType().isF32()) {
    hl::Buffer<float> table(sizes, name);
    llvm::copy(
        llvm::map_range(values.getValues<APFloat>(),
                        [](const APFloat &v) { return v.convertToFloat(); }),
        table.begin());
    return table;
  }
  hl::Buffer<int32_t> table(sizes, name);
  llvm::copy(llvm::map_range(values.getValues<APInt>(),
                             [](const APInt &v) {
                               return static_cast<int32_t>(
                                   v.getBitWidth() == 1 ? v.getZExtValue()
                                                        : v.getSExtValue());
                             }),
             table.begin());
  return table;
}

bool Translator::translateElementwise(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    Attribute value = constant.getValue();
    auto dense = dyn_cast<DenseElementsAttr>(value);
    if (dense && !dense.isSplat()) {
      hl::Buffer<> table = makeTable(dense, nameOf("table"));
      bool isFlag = dense.getElementType().isInteger(1);
      size_t rank = cast<ShapedType>(dense.getType()).getRank();
      elements[constant] = [=](const Place &place) -> Expr {
        Expr element = table(Place(place.begin(), place.begin() + rank));
        return isFlag ? element != 0 : element;
      };
      return true;
    }
    Expr number = getNumber(dense ? dense.getSplatValue<Attribute>() : value);
    elements[constant] = [number](const Place &) { return number; };
    return true;
  }
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return false;
  // Whether there is a translation does not depend on the operands.
  SmallVector<Expr> samples;
  for (Value operand : op->getOperands()) {
    samples.push_back(
        hl::Internal::make_one(getElementType(operand.getType())));
  }
  if (!getElement(op, samples).defined())
    return false;
  define(op->getResult(0), [&](const Place &place) {
    SmallVector<Expr> operands;
    for (Value operand : op->getOperands())
      operands.push_back(at(operand, place));
    return getElement(op, operands);
  });
  return true;
}

bool Translator::translateRedirect(Operation *op) {
  if (op->getNumResults() != 1)
    return false;
  Value result = op->getResult(0);
  size_t numFeatures = getFeatures(result.getType()).size();
  auto getAxes = [numFeatures](const Place &place) {
    return Place(place.begin() + numFeatures, place.end());
  };
  auto withAxes = [](Place features, const Place &axes) {
    features.insert(features.end(), axes.begin(), axes.end());
    return features;
  };
  // The length of a row, and whether it has a position.
  auto lengthAt = [&](Value lengths, const Place &place) {
    return at(lengths, {place.back()});
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<BroadcastOp>([&](BroadcastOp broadcast) {
        Type from = broadcast.getInput().getType();
        ArrayRef<int64_t> features = getFeatures(from);
        ArrayRef<int64_t> all = getFeatures(result.getType());
        unsigned numAxes = pairVars ? pairVars->size() : getNumAxes(from);
        define(result, [&](const Place &place) {
          Place inner;
          if (isPrefix(features, all))
            inner.assign(place.begin() + (all.size() - features.size()),
                         place.begin() + all.size());
          else
            inner.assign(features.size(), 0);
          // Axes are counted from the row, which is last.
          inner.insert(inner.end(), place.end() - numAxes, place.end());
          return at(broadcast.getInput(), inner);
        });
        return true;
      })
      .Case<SliceOp>([&](SliceOp slice) {
        int start = slice.getStart();
        size_t feature = slice.getFeature();
        size_t rank = getFeatures(slice.getInput().getType()).size();
        define(result, [&](const Place &place) {
          Place inner(place);
          if (slice.getDrop())
            inner.insert(inner.begin() + numFeatures, Expr(start));
          else
            inner[rank - 1 - feature] += start;
          return at(slice.getInput(), inner);
        });
        return true;
      })
      .Case<EmbedOp>([&](EmbedOp embed) {
        define(result, [&](const Place &place) {
          Expr token = at(embed.getTokens(), getAxes(place));
          Place entry(place.begin(), place.begin() + numFeatures);
          // The runtime refuses tokens that there are not.
          int size = getFeatures(embed.getTable().getType()).front();
          entry.push_back(promisePlace(hl::max(token, 0), size));
          if (pairVars)
            entry = withAxes(entry, getAxes(place));
          Expr element = at(embed.getTable(), entry);
          return hl::select(token >= 0, element, hl::cast(element.type(), 0));
        });
        return true;
      })
      .Case<LookupOp>([&](LookupOp lookup) {
        int size = getFeatures(lookup.getTable().getType()).front();
        define(result, [&](const Place &place) {
          Place entry(place.begin(), place.begin() + numFeatures);
          // The runtime refuses positions beyond the table; never read outside.
          entry.push_back(
              hl::clamp(at(lookup.getIndex(), getAxes(place)), 0, size - 1));
          if (pairVars)
            entry = withAxes(entry, getAxes(place));
          return at(lookup.getTable(), entry);
        });
        return true;
      })
      .Case<ToRowsOp>([&](ToRowsOp toRows) {
        define(result, [&](const Place &place) {
          Place inner(place);
          inner.back() = promisePlace(at(toRows.getRows(), {place.back()}),
                                      getAxisSize(toRows.getInput(), 0));
          return at(toRows.getInput(), inner);
        });
        return true;
      })
      .Case<ReverseOp>([&](ReverseOp reverse) {
        define(result, [&](const Place &place) {
          Expr length = lengthAt(reverse.getLengths(), place);
          Place inner(place);
          Expr position = place[place.size() - 2];
          Expr within = position < length;
          inner[place.size() - 2] =
              promisePlace(hl::select(within, length - 1 - position, 0),
                           getAxisSize(reverse.getInput(), 1));
          Expr element = at(reverse.getInput(), inner);
          return hl::select(within, element, hl::cast(element.type(), 0));
        });
        return true;
      })
      .Case<FirstOp, LastOp>([&](auto) {
        define(result, [&](const Place &place) {
          Expr length = lengthAt(op->getOperand(1), place);
          Place inner(place);
          inner.insert(inner.end() - 1,
                       isa<FirstOp>(op)
                           ? Expr(0)
                           : promisePlace(hl::max(length - 1, 0),
                                          getAxisSize(op->getOperand(0), 1)));
          Expr element = at(op->getOperand(0), inner);
          return hl::select(length > 0, element, hl::cast(element.type(), 0));
        });
        return true;
      })
      .Case<PositionOp>([&](auto) {
        define(result,
               [&](const Place &place) { return place[place.size() - 2]; });
        return true;
      })
      .Case<StridedLengthOp>([&](StridedLengthOp strided) {
        int stride = strided.getStride();
        define(result, [&](const Place &place) {
          return (at(strided.getLengths(), place) + (stride - 1)) / stride;
        });
        return true;
      })
      .Case<OuterOp>([&](OuterOp outer) {
        size_t shared = getFeatures(outer.getRhs().getType()).size() - 1;
        define(result, [&](const Place &place) {
          Place left(place.begin() + 1, place.end());
          Place right = {place[0]};
          right.insert(right.end(), place.begin() + numFeatures - shared,
                       place.end());
          return at(outer.getLhs(), left) * at(outer.getRhs(), right);
        });
        return true;
      })
      .Default([](Operation *) { return false; });
}
