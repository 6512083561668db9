//===- Statements.cpp - statements, states and names ----------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Importer.h"

#include "dialect/Attn.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::frontend;
using llvm::SMLoc;
using llvm::Twine;

/// More turns than this are an error rather than a program that never ends.
static constexpr int64_t maxTurns = 1000;

void Importer::importStmts(ArrayRef<const Stmt *> stmts) {
  for (const Stmt *stmt : stmts)
    importStmt(stmt);
}

/// Where a statement of a kind may stand, or null where it may stand here.
static const char *getPlace(Stmt::Kind kind, const Frame &frame) {
  using Kind = Stmt::Kind;
  switch (kind) {
  case Kind::Assign:
  case Kind::Param:
  case Kind::Repeat:
    return nullptr;
  case Kind::Init:
  case Kind::Memory:
    return frame.kind == Frame::Kind::Encoder ? nullptr : "the encoder";
  case Kind::Align:
    return frame.kind == Frame::Kind::Decoder ? nullptr : "the decoder";
  case Kind::Predict:
  case Kind::Stop:
  case Kind::State:
    return frame.kind == Frame::Kind::Decoder && !frame.inRepeat
               ? nullptr
               : "the decoder, outside of repeats";
  case Kind::Return:
    return frame.kind == Frame::Kind::Layer && !frame.inRepeat
               ? nullptr
               : "a layer, outside of repeats";
  case Kind::Mask:
  case Kind::Score:
  case Kind::Weights:
  case Kind::Read:
    return "an attention block";
  }
  return nullptr;
}

void Importer::importStmt(const Stmt *stmt) {
  if (const char *place = getPlace(stmt->kind, frame)) {
    error(stmt->loc, "expected " + getWord(stmt->kind) + " only in " + place);
    return;
  }
  switch (stmt->kind) {
  case Stmt::Kind::Assign:
    return importAssign(cast<ValueStmt>(stmt));
  case Stmt::Kind::Param:
    return importParam(cast<ParamStmt>(stmt));
  case Stmt::Kind::Repeat:
    return importRepeat(cast<RepeatStmt>(stmt));
  case Stmt::Kind::Init:
    return importInit(cast<ValueStmt>(stmt));
  case Stmt::Kind::Memory:
    return importMemory(cast<ValueStmt>(stmt));
  case Stmt::Kind::State:
    return; // defined before the first statement
  case Stmt::Kind::Align:
    return importAlign(cast<ValueStmt>(stmt));
  case Stmt::Kind::Predict:
    return importPredict(cast<ValueStmt>(stmt));
  case Stmt::Kind::Stop:
    return importStop(cast<ValueStmt>(stmt));
  case Stmt::Kind::Return:
    *frame.returned = evaluate(cast<ValueStmt>(stmt)->value);
    return;
  default:
    return;
  }
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

bool Importer::mayName(Name name) {
  auto found = declared.find(name.text);
  if (found == declared.end())
    return true;
  error(name.loc, "expected a name that hides no dim, vocabulary or block, but "
                  "got '" +
                      name.text + "'")
      .note(found->second, "'" + name.text + "' is declared here");
  return false;
}

/// Calls the value by its name in the IR, where the statement made it: where it
/// stands behind `before`, the last operation that there was.
static void nameInIR(mlir::Value value, StringRef name, Operation *before) {
  Operation *op = value ? value.getDefiningOp() : nullptr;
  if (!op || isa<GetParameterOp>(op) || isa<NameLoc>(op->getLoc()) ||
      (before && !before->isBeforeInBlock(op)))
    return;
  op->setLoc(
      NameLoc::get(StringAttr::get(op->getContext(), name), op->getLoc()));
}

void Importer::observe(const Twine &name, const SpecValue &value, SMLoc loc) {
  // What is computed for pairs has no place in the body.
  if (!options.observe || value.isError() || value.isNumber() ||
      builder.getInsertionBlock() != body->block || value.level == Level::Pair)
    return;
  // Of the sequences that a step has, those are known outside of it that lie
  // on a memory.
  if (body->isDecoder && value.axis && value.axis->memoryIndex < 0)
    return;
  if (value.isState()) {
    SpecValue hidden = value;
    hidden.kind = SpecValue::Kind::Tensor;
    SpecValue cell = hidden;
    cell.ir = value.cell;
    observe(name + ".hidden", hidden, loc);
    observe(name + ".cell", cell, loc);
    return;
  }
  Common common;
  common.level = body->isDecoder ? Level::Row : Level::Sentence;
  common.axis = value.axis;
  common.like = body->like;
  SpecValue placed = convertAxes(value, common, loc);
  mlir::Value tensor = placed.ir;
  if (value.element == Element::Boolean) {
    auto type = cast<RankedTensorType>(tensor.getType());
    tensor = arith::ExtUIOp::create(builder, locate(loc),
                                    type.clone(builder.getI32Type()), tensor);
  }
  SmallVector<mlir::Value> lengths;
  if (value.axis)
    lengths.push_back(value.axis->lengths);
  std::string path = (frame.path + "." + name).str();
  // A name that is defined again is another value.
  if (unsigned count = ++observed[path]; count > 1)
    path += ("#" + Twine(count)).str();
  ObserveOp::create(builder, locate(loc), path, tensor, lengths);
}

void Importer::separateObserved(Block *block, ValueRange shared) {
  SmallVector<ObserveOp> observed(block->getOps<ObserveOp>());
  if (observed.empty())
    return;
  SmallVector<Operation *> originals, copies;
  for (Operation &op : block->without_terminator())
    // The lengths of a sequence are what makes it the sequence it is.
    if (!isa<ObserveOp, StridedLengthOp>(op))
      originals.push_back(&op);
  builder.setInsertionPoint(block->getTerminator());
  IRMapping mapping;
  for (BlockArgument argument : block->getArguments())
    if (!llvm::is_contained(shared, argument))
      mapping.map(argument, DetachOp::create(builder, argument.getLoc(),
                                             argument.getType(), argument)
                                .getResult());
  for (Operation *op : originals)
    copies.push_back(builder.clone(*op, mapping));
  for (ObserveOp op : observed) {
    op->moveBefore(block->getTerminator());
    op.getValueMutable().assign(mapping.lookupOrDefault(op.getValue()));
  }
  // Not everything is looked at, and some was only made to be looked at.
  for (Operation *op : llvm::reverse(copies))
    if (op->use_empty())
      op->erase();
  for (Operation *op : llvm::reverse(originals))
    if (op->use_empty())
      op->erase();
}

void Importer::importAssign(const ValueStmt *stmt) {
  StringRef name = stmt->name.text;
  Operation *before = getLastOperation();
  SpecValue value = evaluate(stmt->value);
  if (!mayName(stmt->name))
    return;
  nameInIR(value.ir, name, before);
  value.isOne = false;

  Binding *binding = frame.scope->find(name);
  if (!binding) {
    if (stmt->index) {
      error(stmt->loc, "expected a state before an index, but '" + name +
                           "' is not defined");
      return;
    }
    Binding local;
    local.loc = stmt->name.loc;
    local.values = {value};
    frame.scope->define(name, local);
    observe(name, value, stmt->name.loc);
    return;
  }
  switch (binding->kind) {
  case Binding::Kind::Parameter:
  case Binding::Kind::Index:
    error(stmt->loc,
          Twine("expected a name that can be assigned, but '") + name +
              (binding->kind == Binding::Kind::Index ? "' counts a repeat"
                                                     : "' is a parameter"))
        .note(binding->loc, "'" + name + "' is declared here");
    return;
  case Binding::Kind::State: {
    int64_t place = 0;
    if (binding->isArray() != static_cast<bool>(stmt->index)) {
      error(stmt->loc, Twine("expected ") + (stmt->index ? "no" : "an") +
                           " index after the state '" + name + "'")
          .note(binding->loc, "the state is declared here");
      return;
    }
    if (stmt->index) {
      std::optional<int64_t> index = evaluateSize(stmt->index);
      if (!index)
        return;
      int64_t count = binding->values.size();
      if (*index < 0 || *index >= count) {
        error(stmt->index->start, "expected an index below " + Twine(count) +
                                      ", but got " + Twine(*index))
            .note(binding->loc, "the states are declared here");
        return;
      }
      place = *index;
    }
    binding->assigned[place] = true;
    std::shared_ptr<const Read> read = value.read;
    binding->values[place] =
        convertToState(value, *binding->states[place], stmt->value->start);
    binding->values[place].read = read;
    observe(binding->states[place]->getName(), binding->values[place],
            stmt->name.loc);
    return;
  }
  default:
    break;
  }
  if (stmt->index) {
    error(stmt->loc, "expected a state before an index, but '" + name +
                         "' is a plain value");
    return;
  }
  binding->values = {value};
  // A name keeps its place; what it meant before is gone.
  binding->kind = Binding::Kind::Local;
  observe(name, value, stmt->name.loc);
}

SpecValue Importer::convertToState(const SpecValue &value,
                                   const StateInfo &state, SMLoc loc) {
  if (value.isError())
    return value;
  auto declaredHere = [&](Report report) {
    report.note(state.decl->name.loc,
                "the state '" + state.getName() + "' is declared here");
    return SpecValue();
  };
  if (value.isState() != state.isLstm)
    return declaredHere(error(
        loc, state.isLstm
                 ? "expected the state of an lstm (hidden and cell), but got a "
                   "plain value"
                 : "expected a plain value, but got the state of an lstm; use "
                   "its '.hidden' or '.cell'"));
  if (value.getShape() != ShapeRef(state.shape))
    return declaredHere(error(loc, "expected a state of shape " +
                                       toString(state.shape) + ", but got " +
                                       toString(value.getShape())));

  // Where the state lies: on a memory, or once per row (per sentence for first
  // values).
  Common common;
  common.shape = state.shape;
  common.level = body->isDecoder ? Level::Row : Level::Sentence;
  common.like = body->like;
  if (state.decl->over) {
    for (auto [index, memory] : llvm::enumerate(memories))
      if (memory.name.text == state.decl->over.text)
        common.axis =
            body->isDecoder ? body->memories[index].axis : memory.value.axis;
    if (!common.axis)
      return SpecValue();
  }
  if (value.axis != common.axis) {
    SpecValue expected = value;
    expected.axis = common.axis;
    expected.level = common.level;
    return declaredHere(
        error(loc, "expected a state on " + describeAxis(expected) +
                       ", but got a value on " + describeAxis(value)));
  }
  SpecValue hidden = value;
  hidden.kind = value.isNumber() ? value.kind : SpecValue::Kind::Tensor;
  hidden.cell = mlir::Value();
  SpecValue result = convert(hidden, common, loc);
  if (state.isLstm && !result.isError()) {
    SpecValue cell = hidden;
    cell.ir = value.cell;
    result.cell = convert(cell, common, loc).ir;
    result.kind = SpecValue::Kind::LstmState;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Parameters and repeats
//===----------------------------------------------------------------------===//

void Importer::importParam(const ParamStmt *stmt) {
  if (!mayName(stmt->name))
    return;
  StringRef name = stmt->name.text;
  if (Binding *binding = frame.scope->find(name)) {
    error(stmt->name.loc,
          "expected a new name for a parameter, but got '" + name + "'")
        .note(binding->loc, "'" + name + "' is defined here");
    return;
  }
  Binding binding;
  binding.kind = Binding::Kind::Parameter;
  binding.loc = stmt->name.loc;
  SpecValue value;
  auto supplied = frame.supplied.find(name);
  if (supplied != frame.supplied.end()) {
    value = supplied->second;
  } else if (std::optional<Shape> shape = evaluateShape(stmt->shape)) {
    if (ParameterOp parameter = createParameter(frame.path + "." + name, *shape,
                                                site, stmt->name.loc))
      value = valueOf(parameter);
  }
  binding.values = {value};
  frame.scope->define(name, binding);
}

void Importer::importRepeat(const RepeatStmt *stmt) {
  std::optional<int64_t> count = evaluateSize(stmt->count);
  if (!count)
    return;
  if (*count < 1 || *count > maxTurns) {
    error(stmt->count->start, "expected from 1 to " + Twine(maxTurns) +
                                  " turns, but got " + Twine(*count));
    return;
  }
  if (stmt->name && !mayName(stmt->name))
    return;
  unsigned errors = diagnostics.getNumErrors();
  for (int64_t turn = 0; turn < *count; ++turn) {
    Scope scope(frame.scope);
    Frame inner = frame;
    inner.scope = &scope;
    inner.inRepeat = true;
    if (stmt->name) {
      Binding index;
      index.kind = Binding::Kind::Index;
      index.loc = stmt->name.loc;
      index.values = {SpecValue::get(Constant::get(turn))};
      scope.define(stmt->name.text, index);
      inner.path += ("." + stmt->name.text + "." + Twine(turn)).str();
    } else {
      inner.unnamedRepeat = stmt;
    }
    llvm::SaveAndRestore<Frame> saved(frame, inner);
    importStmts(stmt->body);
    // Later turns would only repeat what is wrong in this one.
    if (diagnostics.getNumErrors() != errors)
      return;
  }
}

//===----------------------------------------------------------------------===//
// What the encoder leaves
//===----------------------------------------------------------------------===//

void Importer::importMemory(const ValueStmt *stmt) {
  SpecValue value;
  if (stmt->value) {
    Operation *before = getLastOperation();
    value = evaluate(stmt->value);
    nameInIR(value.ir, stmt->name.text, before);
  } else {
    NameExpr name(stmt->name.loc, stmt->name.text);
    name.start = name.loc;
    value = evaluateName(&name);
  }
  if (!mayName(stmt->name))
    return;
  for (const Memory &other : memories)
    if (other.name.text == stmt->name.text) {
      error(stmt->name.loc, "expected memories of different names, but got '" +
                                stmt->name.text + "' twice")
          .note(other.name.loc, "the first one is here");
      return;
    }
  if (value.isState())
    value = fail(stmt->name.loc, "expected a value as a memory, but got the "
                                 "state of an lstm; use its '.hidden' or "
                                 "'.cell'");
  if (!value.isError()) {
    Common common;
    common.element = value.element;
    common.shape = Shape(value.getShape());
    common.level = Level::Sentence;
    common.axis = value.axis;
    common.like = body->like;
    value = convert(value, common, stmt->name.loc);
  }
  memories.push_back({stmt->name, value});
  if (stmt->value)
    observe(stmt->name.text, value, stmt->name.loc);

  // In the encoder the name goes on to mean the value.
  Binding *binding = frame.scope->find(stmt->name.text);
  if (!binding)
    binding = &frame.scope->define(stmt->name.text, Binding());
  binding->loc = stmt->name.loc;
  binding->kind = Binding::Kind::Local;
  binding->values = {value};
}

void Importer::importInit(const ValueStmt *stmt) {
  Operation *before = getLastOperation();
  SpecValue value = evaluate(stmt->value);
  StringRef name = stmt->name.text;
  std::optional<int64_t> index;
  if (stmt->index) {
    index = evaluateSize(stmt->index);
    if (!index)
      return;
  }
  const StateInfo *state = nullptr, *sameName = nullptr;
  SmallVector<StringRef> names;
  for (const StateInfo &candidate : states) {
    names.push_back(candidate.decl->name.text);
    if (candidate.decl->name.text != name)
      continue;
    sameName = &candidate;
    if (candidate.index == index.value_or(-1))
      state = &candidate;
  }
  if (!sameName) {
    error(stmt->name.loc, "expected the name of a state of the decoder, but "
                          "got '" +
                              name + "'" + suggest(name, names));
    return;
  }
  if (!state) {
    bool isArray = sameName->index >= 0;
    error(stmt->index ? stmt->index->start : stmt->name.loc,
          !isArray ? "expected no index after the state '" + name + "'"
          : !index
              ? "expected an index after '" + name + "', as in " + name + "[0]"
              : Twine("expected an index below ") + Twine(sameName->index + 1) +
                    ", but got " + Twine(*index))
        .note(sameName->decl->name.loc, "the state is declared here");
    return;
  }
  if (state->decl->zero.isValid()) {
    error(stmt->loc, "expected one first value of the state '" +
                         state->getName() + "', but got 'init' and '= 0'")
        .note(state->decl->zero, "'= 0' is here");
    return;
  }
  auto [place, isNew] =
      initials.try_emplace(state, Initial{stmt->loc, SpecValue(), stmt});
  if (!isNew) {
    error(stmt->loc, "expected one first value of the state '" +
                         state->getName() + "', but got a second one")
        .note(place->second.loc, "the first one is here");
    return;
  }
  nameInIR(value.ir, state->getName(), before);
  observe("init." + state->getName(), value, stmt->name.loc);
  // A state over a memory may be declared later than its first value is given;
  // it is converted when the encoder ends.
  place->second.value = value;
}

//===----------------------------------------------------------------------===//
// What the decoder gives
//===----------------------------------------------------------------------===//

void Importer::importAlign(const ValueStmt *stmt) {
  NameExpr name(stmt->name.loc, stmt->name.text);
  name.start = name.loc;
  SpecValue value = evaluateName(&name);
  if (value.isError())
    return;
  if (!value.read || value.read->queries || value.level != Level::Row ||
      !value.read->weights.axis || value.read->weights.axis->memoryIndex < 0) {
    error(stmt->name.loc, "expected a read over a memory of the encoder to "
                          "align with, but '" +
                              stmt->name.text + "' is none");
    return;
  }
  if (alignStmt && alignStmt != stmt) {
    error(stmt->loc, "expected one 'align', but got a second one")
        .note(alignStmt->loc, "the first one is here");
    return;
  }
  alignStmt = stmt;
  aligned = value.read;
}

void Importer::importPredict(const ValueStmt *stmt) {
  if (predictStmt) {
    error(stmt->loc, "expected one 'predict', but got a second one")
        .note(predictStmt->loc, "the first one is here");
    return;
  }
  predictStmt = stmt;
  auto *call = dyn_cast<CallExpr>(stmt->value);
  llvm::SaveAndRestore<const CallExpr *> saved(
      predictCall, call && !call->label ? call : nullptr);
  SpecValue value = evaluateReal(stmt->value);
  if (value.isError())
    return;
  const DecoderDecl &decl = *spec.decoder;
  Common common;
  common.level = Level::Row;
  common.like = body->like;
  if (decl.positions) {
    common.axis = body->target;
    if (!common.axis)
      return;
    if (value.axis != common.axis || !value.getShape().empty()) {
      error(stmt->value->start,
            "expected a number for each position of '" + decl.positions.text +
                "' to predict from, but got " + toString(value.getShape()) +
                " on " + describeAxis(value));
      return;
    }
  } else if (value.axis) {
    error(stmt->value->start, "expected a value of the step to predict from, "
                              "but got one on " +
                                  describeAxis(value));
    return;
  } else if (decl.vocabulary) {
    auto vocabulary = vocabularies.find(decl.vocabulary.text);
    if (vocabulary == vocabularies.end() || vocabulary->second.size == 0)
      return;
    common.shape = {vocabulary->second.size};
    if (value.getShape() != ShapeRef(common.shape)) {
      error(stmt->value->start, "expected a number for each of the " +
                                    Twine(common.shape[0]) + " tokens of '" +
                                    vocabulary->first +
                                    "' to predict from, but "
                                    "got " +
                                    toString(value.getShape()))
          .note(vocabulary->second.decl->name.loc,
                "the vocabulary is declared here");
      return;
    }
  } else {
    common.shape = Shape(getFeatures(body->block->getArgument(0).getType()));
    if (value.getShape() != ShapeRef(common.shape)) {
      error(stmt->value->start,
            "expected features of shape " + toString(common.shape) +
                " to predict, but got " + toString(value.getShape()))
          .note(decl.input.loc, "'" + decl.input.text + "' is declared here");
      return;
    }
  }
  logits = convert(value, common, stmt->value->start);
  observe("predict", logits, stmt->loc);
}

void Importer::importStop(const ValueStmt *stmt) {
  if (stopStmt) {
    error(stmt->loc, "expected one 'stop', but got a second one")
        .note(stopStmt->loc, "the first one is here");
    return;
  }
  stopStmt = stmt;
  const DecoderDecl &decl = *spec.decoder;
  if (decl.vocabulary || decl.positions) {
    error(stmt->loc, "expected 'stop' only where features are predicted, but "
                     "the decoder predicts " +
                         Twine(decl.vocabulary ? "tokens" : "positions"));
    return;
  }
  SpecValue value = evaluateReal(stmt->value);
  if (value.isError())
    return;
  if (value.axis || !value.getShape().empty()) {
    error(stmt->value->start,
          "expected a single number of the step, the logit of the probability "
          "to stop, but got " +
              toString(value.getShape()) +
              (value.axis ? " on " + describeAxis(value) : Twine()));
    return;
  }
  Common common;
  common.level = Level::Row;
  common.like = body->like;
  stop = convert(value, common, stmt->value->start);
  observe("stop", stop, stmt->loc);
}

//===----------------------------------------------------------------------===//
// Calls of layers
//===----------------------------------------------------------------------===//

SpecValue Importer::importLayer(const BlockDecl &decl, const CallExpr *expr,
                                StringRef label) {
  for (const CallExpr *outer : site)
    if (outer->callee.text == decl.name.text)
      return fail(expr->callee.loc, "expected no layer inside itself, but got "
                                    "a call of '" +
                                        decl.name.text + "'");
  std::string positional, parameters;
  for (const BlockParameter &parameter : decl.parameters)
    positional += (parameter.name.text + " ").str();
  for (const Stmt *stmt : decl.body)
    if (isa<ParamStmt>(stmt))
      parameters += (stmt->name.text + " ").str();
  Call call;
  call.expr = expr;
  if (!bindArguments(call, positional, "", "", parameters))
    return SpecValue();

  // Arguments belong to the caller; the layer sees nothing else of it.
  Scope scope;
  Frame inner;
  inner.kind = Frame::Kind::Layer;
  inner.scope = &scope;
  inner.path = (frame.path + "." + label).str();
  inner.unnamedRepeat = frame.unnamedRepeat;
  SpecValue result;
  inner.returned = &result;

  bool good = true;
  auto shapeOf = [&](const ShapeSpec &shape) {
    llvm::SaveAndRestore<Frame> saved(frame, inner);
    return evaluateShape(shape);
  };
  for (const BlockParameter &parameter : decl.parameters) {
    const Expr *argument = call.get(parameter.name.text);
    SpecValue value = evaluateValue(argument);
    std::optional<Shape> shape = shapeOf(parameter.shape);
    if (!value.isError() && shape && value.getShape() != ShapeRef(*shape)) {
      error(argument->start, "expected '" + parameter.name.text +
                                 "' of shape " + toString(*shape) +
                                 ", but got " + toString(value.getShape()))
          .note(parameter.name.loc,
                "'" + parameter.name.text + "' is declared here");
      value = SpecValue();
    }
    good &= !value.isError() && shape;
    Binding binding;
    binding.kind = Binding::Kind::Argument;
    binding.loc = parameter.name.loc;
    binding.values = {value};
    scope.define(parameter.name.text, binding);
  }
  for (const Stmt *stmt : decl.body) {
    auto *param = dyn_cast<ParamStmt>(stmt);
    const Expr *argument = param ? call.get(param->name.text) : nullptr;
    if (!argument)
      continue;
    std::optional<Shape> shape = shapeOf(param->shape);
    SpecValue value =
        shape ? supplied(argument, param->name.text, *shape) : SpecValue();
    good &= !value.isError();
    inner.supplied[param->name.text] = value;
  }
  if (!good)
    return SpecValue();

  llvm::SaveAndRestore<Frame> saved(frame, inner);
  site.push_back(expr);
  importStmts(decl.body);
  site.pop_back();
  return result;
}
