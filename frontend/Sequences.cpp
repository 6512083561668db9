//===- Sequences.cpp - functions on sequences and states ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/AttentionBlock.h"
#include "frontend/Importer.h"

#include "dialect/Attn.h"
#include "dialect/Axes.h"
#include "dialect/PairInputs.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::frontend;
using llvm::SMLoc;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Sequences and their lengths
//===----------------------------------------------------------------------===//

/// What messages call an argument: its name where it has one.
static std::string describeArgument(const Expr *expr) {
  if (auto *name = dyn_cast<NameExpr>(expr))
    return ("'" + name->name + "'").str();
  return "the value";
}

SpecValue Importer::evaluateSequence(const Call &call, bool ofStates,
                                     bool changesWithStep) {
  const Expr *expr = call.get("x");
  SpecValue value = evaluate(expr);
  if (value.isError())
    return value;
  if (value.isState() && !ofStates)
    return fail(expr->start, "expected a value, but got the state of an lstm; "
                             "use its '.hidden' or '.cell'");
  if (value.level == Level::Row && !value.axis) {
    auto *name = dyn_cast<NameExpr>(expr);
    // What has a history has a sequence that ends now.
    bool helps = changesWithStep && value.isReal() && name;
    return fail(
        expr->start,
        "expected a sequence that is known to its end, but " +
            describeArgument(expr) + " lies on " + describeAxis(value) +
            ", of which the later ones are still in the future" +
            (helps ? "; did you mean 'past(" + name->name + ")'?" : Twine("")));
  }
  if (!value.axis)
    return fail(expr->start, "expected a sequence for '" + call.getFunction() +
                                 "', but " + describeArgument(expr) +
                                 " has no axis");
  if (value.level == Level::Row && !changesWithStep)
    return fail(expr->start, "expected a sequence that does not change with "
                             "the step for '" +
                                 call.getFunction() + "', but " +
                                 describeArgument(expr) + " on " +
                                 describeAxis(value) + " does");
  return value;
}

mlir::Value Importer::lengthsFor(const SpecValue &value, SMLoc loc) {
  const SequenceAxis *axis = value.axis;
  if (value.level != Level::Row || axis->level == Level::Row)
    return axis->lengths;
  mlir::Value &lengths = body->rowLengths[axis];
  if (!lengths)
    lengths = ToRowsOp::create(builder, locate(loc), axis->lengths.getType(),
                               axis->lengths, body->sentence);
  return lengths;
}

const SequenceAxis *Importer::stridedAxis(const SequenceAxis *axis,
                                          int64_t stride, SMLoc loc) {
  if (stride == 1)
    return axis;
  const SequenceAxis *&strided = body->strided[{axis, stride}];
  if (!strided) {
    SequenceAxis made;
    made.name = axis->name + " / " + std::to_string(stride);
    made.lengths = StridedLengthOp::create(
        builder, locate(loc), axis->lengths.getType(), axis->lengths, stride);
    made.level = axis->level;
    made.declared = loc;
    strided = body->addAxis(made);
  }
  return strided;
}

const SequenceAxis *Importer::pastAxis(SMLoc loc) {
  if (!body->past) {
    SequenceAxis made;
    made.name = "past";
    made.level = Level::Row;
    made.declared = loc;
    SpecValue position =
        SpecValue::getTensor(body->position, Element::Integer, Level::Row);
    made.lengths = arithmetic(Token::plus, position,
                              SpecValue::get(Constant::get(int64_t(1))), loc)
                       .ir;
    body->past = body->addAxis(made);
  }
  return body->past;
}

//===----------------------------------------------------------------------===//
// Reductions and rearrangements
//===----------------------------------------------------------------------===//

SpecValue Importer::callReverse(const Call &call) {
  SpecValue x = evaluateSequence(call, /*ofStates=*/true,
                                 /*changesWithStep=*/false);
  if (x.isError())
    return x;
  auto reverse = [&](mlir::Value value) -> mlir::Value {
    return ReverseOp::create(builder, locate(call.getLoc()), value.getType(),
                             value, x.axis->lengths);
  };
  SpecValue result = x;
  result.read = nullptr;
  result.ir = reverse(x.ir);
  if (x.cell)
    result.cell = reverse(x.cell);
  return result;
}

SpecValue Importer::callReduce(const Call &call) {
  StringRef function = call.getFunction();
  bool isMean = function == "mean";
  SpecValue x = evaluateSequence(call, /*ofStates=*/!isMean,
                                 /*changesWithStep=*/true);
  if (isMean)
    x = toReal(x, call.getLoc());
  if (x.isError())
    return x;
  mlir::Value lengths = lengthsFor(x, call.getLoc());
  Location loc = locate(call.getLoc());
  auto reduce = [&](mlir::Value value) -> mlir::Value {
    Type type = withNumAxes(value.getType(), 1);
    if (isMean)
      return MeanOp::create(builder, loc, type, value, lengths);
    if (function == "first")
      return FirstOp::create(builder, loc, type, value, lengths);
    return LastOp::create(builder, loc, type, value, lengths);
  };
  SpecValue result = x;
  result.read = nullptr;
  result.axis = nullptr;
  result.ir = reduce(x.ir);
  if (x.cell)
    result.cell = reduce(x.cell);
  return result;
}

/// The value of a sequence at a position: a read of that position alone, which
/// gives zeros where there is none.
SpecValue Importer::callAt(const Call &call) {
  SpecValue x = toReal(evaluateSequence(call, /*ofStates=*/false,
                                        /*changesWithStep=*/true),
                       call.getLoc());
  const Expr *indexExpr = call.get("index");
  SpecValue index = toTensor(evaluateValue(indexExpr), indexExpr->start);
  if (x.isError() || index.isError())
    return SpecValue();
  if (index.element != Element::Integer || !index.getShape().empty() ||
      index.axis)
    return fail(indexExpr->start,
                "expected a whole number as the position, but got " +
                    mlir::attn::frontend::describe(index.element) +
                    " of shape " + toString(index.getShape()) +
                    (index.axis ? " on " + describeAxis(index) : Twine()));
  Location loc = locate(call.getLoc());
  Level level = std::max(x.level, index.level);
  bool shared = level == Level::Row && x.level == Level::Sentence;
  mlir::Value rows = shared && x.axis->level == Level::Sentence ? body->sentence
                                                                : mlir::Value();
  mlir::Value lengths = rows ? x.axis->lengths : lengthsFor(x, call.getLoc());
  if (level == Level::Row && index.level == Level::Sentence)
    index = toRows(index, indexExpr->start);
  MLIRContext *context = builder.getContext();
  using Dim = PairOpInterface::Dim;
  AffineMap keys =
      getPairMap(context, {rows ? Dim::Source : Dim::Row, Dim::Key});
  AffineMap whole = getPairMap(context, index.level == Level::Constant
                                            ? ArrayRef<Dim>()
                                            : ArrayRef<Dim>(Dim::Row));
  // The body of a region over `inputs`; `make` gives what it yields.
  auto fill = [&](Region &region, ArrayRef<mlir::Value> inputs,
                  ArrayRef<AffineMap> maps,
                  llvm::function_ref<mlir::Value(Block &)> make) {
    OpBuilder::InsertionGuard guard(builder);
    Block &block = region.emplaceBlock();
    for (auto [input, map] : llvm::zip(inputs, maps))
      block.addArgument(getSliceType(input.getType(), map.getNumResults()),
                        loc);
    for (int i = 0; i < 4; ++i)
      block.addArgument(builder.getI32Type(), loc);
    builder.setInsertionPointToEnd(&block);
    mlir::Value value = make(block);
    YieldOp::create(builder, loc, value);
  };
  auto pairs = [&](Type element) { return getValueType(2, {}, element); };
  Type real = builder.getF32Type(), boolean = builder.getI1Type();
  auto mapsOf = [&](ArrayRef<AffineMap> maps) {
    return builder.getAffineMapArrayAttr(maps);
  };
  auto score = ScoreOp::create(builder, loc, pairs(real), ValueRange{x.ir},
                               mapsOf({keys}), lengths, rows, mlir::Value(),
                               mlir::Value());
  fill(score.getBody(), {x.ir}, {keys}, [&](Block &) -> mlir::Value {
    return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
  });
  auto mask = MaskOp::create(builder, loc, pairs(boolean),
                             ValueRange{x.ir, index.ir}, mapsOf({keys, whole}),
                             lengths, rows, mlir::Value(), mlir::Value());
  fill(mask.getBody(), {x.ir, index.ir}, {keys, whole},
       [&](Block &block) -> mlir::Value {
         return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      block.getArgument(3),
                                      block.getArgument(1));
       });
  auto normalize = NormalizeOp::create(
      builder, loc, pairs(real), pairs(boolean), getValueType(1, {}, boolean),
      Normalizer::Softmax, score, mask, /*sink=*/mlir::Value(), lengths, rows,
      mlir::Value());
  auto sum = SumOp::create(
      builder, loc, TypeRange{withNumAxes(x.ir.getType(), 1)},
      normalize.getWeights(), normalize.getReadable(), ValueRange{x.ir},
      mapsOf({keys}), lengths, rows, mlir::Value(), mlir::Value());
  fill(sum.getBody(), {x.ir}, {keys},
       [&](Block &block) { return block.getArgument(0); });
  SpecValue result =
      SpecValue::getTensor(sum.getContexts()[0], Element::Real, level);
  auto read = std::make_shared<Read>();
  read->weights = SpecValue::getTensor(normalize.getWeights(), Element::Real,
                                       level, x.axis);
  read->valid =
      SpecValue::getTensor(normalize.getValid(), Element::Boolean, level);
  result.read = read;
  return result;
}

SpecValue Importer::callPairs(const Call &call) {
  SpecValue x = toReal(evaluateSequence(call, /*ofStates=*/false,
                                        /*changesWithStep=*/false),
                       call.getLoc());
  if (x.isError())
    return x;
  if (x.getShape().empty())
    x = broadcastShape(x, {1}, call.getLoc());
  Shape shape(x.getShape());
  shape.back() *= 2;
  SpecValue result = x.withTensor(PairsOp::create(
      builder, locate(call.getLoc()), withFeatures(x.ir.getType(), shape), x.ir,
      x.axis->lengths));
  result.axis = stridedAxis(x.axis, 2, call.getLoc());
  return result;
}

SpecValue Importer::callConv1d(const Call &call) {
  SpecValue x = toReal(evaluateSequence(call, /*ofStates=*/false,
                                        /*changesWithStep=*/true),
                       call.getLoc());
  std::optional<int64_t> size = evaluatePositive(call.get("size"), "a size");
  std::optional<int64_t> width = evaluatePositive(call.get("width"), "a width");
  std::optional<int64_t> stride = 1;
  if (const Expr *expr = call.get("stride"))
    stride = evaluatePositive(expr, "a stride");
  if (x.isError() || !size || !width || !stride)
    return SpecValue();
  ShapeRef shape = x.getShape();
  if (shape.size() > 1)
    return fail(call.getLoc(), "expected at most one feature dimension for "
                               "'conv1d', but got " +
                                   toString(shape));
  int64_t inputs = shape.empty() ? 1 : shape[0];
  SpecValue weight = parameterOf(call, "weight", {*size, inputs, *width});
  SpecValue bias = parameterOf(call, "bias", {*size});
  if (weight.isError() || bias.isError())
    return SpecValue();
  mlir::Value lengths = lengthsFor(x, call.getLoc());
  SpecValue result = x.withTensor(Conv1dOp::create(
      builder, locate(call.getLoc()), withFeatures(x.ir.getType(), {*size}),
      x.ir, lengths, weight.ir, bias.ir, *stride));
  result.axis = stridedAxis(x.axis, *stride, call.getLoc());
  return result;
}

SpecValue Importer::callPast(const Call &call) {
  const Expr *expr = call.get("x");
  SpecValue x = evaluate(expr);
  if (!body->isDecoder)
    return fail(call.getLoc(), "expected 'past' in the decoder only, whose "
                               "steps have a past");
  if (x.isError())
    return x;
  if (x.axis)
    return fail(expr->start, "expected a value of the step for 'past', but " +
                                 describeArgument(expr) + " lies on " +
                                 describeAxis(x));
  if (!x.isState() && x.element != Element::Real)
    return fail(expr->start, "expected real numbers for 'past', but got " +
                                 mlir::attn::frontend::describe(x.element));
  Common step;
  step.level = Level::Row;
  step.like = body->position;
  SpecValue result = x;
  auto past = [&](mlir::Value value) -> mlir::Value {
    SpecValue row =
        convertAxes(SpecValue::getTensor(value, Element::Real, x.level), step,
                    call.getLoc());
    return PastOp::create(builder, locate(call.getLoc()),
                          withNumAxes(row.ir.getType(), 2), row.ir);
  };
  if (x.isNumber())
    result = toReal(x, call.getLoc());
  result.ir = past(result.ir);
  if (result.cell)
    result.cell = past(result.cell);
  result.read = nullptr;
  result.level = Level::Row;
  result.axis = pastAxis(call.getLoc());
  return result;
}

//===----------------------------------------------------------------------===//
// Positions and lengths
//===----------------------------------------------------------------------===//

SpecValue Importer::callPosition(const Call &call) {
  const Expr *expr = call.get("x");
  if (frame.attention)
    return frame.attention->position(expr);
  SpecValue x = evaluate(expr);
  if (x.isError())
    return x;
  if (x.level == Level::Row && !x.axis)
    return SpecValue::getTensor(body->position, Element::Integer, Level::Row);
  if (!x.axis)
    return fail(expr->start, "expected a sequence for 'position', but " +
                                 describeArgument(expr) + " has no axis");
  Type type = getValueType(2, {}, builder.getI32Type());
  return SpecValue::getTensor(
      PositionOp::create(builder, locate(call.getLoc()), type, x.ir),
      Element::Integer, x.level, x.axis);
}

SpecValue Importer::callLength(const Call &call) {
  const Expr *expr = call.get("x");
  if (frame.attention)
    return frame.attention->length(expr);
  SpecValue x = evaluateSequence(call, /*ofStates=*/true,
                                 /*changesWithStep=*/true);
  if (x.isError())
    return x;
  return SpecValue::getTensor(x.axis->lengths, Element::Integer, x.axis->level);
}

//===----------------------------------------------------------------------===//
// Recurrence
//===----------------------------------------------------------------------===//

std::optional<GruReset> Importer::evaluateReset(const Call &call) {
  std::optional<unsigned> choice =
      evaluateChoice(call.get("reset"), {"after", "before"});
  return choice ? std::optional(static_cast<GruReset>(*choice)) : std::nullopt;
}

bool Importer::cellWeights(const Call &call, int64_t gates, int64_t inputs,
                           int64_t hidden,
                           SmallVectorImpl<mlir::Value> &weights) {
  int64_t rows = gates * hidden;
  std::pair<StringRef, Shape> all[] = {{"weight_ih", {rows, inputs}},
                                       {"weight_hh", {rows, hidden}},
                                       {"bias_ih", {rows}},
                                       {"bias_hh", {rows}}};
  for (auto &[name, shape] : all) {
    SpecValue weight = parameterOf(call, name, shape);
    if (weight.isError())
      return false;
    weights.push_back(weight.ir);
  }
  return true;
}

SpecValue Importer::callRecurrent(const Call &call) {
  StringRef function = call.getFunction();
  SpecValue x = toReal(evaluateSequence(call, /*ofStates=*/false,
                                        /*changesWithStep=*/false),
                       call.getLoc());
  std::optional<int64_t> hidden = evaluatePositive(call.get("size"), "a size");
  std::optional<int64_t> inputs = inputSize(x, call);
  std::optional<bool> reverse = false;
  if (const Expr *flag = call.get("reverse"))
    reverse = evaluateFlag(flag);
  std::optional<GruReset> reset = GruReset::After;
  if (function == "gru")
    reset = evaluateReset(call);
  if (!hidden || !inputs || !reverse || !reset)
    return SpecValue();
  int64_t gates = function == "gru" ? 3 : function == "lstm" ? 4 : 1;
  SmallVector<mlir::Value> w;
  if (!cellWeights(call, gates, *inputs, *hidden, w))
    return SpecValue();
  Location loc = locate(call.getLoc());
  Type type = withFeatures(x.ir.getType(), {*hidden});
  mlir::Value lengths = x.axis->lengths;
  if (function == "gru")
    return x.withTensor(GruOp::create(builder, loc, type, x.ir, lengths, w[0],
                                      w[1], w[2], w[3], *reset, *reverse));
  if (function == "rnn")
    return x.withTensor(RnnOp::create(builder, loc, type, x.ir, lengths, w[0],
                                      w[1], w[2], w[3], *reverse));
  auto lstm = LstmOp::create(builder, loc, type, type, x.ir, lengths, w[0],
                             w[1], w[2], w[3], *reverse);
  SpecValue state = x.withTensor(lstm.getHidden());
  state.kind = SpecValue::Kind::LstmState;
  state.cell = lstm.getCell();
  return state;
}

SpecValue Importer::callCell(const Call &call) {
  StringRef function = call.getFunction();
  SMLoc loc = call.getLoc();
  SpecValue x = evaluateReal(call.get("x"));
  const Expr *stateExpr = call.get("s");
  SpecValue s = evaluate(stateExpr);
  if (x.isError() || s.isError())
    return SpecValue();
  bool isLstm = function == "lstm_cell";
  if (isLstm != s.isState())
    return fail(stateExpr->start,
                isLstm ? "expected the state of an lstm (hidden and cell), but "
                         "got a plain value"
                       : "expected a vector as the state, but got the state of "
                         "an lstm");
  SpecValue hidden = s, cell;
  if (isLstm) {
    hidden.kind = SpecValue::Kind::Tensor;
    cell = hidden;
    cell.ir = s.cell;
    hidden.cell = cell.cell = mlir::Value();
  } else {
    hidden = toReal(hidden, stateExpr->start);
    if (hidden.isError())
      return SpecValue();
  }
  if (hidden.getShape().size() != 1)
    return fail(stateExpr->start,
                "expected a state of one feature dimension, but got " +
                    toString(hidden.getShape()));
  std::optional<int64_t> inputs = inputSize(x, call);
  std::optional<GruReset> reset = GruReset::After;
  if (function == "gru_cell")
    reset = evaluateReset(call);
  std::optional<Common> common = unify({x, hidden}, loc, /*shapes=*/false);
  if (!inputs || !reset || !common)
    return SpecValue();
  int64_t gates = function == "gru_cell" ? 3 : isLstm ? 4 : 1;
  SmallVector<mlir::Value> w;
  if (!cellWeights(call, gates, *inputs, hidden.getShape()[0], w))
    return SpecValue();
  x = convertAxes(x, *common, loc);
  hidden = convertAxes(hidden, *common, loc);
  Type type = hidden.ir.getType();
  if (function == "gru_cell")
    return hidden.withTensor(GruCellOp::create(builder, locate(loc), type, x.ir,
                                               hidden.ir, w[0], w[1], w[2],
                                               w[3], *reset));
  if (!isLstm)
    return hidden.withTensor(RnnCellOp::create(
        builder, locate(loc), type, x.ir, hidden.ir, w[0], w[1], w[2], w[3]));
  cell = convertAxes(cell, *common, loc);
  auto step = LstmCellOp::create(builder, locate(loc), type, type, x.ir,
                                 hidden.ir, cell.ir, w[0], w[1], w[2], w[3]);
  SpecValue state = hidden.withTensor(step.getNewHidden());
  state.kind = SpecValue::Kind::LstmState;
  state.cell = step.getNewCell();
  return state;
}

SpecValue Importer::callLstmState(const Call &call) {
  SpecValue hidden = evaluateReal(call.get("hidden"));
  SpecValue cell = evaluateReal(call.get("cell"));
  if (hidden.isError() || cell.isError())
    return SpecValue();
  if (hidden.getShape().size() != 1 || hidden.getShape() != cell.getShape())
    return fail(call.getLoc(), "expected 'hidden' and 'cell' of one shape [H], "
                               "but got " +
                                   toString(hidden.getShape()) + " and " +
                                   toString(cell.getShape()));
  std::optional<Common> common = unify({hidden, cell}, call.getLoc());
  if (!common)
    return SpecValue();
  SpecValue state = convert(hidden, *common, call.getLoc());
  state.kind = SpecValue::Kind::LstmState;
  state.cell = convert(cell, *common, call.getLoc()).ir;
  return state;
}
