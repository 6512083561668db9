//===- HoistMemory.cpp - once per memory what depends on it alone ---------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First moves what one side of a pair determines out of pair regions, then
// moves what a decoder step computes from the encoder's memory alone into the
// encoder. Both follow from dependence: no operation or spec is known by name.
//
//===----------------------------------------------------------------------===//

#include "dialect/Axes.h"
#include "dialect/PairInputs.h"
#include "lowering/graph/Operations.h"
#include "lowering/graph/PairInputs.h"
#include "lowering/graph/PairSides.h"
#include "lowering/graph/Parameters.h"
#include "lowering/graph/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"

namespace mlir::attn {
#define GEN_PASS_DEF_HOISTMEMORY
#include "lowering/graph/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

static constexpr remark::RemarkOpts remarkOpts =
    remark::RemarkOpts::name("memory").category("attn-hoist-memory");

//===----------------------------------------------------------------------===//
// Out of the pair region
//===----------------------------------------------------------------------===//

namespace {

/// Lifts values of one pair region to values over whole sequences.
class RegionHoister {
public:
  RegionHoister(PairOpInterface op, Region &region, OpBuilder &builder)
      : op(op), block(region.front()), builder(builder), sides(op, block) {}

  /// Moves what can be moved; returns the new inputs, already in use in the
  /// region.
  void run(PairInputList &inputs, SmallVectorImpl<BlockArgument> &added);

private:
  bool isWorthMoving(Value value);
  Value lift(Value value, unsigned numAxes);
  Value liftPosition(BlockArgument argument, unsigned numAxes);
  Value broadcastTo(Value value, unsigned numAxes, Location location);

  /// The number of axes of what is computed once per query or memory position.
  unsigned getNumAxes(Sides value) {
    if (value.isConstant())
      return 0;
    if (value.isMemory())
      return 2;
    return op.hasQueryAxis() ? 2 : 1;
  }

  /// Some input on the axes of what is being lifted, to take sizes from.
  Value findLike(unsigned numAxes, Sides value);

  PairOpInterface op;
  Block &block;
  OpBuilder &builder;
  PairSides sides;
  DenseMap<Value, Value> lifted;
  /// What the arguments stand for that were added for moved values.
  DenseMap<Value, Value> hoisted;
  Sides target;
};

} // namespace

/// Whether an operation is dear enough that its result should be stored and
/// read again rather than computed for every pair.
static bool isCostly(Operation *op) {
  return isCostlyFunction(op) ||
         isa<LinearOp, DotOp, OuterOp, SoftmaxOp, HardmaxOp, LayerNormOp,
             RmsNormOp, SigmoidOp, SinusoidOp, RotaryOp, MaxoutOp>(op);
}

bool RegionHoister::isWorthMoving(Value value) {
  Operation *definition = value.getDefiningOp();
  if (!definition)
    return false;
  return isCostly(definition) ||
         llvm::any_of(definition->getOperands(),
                      [&](Value operand) { return isWorthMoving(operand); });
}

Value RegionHoister::findLike(unsigned numAxes, Sides value) {
  for (auto [index, input] : llvm::enumerate(op.getInputs())) {
    if (attn::getNumAxes(input.getType()) != numAxes)
      continue;
    Sides side = sides[block.getArgument(index)];
    if (value.isMemory() ? side.isMemory() && side.shared == value.shared
                         : side.isQuery() && !side.source)
      return input;
  }
  if (numAxes == 1)
    return op.getQueryPositions() ? op.getQueryPositions() : op.getRows();
  return {};
}

Value RegionHoister::liftPosition(BlockArgument argument, unsigned numAxes) {
  unsigned which = argument.getArgNumber() -
                   (block.getNumArguments() - NumPositionArguments);
  Location location = op->getLoc();
  Value like = findLike(numAxes, target);
  Type positions = getValueType(2, {}, builder.getI32Type());
  auto toRows = [&](Value value) -> Value {
    return op.getRows() && !target.shared
               ? ToRowsOp::create(builder, location, value.getType(), value,
                                  op.getRows())
                     .getResult()
               : value;
  };
  switch (static_cast<PositionArgument>(which)) {
  case QueryPosition:
    if (op.getQueryPositions())
      return op.getQueryPositions();
    return like ? PositionOp::create(builder, location, positions, like)
                : Value();
  case KeyPosition:
    return like ? PositionOp::create(builder, location, positions, like)
                : Value();
  case QueryLength: {
    if (op.getQueryLengths())
      return op.getQueryLengths();
    if (!op.getQueryPositions())
      return {};
    // The step at position t belongs to a text of t + 1 words so far.
    Value one = arith::ConstantIntOp::create(builder, location, 1, 32);
    Value ones =
        BroadcastOp::create(builder, location, op.getQueryPositions().getType(),
                            one, op.getQueryPositions());
    return arith::AddIOp::create(builder, location, op.getQueryPositions(),
                                 ones);
  }
  case MemoryLength:
    return toRows(op.getLengths());
  default:
    llvm_unreachable("four position arguments");
  }
}

Value RegionHoister::broadcastTo(Value value, unsigned numAxes,
                                 Location location) {
  if (attn::getNumAxes(value.getType()) == numAxes)
    return value;
  return BroadcastOp::create(builder, location,
                             withNumAxes(value.getType(), numAxes), value,
                             findLike(numAxes, target));
}

/// The value over all positions, with `numAxes` axes or none where it depends
/// on neither side.
Value RegionHoister::lift(Value value, unsigned numAxes) {
  if (Value known = lifted.lookup(value))
    return known;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (Value moved = hoisted.lookup(argument))
      return moved;
    if (argument.getArgNumber() >= op.getInputs().size())
      return lifted[value] = liftPosition(argument, numAxes);
    Value input = op.getInputs()[argument.getArgNumber()];
    // A value of the sentence meets the rows of the query.
    if (sides[value].source && !target.shared && op.getRows())
      input = ToRowsOp::create(builder, op->getLoc(), input.getType(), input,
                               op.getRows());
    return lifted[value] = input;
  }

  Operation *definition = value.getDefiningOp();
  Location location = definition->getLoc();
  bool constant = sides[value].isConstant();
  unsigned axes = constant ? 0 : numAxes;

  // A constant vector times a lifted one is a product with a weight.
  if (auto dot = dyn_cast<DotOp>(definition); dot && !constant) {
    for (auto [fixed, moving] : {std::pair(dot.getLhs(), dot.getRhs()),
                                 std::pair(dot.getRhs(), dot.getLhs())})
      if (sides[fixed].isConstant() && getFeatures(fixed.getType()).size() == 1)
        return lifted[value] = LinearOp::create(
                   builder, location,
                   getValueType(axes, {}, builder.getF32Type()),
                   broadcastTo(lift(moving, numAxes), axes, location),
                   lift(fixed, numAxes), Value());
  }

  // Operands that stay without axes whatever the others have.
  auto keepsAxes = [&](OpOperand &operand) {
    unsigned number = operand.getOperandNumber();
    return isa<LinearOp, LayerNormOp, RmsNormOp>(definition) && number > 0;
  };
  IRMapping mapping;
  for (OpOperand &operand : definition->getOpOperands()) {
    Value moved = lift(operand.get(), numAxes);
    // A broadcast does the broadcasting itself.
    if (!keepsAxes(operand) && !isa<BroadcastOp>(definition))
      moved = broadcastTo(moved, axes, location);
    mapping.map(operand.get(), moved);
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(definition)) {
    Value input = mapping.lookup(broadcast.getInput());
    bool missing = attn::getNumAxes(input.getType()) < axes;
    return lifted[value] = BroadcastOp::create(
               builder, location, withNumAxes(value.getType(), axes), input,
               missing ? findLike(axes, target) : Value());
  }
  Operation *clone = builder.clone(*definition, mapping);
  for (auto [old, result] :
       llvm::zip(definition->getResults(), clone->getResults())) {
    result.setType(withNumAxes(old.getType(), axes));
    lifted[old] = result;
  }
  return lifted[value];
}

void RegionHoister::run(PairInputList &inputs,
                        SmallVectorImpl<BlockArgument> &added) {
  using Dim = PairOpInterface::Dim;
  // The last value of each one-sided computation: used by something that sees
  // both sides, or yielded.
  SmallVector<Value> frontier;
  for (Operation &inner : block)
    for (Value result : inner.getResults()) {
      Sides value = sides[result];
      if (value.isPair() || !isWorthMoving(result))
        continue;
      bool leaves = llvm::any_of(result.getUsers(), [&](Operation *user) {
        if (user->hasTrait<OpTrait::IsTerminator>())
          return true;
        Sides of = sides[user->getResult(0)];
        return of.isConstant() != value.isConstant() ||
               of.isMemory() != value.isMemory() ||
               of.isQuery() != value.isQuery();
      });
      if (leaves && sides.canLift(result))
        frontier.push_back(result);
    }

  llvm::SmallPtrSet<Operation *, 8> repairs = getRepairs(block);
  for (Operation &inner : block)
    for (Value result : inner.getResults())
      if (sides[result].isPair() && isCostly(&inner) &&
          !repairs.contains(&inner))
        remark::missed(inner.getLoc(), remarkOpts)
            << "'" + inner.getName().stripDialect().str() +
                   "' stays in the read: it needs both the query and the "
                   "memory";

  for (Value value : frontier) {
    target = sides[value];
    unsigned numAxes = getNumAxes(target);
    if (numAxes > 0 && !findLike(numAxes, target))
      continue;
    lifted.clear();
    Value moved = lift(value, numAxes);
    SmallVector<Dim> dims;
    if (target.isMemory())
      dims = {target.shared ? Dim::Source : Dim::Row, Dim::Key};
    else if (target.isQuery())
      dims = numAxes == 2 ? SmallVector<Dim>{Dim::Row, Dim::Query}
                          : SmallVector<Dim>{Dim::Row};
    inputs.add(moved, getPairMap(op->getContext(), dims));
    BlockArgument argument =
        block.insertArgument(block.getNumArguments() - NumPositionArguments,
                             value.getType(), value.getLoc());
    sides.set(argument, target);
    hoisted[argument] = moved;
    remark::passed(value.getLoc(), remarkOpts)
        << describeComputation(moved) +
               (target.isMemory()
                    ? " leaves the read: once for every position of the memory"
                : target.isQuery() ? " leaves the read: once for every query"
                                   : " leaves the read");
    value.replaceAllUsesWith(argument);
    added.push_back(argument);
  }
}

/// Moves one-sided computations out of the regions of `op`.
static void hoistFromPairs(PairOpInterface op) {
  OpBuilder builder(op);
  for (Region *region : op.getPairRegions()) {
    PairInputList inputs;
    SmallVector<BlockArgument> added;
    RegionHoister(op, *region, builder).run(inputs, added);
    eraseDead(region->front());
    if (added.empty())
      continue;
    // The other regions get the new inputs too.
    SmallVector<Value> values(op.getInputs());
    SmallVector<Attribute> maps(op.getIndexingMaps().getValue());
    for (Region *other : op.getPairRegions())
      if (other != region)
        for (BlockArgument argument : added)
          other->insertArgument(other->getNumArguments() - NumPositionArguments,
                                argument.getType(), argument.getLoc());
    llvm::append_range(values, inputs.getValues());
    llvm::append_range(maps, inputs.getMaps(op->getContext()).getValue());
    op.getInputsMutable().assign(values);
    op.setIndexingMapsAttr(builder.getArrayAttr(maps));
  }
  dropUnusedInputs(op);
}

//===----------------------------------------------------------------------===//
// Out of the step
//===----------------------------------------------------------------------===//

namespace {

/// Moves computations of a decoder that need only the encoder's memory to the
/// end of the encoder.
class StepHoister {
public:
  StepHoister(EncoderOp encoder, DecoderOp decoder)
      : encoder(encoder), decoder(decoder) {}

  void run();

private:
  /// What a value of the step depends on.
  enum class Origin { Parameters, Memory, Step };
  Origin getOrigin(Value value);
  bool isMovable(Operation &op);
  /// The memory axis that a value of the sentence lies on, -1 for none; nothing
  /// if it mixes axes.
  std::optional<int64_t> getAxis(Value value);
  Value moveToEncoder(Value value);
  std::string nameFor(Value value);
  void dropUnusedMemories();

  EncoderOp encoder;
  DecoderOp decoder;
  DenseMap<Value, Origin> origins;
  IRMapping moved;
};

} // namespace

StepHoister::Origin StepHoister::getOrigin(Value value) {
  auto [entry, inserted] = origins.try_emplace(value, Origin::Step);
  if (!inserted)
    return entry->second;
  Origin origin = Origin::Step;
  if (isa<BlockArgument>(value)) {
    if (llvm::is_contained(decoder.getMemoryArguments(), value) ||
        llvm::is_contained(decoder.getLengthArguments(), value))
      origin = Origin::Memory;
  } else if (Operation *op = value.getDefiningOp(); isMovable(*op)) {
    origin = Origin::Parameters;
    for (Value operand : op->getOperands())
      origin = std::max(origin, getOrigin(operand));
  }
  return origins[value] = origin;
}

bool StepHoister::isMovable(Operation &op) {
  // An operation with a region of pairs has rows of the step in it.
  return !isa<PairOpInterface, ScanOp>(op) && isPure(&op) &&
         !op.hasTrait<OpTrait::IsTerminator>();
}

std::optional<int64_t> StepHoister::getAxis(Value value) {
  if (attn::getNumAxes(value.getType()) < 2)
    return -1;
  auto memories = decoder.getMemoryArguments();
  for (auto [index, argument] : llvm::enumerate(memories))
    if (argument == value)
      return decoder.getMemoryAxes()[index];
  Operation *op = value.getDefiningOp();
  // These make a sequence of another length.
  if (!op || isa<PairsOp>(op) ||
      (isa<Conv1dOp>(op) && cast<Conv1dOp>(op).getStride() != 1))
    return std::nullopt;
  std::optional<int64_t> axis;
  for (Value operand : op->getOperands()) {
    if (attn::getNumAxes(operand.getType()) < 2)
      continue;
    std::optional<int64_t> other = getAxis(operand);
    if (!other || (axis && *axis != *other))
      return std::nullopt;
    axis = other;
  }
  return axis;
}

Value StepHoister::moveToEncoder(Value value) {
  OpBuilder builder(encoder.getEncoded());
  return cloneExpression(builder, value, moved);
}

/// A memory that was computed is named for the parameter it was computed with.
std::string StepHoister::nameFor(Value value) {
  std::string base = "memory";
  for (Operation *op = value.getDefiningOp(); op;) {
    Operation *next = nullptr;
    for (Value operand : op->getOperands())
      if (auto parameter = operand.getDefiningOp<GetParameterOp>()) {
        base = parameter.getParameter().str();
        break;
      } else if (operand.getDefiningOp()) {
        next = operand.getDefiningOp();
      }
    if (base != "memory")
      break;
    op = next;
  }
  std::string name = base;
  for (unsigned suffix = 1;
       llvm::any_of(decoder.getMemories(),
                    [&](Attribute attribute) {
                      return cast<StringAttr>(attribute).getValue() == name;
                    });
       ++suffix)
    name = base + "." + std::to_string(suffix);
  return name;
}

void StepHoister::run() {
  EncodedOp encoded = encoder.getEncoded();
  for (auto [argument, value] :
       llvm::zip(decoder.getMemoryArguments(), encoded.getMemory()))
    moved.map(argument, value);
  for (auto [argument, value] :
       llvm::zip(decoder.getLengthArguments(), encoded.getLengths()))
    moved.map(argument, value);

  SmallVector<Value> frontier;
  for (Operation &op : decoder.getBody().front())
    for (Value result : op.getResults()) {
      if (getOrigin(result) != Origin::Memory || !getAxis(result))
        continue;
      bool leaves = llvm::any_of(result.getUsers(), [&](Operation *user) {
        return user->getNumResults() == 0 ||
               user->getBlock() != op.getBlock() ||
               getOrigin(user->getResult(0)) == Origin::Step;
      });
      if (leaves)
        frontier.push_back(result);
    }

  Builder builder(encoder.getContext());
  for (Value value : frontier) {
    int64_t axis = *getAxis(value);
    // Boolean and integer memories would need a storage of their own.
    if (!getElementTypeOrSelf(value.getType()).isF32())
      continue;
    remark::passed(value.getLoc(), remarkOpts)
        << describeComputation(value) +
               " leaves the step for the encoder: once per sentence";
    Value movedValue = moveToEncoder(value);
    encoded.getMemoryMutable().append(movedValue);
    SmallVector<int64_t> axes(decoder.getMemoryAxes());
    axes.push_back(axis);
    SmallVector<Attribute> names(decoder.getMemories().getValue());
    names.push_back(builder.getStringAttr(nameFor(value)));
    unsigned place = 3 + decoder.getMemories().size();
    decoder.setMemoriesAttr(builder.getArrayAttr(names));
    decoder.setMemoryAxes(axes);
    encoded.setAxes(axes);
    BlockArgument argument = decoder.getBody().insertArgument(
        place, value.getType(), value.getLoc());
    // What else moves may be made of it.
    moved.map(argument, movedValue);
    value.replaceAllUsesWith(argument);
  }
  eraseDead(decoder.getBody().front());
  dropUnusedMemories();
  eraseDead(encoder.getBody().front());
}

void StepHoister::dropUnusedMemories() {
  EncodedOp encoded = encoder.getEncoded();
  Builder builder(encoder.getContext());
  for (unsigned index = decoder.getMemories().size(); index-- > 0;) {
    BlockArgument argument = decoder.getMemoryArguments()[index];
    if (!argument.use_empty())
      continue;
    // The lengths of an axis need one memory on it.
    int64_t axis = decoder.getMemoryAxes()[index];
    if (axis >= 0 && llvm::count(decoder.getMemoryAxes(), axis) == 1)
      continue;
    decoder.getBody().eraseArgument(argument.getArgNumber());
    SmallVector<int64_t> axes(decoder.getMemoryAxes());
    axes.erase(axes.begin() + index);
    SmallVector<Attribute> names(decoder.getMemories().getValue());
    names.erase(names.begin() + index);
    decoder.setMemoriesAttr(builder.getArrayAttr(names));
    decoder.setMemoryAxes(axes);
    encoded.setAxes(axes);
    encoded.getMemoryMutable().erase(index);
  }
}

namespace {
struct HoistMemory : attn::impl::HoistMemoryBase<HoistMemory> {
  using HoistMemoryBase::HoistMemoryBase;

  void runOnOperation() override {
    SmallVector<PairOpInterface> pairs;
    getOperation()->walk([&](PairOpInterface op) { pairs.push_back(op); });
    for (PairOpInterface op : pairs)
      hoistFromPairs(op);
    getOperation()->walk([](ModelOp model) {
      if (EncoderOp encoder = model.getEncoder())
        StepHoister(encoder, model.getDecoder()).run();
    });
  }
};
} // namespace
