//===- LengthLimits.cpp - how long sequences may be -----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/LengthLimits.h"
#include "dialect/Axes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// The target, or the sequence of an input axis: as long as it, or by a stride
/// shorter.
struct Sequence {
  static constexpr int64_t target = -1;

  int64_t axis = target;
  int64_t stride = 1;

  bool operator==(const Sequence &) const = default;
};

class Finder {
public:
  explicit Finder(ModelOp model)
      : encoder(model.getEncoder()), decoder(model.getDecoder()) {
    if (encoder)
      limits.inputs.resize(encoder.getInputs().size());
  }

  LengthLimits run() {
    for (Operation *program : {encoder.getOperation(), decoder.getOperation()})
      if (program)
        program->walk([&](LookupOp lookup) { visit(lookup); });
    return std::move(limits);
  }

private:
  void visit(LookupOp lookup);

  /// The sequence that has these lengths.
  std::optional<Sequence> findOfLengths(Value lengths);
  /// The sequence that a value lies on.
  std::optional<Sequence> findOfValue(Value value);
  /// The sequence whose position a value is, if it is one.
  std::optional<Sequence> findOfPosition(Value value);
  /// What an index is at a position, the only one that it may depend on, and
  /// not fall with. Sets `sequence` where it depends on one.
  std::optional<int64_t> evaluate(Value index, int64_t position,
                                  std::optional<Sequence> &sequence);

  EncoderOp encoder;
  DecoderOp decoder;
  LengthLimits limits;
};

} // namespace

std::optional<Sequence> Finder::findOfLengths(Value lengths) {
  if (auto strided = lengths.getDefiningOp<StridedLengthOp>()) {
    std::optional<Sequence> sequence = findOfLengths(strided.getLengths());
    if (sequence)
      sequence->stride *= static_cast<int64_t>(strided.getStride());
    return sequence;
  }
  auto argument = dyn_cast<BlockArgument>(lengths);
  // Of a past: one more than the position.
  if (!argument)
    return Sequence{};
  Operation *program = argument.getOwner()->getParentOp();
  if (program == encoder)
    return Sequence{static_cast<int64_t>(argument.getArgNumber()) -
                    static_cast<int64_t>(encoder.getInputs().size())};
  for (auto [index, length] : llvm::enumerate(decoder.getLengthArguments()))
    if (length == argument)
      return findOfLengths(encoder.getEncoded().getLengths()[index]);
  return std::nullopt;
}

std::optional<Sequence> Finder::findOfValue(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *program = argument.getOwner()->getParentOp();
    if (program == encoder) {
      if (argument.getArgNumber() < encoder.getInputs().size())
        return Sequence{encoder.getInputAxes()[argument.getArgNumber()]};
      return std::nullopt;
    }
    if (program != decoder)
      return std::nullopt;
    for (auto [arguments, axes] :
         {std::pair(decoder.getMemoryArguments(), decoder.getMemoryAxes()),
          std::pair(decoder.getStateArguments(), decoder.getStateAxes())})
      for (auto [other, axis] : llvm::zip(arguments, axes))
        if (other == argument && axis >= 0)
          return findOfLengths(decoder.getLengthArguments()[axis]);
    return std::nullopt;
  }
  Operation *op = value.getDefiningOp();
  if (isa<PastOp>(op))
    return Sequence{};
  if (auto pairs = dyn_cast<PairOpInterface>(op))
    return findOfLengths(pairs.hasQueryAxis() ? pairs.getQueryLengths()
                                              : pairs.getLengths());
  if (auto normalize = dyn_cast<NormalizeOp>(op))
    return findOfLengths(normalize.getQueryLengths()
                             ? normalize.getQueryLengths()
                             : normalize.getLengths());
  int64_t stride = 1;
  if (isa<PairsOp>(op))
    stride = 2;
  else if (auto convolution = dyn_cast<Conv1dOp>(op))
    stride = static_cast<int64_t>(convolution.getStride());
  for (Value operand : op->getOperands())
    if (getNumAxes(operand.getType()) >= 2) {
      std::optional<Sequence> sequence = findOfValue(operand);
      if (sequence)
        sequence->stride *= stride;
      return sequence;
    }
  return std::nullopt;
}

std::optional<Sequence> Finder::findOfPosition(Value value) {
  if (value == decoder.getPosition())
    return Sequence{};
  if (auto position = value.getDefiningOp<PositionOp>())
    return findOfValue(position.getLike());
  auto argument = dyn_cast<BlockArgument>(value);
  auto pairs =
      argument ? dyn_cast<PairOpInterface>(argument.getOwner()->getParentOp())
               : nullptr;
  if (!pairs)
    return std::nullopt;
  size_t place = argument.getArgNumber() - pairs.getInputs().size();
  if (place == 1)
    return findOfLengths(pairs.getLengths());
  if (place != 0)
    return std::nullopt;
  if (pairs.hasQueryAxis())
    return findOfLengths(pairs.getQueryLengths());
  return pairs.getQueryPositions() ? findOfPosition(pairs.getQueryPositions())
                                   : std::nullopt;
}

std::optional<int64_t> Finder::evaluate(Value index, int64_t position,
                                        std::optional<Sequence> &sequence) {
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  if (std::optional<Sequence> found = findOfPosition(index)) {
    if (sequence && *sequence != *found)
      return std::nullopt;
    sequence = found;
    return position;
  }
  Operation *op = index.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return evaluate(broadcast.getInput(), position, sequence);
  if (op->getNumOperands() != 2)
    return std::nullopt;
  std::optional<Sequence> ofLeft, ofRight;
  std::optional<int64_t> left = evaluate(op->getOperand(0), position, ofLeft);
  std::optional<int64_t> right = evaluate(op->getOperand(1), position, ofRight);
  if (!left || !right || (ofLeft && ofRight && *ofLeft != *ofRight))
    return std::nullopt;
  if (ofLeft || ofRight) {
    std::optional<Sequence> found = ofLeft ? ofLeft : ofRight;
    if (sequence && *sequence != *found)
      return std::nullopt;
    sequence = found;
  }
  int64_t result;
  if (isa<arith::AddIOp>(op))
    return *left + *right;
  if (isa<arith::MinSIOp>(op))
    return std::min(*left, *right);
  if (isa<arith::MaxSIOp>(op))
    return std::max(*left, *right);
  if (isa<arith::SubIOp>(op) && !ofRight)
    return *left - *right;
  if (isa<arith::FloorDivSIOp>(op) && !ofRight && *right > 0)
    return llvm::divideFloorSigned(*left, *right);
  if (isa<arith::MulIOp>(op) &&
      ((!ofRight && *right >= 0) || (!ofLeft && *left >= 0)) &&
      !llvm::MulOverflow(*left, *right, result))
    return result;
  return std::nullopt;
}

void Finder::visit(LookupOp lookup) {
  // The first position whose row is beyond the table.
  int64_t size = cast<ShapedType>(lookup.getTable().getType()).getDimSize(0);
  int64_t first = 0, last = INT32_MAX;
  std::optional<Sequence> sequence;
  std::optional<int64_t> largest = evaluate(lookup.getIndex(), last, sequence);
  if (!largest || !sequence || *largest < size)
    return;
  while (first < last) {
    int64_t middle = first + (last - first) / 2;
    if (*evaluate(lookup.getIndex(), middle, sequence) < size)
      first = middle + 1;
    else
      last = middle;
  }

  Value table = lookup.getTable();
  if (auto argument = dyn_cast<BlockArgument>(table))
    if (auto pairs =
            dyn_cast<PairOpInterface>(argument.getOwner()->getParentOp()))
      table = pairs.getInputs()[argument.getArgNumber()];
  auto parameter = table.getDefiningOp<GetParameterOp>();
  LengthLimit limit{first * sequence->stride,
                    parameter ? parameter.getParameter() : StringRef(), size};
  auto add = [&](std::optional<LengthLimit> &known) {
    if (!known || limit.length < known->length)
      known = limit;
  };
  if (sequence->axis == Sequence::target)
    return add(limits.target);
  for (auto [axis, input] : llvm::zip(encoder.getInputAxes(), limits.inputs))
    if (axis == sequence->axis)
      add(input);
}

LengthLimits mlir::attn::findLengthLimits(ModelOp model) {
  return Finder(model).run();
}
