//===- AttentionBlock.cpp - a call of an attention block ------------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/AttentionBlock.h"

#include "dialect/Axes.h"
#include "dialect/PairInputs.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::frontend;
using llvm::SMLoc;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// The shape of a block
//===----------------------------------------------------------------------===//

bool mlir::attn::frontend::checkAttention(const BlockDecl &decl,
                                          Diagnostics &diagnostics) {
  bool good = true;
  auto fail = [&](SMLoc loc, const Twine &message) -> Report {
    good = false;
    return diagnostics.error(loc, message);
  };
  bool hasMemory = false, hasQuery = false;
  for (const BlockParameter &parameter : decl.parameters)
    (parameter.isQuery ? hasQuery : hasMemory) = true;
  if (!hasQuery || !hasMemory)
    fail(decl.name.loc, Twine("expected at least one query and one memory, but "
                              "got no ") +
                            (hasQuery ? "memory" : "query"));

  const Stmt *score = nullptr, *weights = nullptr, *read = nullptr;
  for (const Stmt *stmt : decl.body) {
    if (read) {
      fail(stmt->loc, "expected 'read' last in an attention block, but got " +
                          getWord(stmt->kind))
          .note(read->loc, "'read' is here");
      break;
    }
    const Stmt **one = nullptr;
    switch (stmt->kind) {
    case Stmt::Kind::Score:
      one = &score;
      break;
    case Stmt::Kind::Weights:
      one = &weights;
      if (!score)
        fail(stmt->loc, "expected 'score' before 'weights'");
      break;
    case Stmt::Kind::Read:
      one = &read;
      if (score && !weights)
        fail(stmt->loc, "expected 'weights' before 'read'");
      break;
    case Stmt::Kind::Mask:
      if (weights)
        fail(stmt->loc, "expected 'mask' before 'weights', which it masks")
            .note(weights->loc, "'weights' is here");
      break;
    case Stmt::Kind::Assign:
      if (cast<ValueStmt>(stmt)->index)
        fail(stmt->loc, "expected a plain name to define in an attention "
                        "block, but got an index");
      break;
    case Stmt::Kind::Param:
      break;
    default:
      fail(stmt->loc, "expected score, mask, weights, read, param or a "
                      "definition in an attention block, but got " +
                          getWord(stmt->kind));
    }
    if (!one)
      continue;
    if (*one)
      fail(stmt->loc, "expected one " + getWord(stmt->kind) +
                          " in an attention block, but got a second one")
          .note((*one)->loc, "the first one is here");
    *one = stmt;
  }
  if (good && !read)
    fail(decl.name.loc, Twine("expected ") +
                            (!score     ? "'score'"
                             : !weights ? "'weights'"
                                        : "'read'") +
                            " in the attention block '" + decl.name.text + "'");
  return good;
}

namespace {
/// `softmax(e) * exp(...) / 2`: a normaliser and its factors.
struct WeightsExpr {
  SmallVector<const CallExpr *> normalizers;
  /// Each with whether it divides.
  SmallVector<std::pair<const Expr *, bool>> factors;
};
} // namespace

static void splitWeights(const Expr *expr, bool divides, WeightsExpr &result) {
  if (auto *binary = dyn_cast<BinaryExpr>(expr);
      binary && (binary->op == Token::star || binary->op == Token::slash)) {
    splitWeights(binary->lhs, divides, result);
    return splitWeights(binary->rhs, divides != (binary->op == Token::slash),
                        result);
  }
  auto *call = dyn_cast<CallExpr>(expr);
  if (call && !divides && symbolizeNormalizer(call->callee.text))
    return result.normalizers.push_back(call);
  result.factors.emplace_back(expr, divides);
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

SpecValue AttentionCall::import() {
  if (!bind())
    return SpecValue();
  return importBody();
}

SpecValue AttentionCall::import(ArrayRef<SpecValue> values) {
  for (auto [parameter, value] : llvm::zip(decl.parameters, values))
    arguments.push_back(
        {&parameter, value, AffineMap(), parameter.name.loc, "..."});
  return importBody();
}

bool AttentionCall::bind() {
  std::string positional, parameters;
  for (const BlockParameter &parameter : decl.parameters)
    positional += (parameter.name.text + " ").str();
  for (const Stmt *stmt : decl.body)
    if (isa<ParamStmt>(stmt))
      parameters += (stmt->name.text + " ").str();
  Call call;
  call.expr = expr;
  if (!importer.bindArguments(call, positional, "", "", parameters))
    return false;
  bool good = true;
  for (const BlockParameter &parameter : decl.parameters) {
    const Expr *argument = call.get(parameter.name.text);
    SpecValue value = importer.evaluate(argument);
    auto *name = dyn_cast<NameExpr>(argument);
    arguments.push_back({&parameter, value, AffineMap(), argument->start,
                         name ? name->name : "..."});
    good &= !value.isError();
  }
  for (const Stmt *stmt : decl.body) {
    auto *param = dyn_cast<ParamStmt>(stmt);
    const Expr *argument = param ? call.get(param->name.text) : nullptr;
    if (!argument)
      continue;
    std::optional<Shape> shape = importer.evaluateShape(param->shape);
    SpecValue value =
        shape ? importer.supplied(argument, param->name.text, *shape)
              : SpecValue();
    suppliedParameters[param->name.text] = value;
    good &= !value.isError();
  }
  return good;
}

bool AttentionCall::checkArgument(Argument &argument) {
  const BlockParameter &parameter = *argument.decl;
  StringRef kind = parameter.isQuery ? "query" : "memory";
  SpecValue &value = argument.value;
  if (value.isState()) {
    importer.error(argument.loc, "expected a value as the " + kind + " '" +
                                     parameter.name.text +
                                     "', but got the state of an "
                                     "lstm; use its '.hidden' or '.cell'");
    return false;
  }
  value = importer.toTensor(value, argument.loc);
  std::optional<Shape> shape = importer.evaluateShape(parameter.shape);
  if (value.isError() || !shape)
    return false;
  if (value.getShape() != ShapeRef(*shape)) {
    importer
        .error(argument.loc, "expected the " + kind + " '" +
                                 parameter.name.text + "' of shape " +
                                 toString(*shape) + ", but got " +
                                 toString(value.getShape()))
        .note(parameter.name.loc,
              "'" + parameter.name.text + "' is declared here");
    return false;
  }
  if (!parameter.isQuery && !value.axis) {
    bool ofStep = value.level == Level::Row;
    importer
        .error(argument.loc,
               "expected a sequence as the memory '" + parameter.name.text +
                   "', but got a value " +
                   (ofStep ? "on " + importer.describeAxis(value) +
                                 ", of which the later ones are still in the "
                                 "future; did you mean 'past(" +
                                 argument.text.str() + ")'?"
                           : std::string("without an axis")))
        .note(parameter.name.loc,
              "'" + parameter.name.text + "' is declared here");
    return false;
  }
  return true;
}

/// Decides where the call is: its level, its axes, and how each argument enters
/// the regions.
bool AttentionCall::place() {
  const Argument *firstMemory = nullptr, *firstQuery = nullptr;
  bool good = true;
  for (Argument &argument : arguments) {
    if (!checkArgument(argument)) {
      good = false;
      continue;
    }
    const SpecValue &value = argument.value;
    level = std::max(level, value.level);
    bool ofStep = value.level == Level::Row && !value.axis;
    const Argument *&first = argument.decl->isQuery ? firstQuery : firstMemory;
    if (argument.decl->isQuery && !value.axis && !ofStep)
      continue; // meets any other
    if (first && first->value.axis != value.axis) {
      importer.error(argument.loc,
                     Twine("expected ") +
                         (argument.decl->isQuery ? "queries" : "memories") +
                         " on one axis, but got one on " +
                         importer.describeAxis(first->value) + " and one on " +
                         importer.describeAxis(value));
      good = false;
      continue;
    }
    first = &argument;
    (argument.decl->isQuery ? queryAxis : memoryAxis) = value.axis;
    hasStepQuery |= ofStep;
  }
  if (!good)
    return false;

  OpBuilder &builder = importer.builder;
  Body &body = *importer.body;
  if (level == Level::Row && memoryAxis->level == Level::Sentence)
    rows = body.sentence;
  lengths = memoryAxis->lengths;
  if (queryAxis) {
    SpecValue query = firstQuery->value;
    query.level = level;
    queryLengths = importer.lengthsFor(query, expr ? expr->loc : SMLoc());
  } else if (hasStepQuery) {
    queryPositions = body.position;
  }

  using Dim = PairOpInterface::Dim;
  MLIRContext *context = builder.getContext();
  for (Argument &argument : arguments) {
    SpecValue &value = argument.value;
    bool shared = level == Level::Row && value.level == Level::Sentence;
    // A sentence's value is read where it is, but for queries that have a
    // sequence and where nothing maps rows to sentences.
    if (shared && (!rows || (argument.decl->isQuery && value.axis))) {
      value = importer.toRows(value, argument.loc);
      shared = false;
    }
    SmallVector<Dim> dims;
    if (value.level != Level::Constant) {
      dims.push_back(shared ? Dim::Source : Dim::Row);
      if (value.axis)
        dims.push_back(argument.decl->isQuery ? Dim::Query : Dim::Key);
    }
    argument.map = getPairMap(context, dims);
  }
  return true;
}

bool AttentionCall::makeParameters() {
  bool good = true;
  for (const Stmt *stmt : decl.body) {
    auto *param = dyn_cast<ParamStmt>(stmt);
    if (!param || suppliedParameters.count(param->name.text))
      continue;
    std::optional<Shape> shape = importer.evaluateShape(param->shape);
    ParameterOp parameter =
        shape ? importer.createParameter(importer.frame.path + "." +
                                             param->name.text,
                                         *shape, importer.site, param->name.loc)
              : ParameterOp();
    good &= static_cast<bool>(parameter);
    ownParameters[param->name.text] = parameter;
  }
  return good;
}

//===----------------------------------------------------------------------===//
// Names of the block
//===----------------------------------------------------------------------===//

std::optional<unsigned> AttentionCall::findDefinition(StringRef name,
                                                      unsigned before) const {
  for (unsigned i = before; i > 0; --i) {
    const ValueStmt *stmt = getStmt(i - 1);
    if (stmt && stmt->name && stmt->name.text == name)
      return i - 1;
  }
  return std::nullopt;
}

const AttentionCall::Argument *
AttentionCall::findArgument(StringRef name) const {
  for (const Argument &argument : arguments)
    if (argument.decl->name.text == name)
      return &argument;
  return nullptr;
}

std::optional<SpecValue> AttentionCall::lookUp(StringRef name, SMLoc loc) {
  if (std::optional<unsigned> definition = findDefinition(name, statement)) {
    if (getStmt(*definition)->kind != Stmt::Kind::Weights)
      return evaluateDefinition(*definition);
    if (region && region->isSum) {
      SpecValue one = importer.fill(1, scoreShape, loc);
      one.isOne = true;
      return one;
    }
    return importer.fail(loc, "expected the weights '" + name +
                                  "' only inside 'sum'");
  }
  if (const Argument *argument = findArgument(name)) {
    if (region) {
      unsigned index = argument - arguments.begin();
      return SpecValue::getTensor(region->block->getArgument(index),
                                  argument->value.element, Level::Pair);
    }
    if (!argument->decl->isQuery)
      return importer.fail(loc, "expected the memory '" + name +
                                    "' only inside 'sum' here, because it is "
                                    "many positions");
    return argument->value;
  }
  if (auto supplied = suppliedParameters.find(name);
      supplied != suppliedParameters.end())
    return enter(supplied->second);
  if (auto own = ownParameters.find(name); own != ownParameters.end())
    return own->second ? importer.valueOf(own->second) : SpecValue();
  return std::nullopt;
}

void AttentionCall::collectNames(SmallVectorImpl<StringRef> &names) const {
  for (const Stmt *stmt : decl.body)
    if (stmt->name)
      names.push_back(stmt->name.text);
  for (const BlockParameter &parameter : decl.parameters)
    names.push_back(parameter.name.text);
}

SpecValue AttentionCall::evaluateAt(unsigned index, const Expr *expr) {
  llvm::SaveAndRestore<unsigned> saved(statement, index);
  return importer.evaluate(expr);
}

SpecValue AttentionCall::evaluateDefinition(unsigned index) {
  usedDefinitions.insert(index);
  auto &definitions = region ? region->definitions : rowDefinitions;
  if (auto found = definitions.find(index); found != definitions.end())
    return found->second;
  SpecValue value = evaluateAt(index, getStmt(index)->value);
  return definitions[index] = value;
}

SpecValue AttentionCall::enter(const SpecValue &value) {
  if (!region || value.isError())
    return value;
  // What the paper calls a parameter is the last part of its path.
  StringRef name = "constant";
  if (auto get = value.ir.getDefiningOp<GetParameterOp>())
    name = get.getParameter().substr(get.getParameter().rfind('.') + 1);
  unsigned input =
      addInput(value.ir, getPairMap(importer.builder.getContext(), {}), name);
  return SpecValue::getTensor(region->block->getArgument(input), value.element,
                              Level::Constant);
}

/// The argument of `position`, `length` or `causal`.
const AttentionCall::Argument *AttentionCall::findArgument(const Expr *expr,
                                                           StringRef function) {
  auto *name = dyn_cast<NameExpr>(expr);
  bool isDefined = name && findDefinition(name->name, statement);
  if (const Argument *argument =
          name && !isDefined ? findArgument(name->name) : nullptr)
    return argument;
  importer.error(expr->start,
                 "expected a query or a memory of the block for '" + function +
                     "'");
  return nullptr;
}

SpecValue AttentionCall::position(const Expr *expr) {
  const Argument *argument = findArgument(expr, "position");
  if (!argument)
    return SpecValue();
  const SpecValue &value = argument->value;
  if (argument->decl->isQuery && !value.axis && value.level != Level::Row)
    return importer.fail(expr->start, "expected a query on an axis for "
                                      "'position', but '" +
                                          argument->decl->name.text +
                                          "' has none here");
  if (region)
    return SpecValue::getTensor(
        region->getIndex(argument->decl->isQuery ? QueryPosition : KeyPosition),
        Element::Integer, Level::Pair);
  if (!argument->decl->isQuery)
    return importer.fail(expr->start, "expected the position of the memory '" +
                                          argument->decl->name.text +
                                          "' only inside 'sum' here");
  if (!value.axis)
    return SpecValue::getTensor(importer.body->position, Element::Integer,
                                Level::Row);
  Type type = getValueType(2, {}, importer.builder.getI32Type());
  return SpecValue::getTensor(
      PositionOp::create(importer.builder, locate(expr->loc), type, value.ir),
      Element::Integer, value.level, value.axis);
}

SpecValue AttentionCall::length(const Expr *expr) {
  const Argument *argument = findArgument(expr, "length");
  if (!argument)
    return SpecValue();
  const SpecValue &value = argument->value;
  if (!value.axis)
    return importer.fail(
        expr->start,
        value.level == Level::Row
            ? "expected a sequence that is known to its end for 'length', but "
              "'" +
                  argument->decl->name.text + "' lies on " +
                  importer.describeAxis(value)
            : "expected a sequence for 'length', but '" +
                  argument->decl->name.text + "' has no axis here");
  if (region)
    return SpecValue::getTensor(
        region->getIndex(argument->decl->isQuery ? QueryLength : KeyLength),
        Element::Integer, Level::Pair);
  return SpecValue::getTensor(value.axis->lengths, Element::Integer,
                              value.axis->level);
}

SpecValue AttentionCall::causal(const Call &call) {
  const Argument *query = findArgument(call.get("query"), "causal");
  const Argument *memory = findArgument(call.get("memory"), "causal");
  if (!query || !memory)
    return SpecValue();
  if (!query->decl->isQuery || memory->decl->isQuery)
    return importer.fail(call.getLoc(), "expected a query, then a memory, as "
                                        "arguments of 'causal'");
  if (!region)
    return importer.fail(call.getLoc(),
                         "expected 'causal' only where a pair is meant");
  SpecValue i = position(call.get("query"));
  if (i.isError())
    return i;
  // A query of the step is the last one so far.
  SMLoc loc = call.getLoc();
  SpecValue n = SpecValue::getTensor(region->getIndex(QueryLength),
                                     Element::Integer, Level::Pair);
  if (!query->value.axis)
    n = importer.arithmetic(Token::plus, i,
                            SpecValue::get(Constant::get(int64_t(1))), loc);
  SpecValue m = SpecValue::getTensor(region->getIndex(KeyLength),
                                     Element::Integer, Level::Pair);
  SpecValue j = SpecValue::getTensor(region->getIndex(KeyPosition),
                                     Element::Integer, Level::Pair);
  SpecValue offset = importer.arithmetic(Token::minus, m, n, loc);
  SpecValue last = importer.arithmetic(Token::plus, i, offset, loc);
  return importer.compare(Token::less_equal, j, last, loc);
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

Type AttentionCall::getPairType(ShapeRef shape, Type element) const {
  return getValueType(queryAxis ? 3 : 2, shape, element);
}

Type AttentionCall::getRowType(ShapeRef shape, Type element) const {
  return getValueType(queryAxis ? 2 : 1, shape, element);
}

unsigned AttentionCall::addInput(mlir::Value value, AffineMap map,
                                 StringRef name) {
  if (map.getNumResults() == 0)
    if (auto found = region->inputOfValue.find(value);
        found != region->inputOfValue.end())
      return found->second;
  unsigned index = region->inputs.size();
  region->block->insertArgument(
      index, getSliceType(value.getType(), map.getNumResults()),
      NameLoc::get(importer.builder.getStringAttr(name),
                   locate(expr ? expr->loc : decl.name.loc)));
  region->inputs.push_back(value);
  region->maps.push_back(map);
  if (map.getNumResults() == 0)
    region->inputOfValue[value] = index;
  return index;
}

bool AttentionCall::build(PairRegion &pair, bool isSum, Make make, SMLoc loc) {
  OpBuilder &builder = importer.builder;
  OpBuilder::InsertionGuard guard(builder);
  llvm::SaveAndRestore<PairRegion *> saved(region, &pair);
  pair.isSum = isSum;
  pair.block = &pair.region.emplaceBlock();
  for (StringRef name : {"i", "j", "queries", "keys"})
    pair.block->addArgument(
        builder.getI32Type(),
        NameLoc::get(builder.getStringAttr(name), locate(loc)));
  for (Argument &argument : arguments)
    addInput(argument.value.ir, argument.map, argument.decl->name.text);
  builder.setInsertionPointToEnd(pair.block);
  SmallVector<SpecValue> yielded;
  if (!make(yielded))
    return false;
  SmallVector<mlir::Value> values;
  for (const SpecValue &value : yielded)
    values.push_back(value.ir);
  YieldOp::create(builder, locate(loc), values);
  finish(pair);
  return true;
}

/// Takes out what turned out not to be needed.
void AttentionCall::finish(PairRegion &pair) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*pair.block)))
    if (!isa<YieldOp>(op) && op.use_empty())
      op.erase();
  // Some input must have the memory's positions, and of scores some one the
  // queries': from them is known how many there are.
  auto isLast = [&](unsigned index, PairOpInterface::Dim dim) {
    auto has = [&](AffineMap map) { return map.isFunctionOfDim(dim); };
    return has(pair.maps[index]) && llvm::count_if(pair.maps, has) == 1;
  };
  for (unsigned i = pair.inputs.size(); i > 0; --i) {
    unsigned index = i - 1;
    if (!pair.block->getArgument(index).use_empty() ||
        isLast(index, PairOpInterface::Key) ||
        (pair.isScore && isLast(index, PairOpInterface::Query)))
      continue;
    pair.block->eraseArgument(index);
    pair.inputs.erase(pair.inputs.begin() + index);
    pair.maps.erase(pair.maps.begin() + index);
  }
}

ArrayAttr AttentionCall::getMaps(const PairRegion &pair) const {
  return importer.builder.getAffineMapArrayAttr(pair.maps);
}

//===----------------------------------------------------------------------===//
// Score, mask, weights, read
//===----------------------------------------------------------------------===//

SpecValue AttentionCall::importBody() {
  path = importer.frame.path + "." + label;
  unnamedRepeat = importer.frame.unnamedRepeat;
  site = importer.site;
  if (expr)
    site.push_back(expr);
  return inside([&] { return importRead(); });
}

SpecValue AttentionCall::inside(llvm::function_ref<SpecValue()> make) {
  Frame inner;
  inner.kind = Frame::Kind::Layer;
  inner.path = path;
  inner.unnamedRepeat = unnamedRepeat;
  inner.attention = this;
  llvm::SaveAndRestore<Frame> savedFrame(importer.frame, inner);
  llvm::SaveAndRestore<AttentionCall *> savedPairing(importer.pairing, this);
  llvm::SaveAndRestore savedSite(importer.site, site);
  return make();
}

SpecValue AttentionCall::importRead() {
  for (unsigned i = 0, e = decl.body.size(); i < e; ++i) {
    Stmt::Kind kind = decl.body[i]->kind;
    if (kind == Stmt::Kind::Score)
      scoreIndex = i;
    else if (kind == Stmt::Kind::Weights)
      weightsIndex = i;
    else if (kind == Stmt::Kind::Read)
      readIndex = i;
  }
  // Each step relies on those before it.
  if (!place() || !makeParameters() || !importScores() || !importMask() ||
      !importWeights() || !importSums())
    return SpecValue();

  const ValueStmt *stmt = getStmt(readIndex);
  SpecValue context =
      importer.toReal(evaluateAt(readIndex, stmt->value), stmt->value->start);
  if (context.isError())
    return context;

  observe(context);
  auto read = std::make_shared<Read>();
  read->weights =
      SpecValue::getTensor(weights, Element::Real, level, memoryAxis);
  read->valid = SpecValue::getTensor(valid, Element::Boolean, level, queryAxis);
  read->path = importer.frame.path;
  read->queries = queryAxis;
  read->site = importer.site;
  read->context = context.ir;
  read->makeScores = [self = shared_from_this()] {
    return self->inside([&] { return self->maskedScores(); });
  };
  context.read = read;
  context.isOne = false;
  if (level == Level::Row && !queryAxis && memoryAxis->memoryIndex >= 0) {
    auto same = [&](const std::shared_ptr<const Read> &other) {
      return other->site == read->site;
    };
    // In a repeat the last turn counts.
    auto found = llvm::find_if(importer.memoryReads, same);
    if (found != importer.memoryReads.end())
      *found = read;
    else
      importer.memoryReads.push_back(read);
  }
  return context;
}

bool AttentionCall::isOfPair(unsigned index, const Expr *expr) {
  if (auto *name = dyn_cast<NameExpr>(expr)) {
    if (std::optional<unsigned> definition = findDefinition(name->name, index))
      return getStmt(*definition)->kind != Stmt::Kind::Assign ||
             isOfPair(*definition, getStmt(*definition)->value);
    const Argument *argument = findArgument(name->name);
    return argument && !argument->decl->isQuery;
  }
  if (auto *call = dyn_cast<CallExpr>(expr)) {
    if (call->callee.text == "causal")
      return true;
    if (call->callee.text == "sum" || call->callee.text == "length")
      return false;
  }
  bool found = false;
  forEachChild(expr, [&](const Expr *child) {
    found = found || isOfPair(index, child);
  });
  return found;
}

void AttentionCall::observe(const SpecValue &context) {
  // The pairs of two sequences, as in a self-attention, are many; they stay
  // unseen.
  if (!importer.options.observe || queryAxis)
    return;
  OpBuilder &builder = importer.builder;
  for (unsigned i = 0, e = decl.body.size(); i < e; ++i) {
    const ValueStmt *stmt = getStmt(i);
    if (!stmt || !usedDefinitions.contains(i))
      continue;
    if (!isOfPair(i, stmt->value)) {
      importer.observe(stmt->name.text, evaluateDefinition(i), stmt->loc);
      continue;
    }
    // Computed again for whoever looks: the read needs it for one pair at a
    // time only.
    SpecValue value;
    auto make = [&](SmallVectorImpl<SpecValue> &yielded) {
      value = evaluateDefinition(i);
      if (value.isError() || value.isState() ||
          value.element == Element::Boolean)
        return false;
      value = importer.toReal(value, stmt->loc);
      yielded.push_back(value);
      return true;
    };
    PairRegion pair;
    if (!build(pair, /*isSum=*/false, make, stmt->loc))
      continue;
    auto op = ScoreOp::create(
        builder, locate(stmt->loc),
        getPairType(value.getShape(), builder.getF32Type()), pair.inputs,
        getMaps(pair), lengths, rows, queryLengths, queryPositions);
    op.getBody().takeBody(pair.region);
    importer.observe(
        stmt->name.text,
        SpecValue::getTensor(op.getResult(), Element::Real, level, memoryAxis),
        stmt->loc);
  }
  importer.observe(
      getStmt(weightsIndex)->name.text,
      SpecValue::getTensor(weights, Element::Real, level, memoryAxis),
      getStmt(weightsIndex)->loc);
  importer.observe(getStmt(readIndex)->name.text, context,
                   getStmt(readIndex)->loc);
}

static WeightsExpr getWeightsExpr(const ValueStmt *stmt) {
  WeightsExpr result;
  splitWeights(stmt->value, /*divides=*/false, result);
  return result;
}

SpecValue AttentionCall::scoreOfPair() {
  const Expr *argument = normalizerCall.get("scores");
  llvm::SaveAndRestore<unsigned> saved(statement, weightsIndex);
  const ValueStmt *scoreStmt = getStmt(scoreIndex);
  SpecValue score =
      importer.toReal(evaluateDefinition(scoreIndex), scoreStmt->value->start);
  if (score.isError())
    return score;
  SpecValue value =
      importer.toReal(importer.evaluate(argument), argument->start);
  if (value.isError() || value.getShape() == score.getShape())
    return value;
  importer
      .error(argument->start, "expected scores of shape " +
                                  toString(score.getShape()) + ", but got " +
                                  toString(value.getShape()))
      .note(scoreStmt->loc, "the score is defined here");
  return SpecValue();
}

SpecValue AttentionCall::maskedScores() {
  SMLoc loc = getStmt(scoreIndex)->loc;
  auto make = [&](SmallVectorImpl<SpecValue> &yielded) {
    SpecValue score = scoreOfPair();
    SpecValue condition = mask ? maskOfPair() : SpecValue();
    if (score.isError() || (mask && condition.isError()))
      return false;
    if (mask) {
      SpecValue none = importer.fill(-std::numeric_limits<double>::infinity(),
                                     scoreShape, loc);
      condition = importer.broadcastShape(condition, scoreShape, loc);
      score = score.withTensor(arith::SelectOp::create(
          importer.builder, locate(loc), condition.ir, score.ir, none.ir));
    }
    yielded.push_back(score);
    return true;
  };
  PairRegion pair;
  pair.isScore = true;
  if (!build(pair, /*isSum=*/false, make, loc))
    return SpecValue();
  OpBuilder &builder = importer.builder;
  auto op = ScoreOp::create(
      builder, locate(loc), getPairType(scoreShape, builder.getF32Type()),
      pair.inputs, getMaps(pair), lengths, rows, queryLengths, queryPositions);
  op.getBody().takeBody(pair.region);
  return SpecValue::getTensor(op.getResult(), Element::Real, level, memoryAxis);
}

bool AttentionCall::importScores() {
  const ValueStmt *stmt = getStmt(weightsIndex);
  WeightsExpr expression = getWeightsExpr(stmt);
  if (expression.normalizers.size() != 1) {
    importer.error(
        stmt->value->start,
        Twine("expected one softmax, hardmax or sparsemax, and factors, as "
              "weights, but got ") +
            (expression.normalizers.empty() ? "none" : "more than one"));
    return false;
  }
  normalizerCall.expr = expression.normalizers.front();
  if (!importer.bindArguments(normalizerCall, "scores", "", "sink", ""))
    return false;
  PairRegion pair;
  pair.isScore = true;
  auto make = [&](SmallVectorImpl<SpecValue> &yielded) {
    SpecValue value = scoreOfPair();
    if (value.isError())
      return false;
    scoreShape = Shape(value.getShape());
    yielded.push_back(value);
    return true;
  };
  SMLoc loc = getStmt(scoreIndex)->loc;
  if (!build(pair, /*isSum=*/false, make, loc))
    return false;
  OpBuilder &builder = importer.builder;
  auto op = ScoreOp::create(
      builder, locate(loc), getPairType(scoreShape, builder.getF32Type()),
      pair.inputs, getMaps(pair), lengths, rows, queryLengths, queryPositions);
  op.getBody().takeBody(pair.region);
  scores = op.getResult();
  return true;
}

SpecValue AttentionCall::maskOfPair() {
  SpecValue all;
  SMLoc loc;
  for (unsigned i = 0, e = decl.body.size(); i < e; ++i) {
    const ValueStmt *stmt = getStmt(i);
    if (!stmt || stmt->kind != Stmt::Kind::Mask)
      continue;
    if (!loc.isValid())
      loc = stmt->loc;
    SpecValue condition = evaluateAt(i, stmt->value);
    if (condition.isError())
      return condition;
    if (condition.isState() || condition.element != Element::Boolean)
      return importer.fail(stmt->value->start,
                           "expected booleans as a mask, but got " +
                               describe(condition.element) +
                               "; what is added to scores stands in 'score'");
    all = all.isError()
              ? condition
              : importer.logic(Token::kw_and, all, condition, stmt->loc);
    if (all.isError())
      return all;
  }
  // A mask has the score's shape or is one number for all heads.
  if (!all.getShape().empty() && all.getShape() != ShapeRef(scoreShape)) {
    std::optional<Shape> combined = combineShapes(all.getShape(), scoreShape);
    if (!combined || ShapeRef(*combined) != ShapeRef(scoreShape))
      return importer.fail(loc, "expected a mask of the score's shape " +
                                    toString(scoreShape) + ", but got " +
                                    toString(all.getShape()));
    all = importer.broadcastShape(all, scoreShape, loc);
  }
  return all;
}

bool AttentionCall::importMask() {
  SMLoc loc;
  Shape shape;
  auto make = [&](SmallVectorImpl<SpecValue> &yielded) {
    SpecValue all = maskOfPair();
    if (all.isError())
      return false;
    shape = Shape(all.getShape());
    yielded.push_back(all);
    return true;
  };
  for (const Stmt *stmt : decl.body)
    if (stmt->kind == Stmt::Kind::Mask) {
      loc = stmt->loc;
      break;
    }
  if (!loc.isValid())
    return true;
  PairRegion pair;
  if (!build(pair, /*isSum=*/false, make, loc))
    return false;
  OpBuilder &builder = importer.builder;
  auto op = MaskOp::create(
      builder, locate(loc), getPairType(shape, builder.getI1Type()),
      pair.inputs, getMaps(pair), lengths, rows, queryLengths, queryPositions);
  op.getBody().takeBody(pair.region);
  mask = op.getResult();
  return true;
}

/// The score of reading nothing, one for all or one for each query.
bool AttentionCall::importSink(mlir::Value &sink) {
  const Expr *expr = normalizerCall.get("sink");
  if (!expr)
    return true;
  SpecValue value =
      importer.toReal(evaluateAt(weightsIndex, expr), expr->start);
  if (value.isError())
    return false;
  std::optional<Shape> combined = combineShapes(value.getShape(), scoreShape);
  if (!combined || ShapeRef(*combined) != ShapeRef(scoreShape)) {
    importer.error(expr->start, "expected a sink of the score's shape " +
                                    toString(scoreShape) + ", but got " +
                                    toString(value.getShape()));
    return false;
  }
  if (value.axis && value.axis != queryAxis) {
    importer.error(expr->start, "expected a sink on the queries' axis or on "
                                "none, but got one on " +
                                    importer.describeAxis(value));
    return false;
  }
  value = importer.broadcastShape(value, scoreShape, expr->start);
  if (level == Level::Row && value.level == Level::Sentence)
    value = importer.toRows(value, expr->start);
  sink = value.ir;
  return static_cast<bool>(sink);
}

bool AttentionCall::importWeights() {
  OpBuilder &builder = importer.builder;
  const ValueStmt *stmt = getStmt(weightsIndex);
  WeightsExpr expression = getWeightsExpr(stmt);
  Normalizer normalizer = *symbolizeNormalizer(normalizerCall.getFunction());
  mlir::Value sink;
  if (!importSink(sink))
    return false;
  Type real = builder.getF32Type(), boolean = builder.getI1Type();
  auto normalize = NormalizeOp::create(
      builder, locate(stmt->loc), getPairType(scoreShape, real),
      getPairType(scoreShape, boolean), getRowType(scoreShape, boolean),
      normalizer, scores, mask, sink, lengths, rows, queryLengths);
  weights = normalize.getWeights();
  readable = normalize.getReadable();
  valid = normalize.getValid();
  if (expression.factors.empty())
    return true;

  SMLoc loc = expression.factors.front().first->start;
  auto make = [&](SmallVectorImpl<SpecValue> &yielded) {
    SpecValue product = SpecValue::get(Constant::get(int64_t(1)));
    bool isFirst = true;
    for (auto [factor, divides] : expression.factors) {
      SpecValue value = evaluateAt(weightsIndex, factor);
      if (value.isError())
        return false;
      product = isFirst && !divides
                    ? value
                    : importer.arithmetic(divides ? Token::slash : Token::star,
                                          product, value, factor->loc);
      isFirst = false;
      if (product.isError())
        return false;
    }
    product = importer.toReal(product, loc);
    if (product.isError())
      return false;
    std::optional<Shape> combined =
        combineShapes(product.getShape(), scoreShape);
    if (!combined || ShapeRef(*combined) != ShapeRef(scoreShape)) {
      importer.error(loc, "expected a factor of the weights' shape " +
                              toString(scoreShape) + ", but got " +
                              toString(product.getShape()));
      return false;
    }
    yielded.push_back(importer.broadcastShape(product, scoreShape, loc));
    return true;
  };
  PairRegion pair;
  if (!build(pair, /*isSum=*/false, make, loc))
    return false;
  auto op = FactorOp::create(builder, locate(loc), weights.getType(), weights,
                             readable, pair.inputs, getMaps(pair), lengths,
                             rows, queryLengths, queryPositions);
  op.getBody().takeBody(pair.region);
  weights = op.getResult();
  return true;
}

/// How an expression of a statement depends on the weights, through the
/// definitions it uses.
Degree AttentionCall::degreeAt(unsigned index, const Expr *expr) {
  return getDegree(expr, [&](const NameExpr *name) -> Degree {
    std::optional<unsigned> definition = findDefinition(name->name, index);
    if (!definition)
      return {};
    if (getStmt(*definition)->kind == Stmt::Kind::Weights)
      return {Degree::Linear, nullptr};
    return degreeAt(*definition, getStmt(*definition)->value);
  });
}

/// What contracts, picks or moves a head of the weights in an expression that
/// is linear in them, or null. In the region of a sum the weights stand for 1
/// and each weight multiplies its own head of the summand afterwards, which is
/// the same only while heads stay where they are.
const Expr *AttentionCall::findMixedHeads(unsigned index, const Expr *expr) {
  auto isWeighted = [&](const Expr *part) {
    return degreeAt(index, part).kind == Degree::Linear;
  };
  // Whether the last dimension is one of the heads.
  auto endsInHead = [&](const Expr *part) {
    SpecValue value = evaluateAt(index, part);
    return !value.isError() && value.getShape().size() <= scoreShape.size();
  };
  if (scoreShape.empty() || !isWeighted(expr))
    return nullptr;
  if (auto *name = dyn_cast<NameExpr>(expr)) {
    std::optional<unsigned> definition = findDefinition(name->name, index);
    if (getStmt(*definition)->kind == Stmt::Kind::Weights)
      return nullptr;
    return findMixedHeads(*definition, getStmt(*definition)->value);
  }
  const Expr *found = nullptr;
  forEachChild(expr, [&](const Expr *child) {
    if (!found)
      found = findMixedHeads(index, child);
  });
  if (found)
    return found;
  if (isa<IndexExpr>(expr))
    return expr;
  if (auto *binary = dyn_cast<BinaryExpr>(expr))
    return binary->op == Token::at ? expr : nullptr;
  auto *call = dyn_cast<CallExpr>(expr);
  if (!call)
    return nullptr;
  StringRef callee = call->callee.text;
  if (callee == "linear" || callee == "concat")
    return endsInHead(call->arguments[0].value) ? expr : nullptr;
  if (callee != "dot" && callee != "outer")
    return nullptr;
  for (const frontend::Argument &argument :
       ArrayRef(call->arguments).drop_front(callee == "outer"))
    if (isWeighted(argument.value) && endsInHead(argument.value))
      return expr;
  return nullptr;
}

/// The sums of an expression, also in the definitions it uses, each with the
/// statement it stands in.
void AttentionCall::collectSums(
    unsigned index, const Expr *expr,
    SmallVectorImpl<std::pair<unsigned, const CallExpr *>> &found) {
  if (auto *call = dyn_cast<CallExpr>(expr);
      call && call->callee.text == "sum") {
    if (!llvm::is_contained(found, std::pair(index, call)))
      found.emplace_back(index, call);
    return;
  }
  if (auto *name = dyn_cast<NameExpr>(expr)) {
    std::optional<unsigned> definition = findDefinition(name->name, index);
    if (definition && getStmt(*definition)->kind == Stmt::Kind::Assign)
      collectSums(*definition, getStmt(*definition)->value, found);
    return;
  }
  forEachChild(expr,
               [&](const Expr *child) { collectSums(index, child, found); });
}

bool AttentionCall::importSums() {
  const ValueStmt *stmt = getStmt(readIndex);
  StringRef weightsName = getStmt(weightsIndex)->name.text;
  SmallVector<std::pair<unsigned, const CallExpr *>> calls;
  collectSums(readIndex, stmt->value, calls);
  if (calls.empty()) {
    importer.error(stmt->value->start, "expected a 'sum' over the memory in "
                                       "'read'");
    return false;
  }
  auto make = [&](SmallVectorImpl<SpecValue> &yielded) {
    for (auto [index, call] : calls) {
      if (call->arguments.size() != 1 || call->arguments[0].name) {
        importer.error(call->loc, "expected one argument of 'sum'");
        return false;
      }
      const Expr *argument = call->arguments[0].value;
      Degree degree = degreeAt(index, argument);
      if (degree.kind != Degree::Linear) {
        importer.error(
            degree.culprit ? degree.culprit->loc : argument->start,
            "expected an expression that is linear in the weights "
            "'" +
                weightsName + "' inside 'sum'" +
                (degree.culprit ? "" : ", but it does not depend on them"));
        return false;
      }
      SpecValue summand =
          importer.toReal(evaluateAt(index, argument), argument->start);
      if (summand.isError())
        return false;
      if (const Expr *mixed = findMixedHeads(index, argument)) {
        importer.error(mixed->loc, "expected the heads " +
                                       toString(scoreShape) +
                                       " of the weights '" + weightsName +
                                       "' to stay apart inside 'sum'; what "
                                       "mixes them stands around it");
        return false;
      }
      if (!isPrefix(scoreShape, summand.getShape())) {
        importer.error(argument->start,
                       "expected a summand whose shape begins with the "
                       "weights' " +
                           toString(scoreShape) + ", but got " +
                           toString(summand.getShape()));
        return false;
      }
      yielded.push_back(summand);
    }
    return true;
  };
  PairRegion pair;
  if (!build(pair, /*isSum=*/true, make, stmt->loc))
    return false;
  OpBuilder &builder = importer.builder;
  SmallVector<Type> types;
  for (mlir::Value value : pair.block->getTerminator()->getOperands())
    types.push_back(
        getRowType(getFeatures(value.getType()), builder.getF32Type()));
  auto op = SumOp::create(builder, locate(stmt->loc), types, weights, readable,
                          pair.inputs, getMaps(pair), lengths, rows,
                          queryLengths, queryPositions);
  op.getBody().takeBody(pair.region);
  for (auto [call, context] : llvm::zip(calls, op.getContexts()))
    sums[call.second] =
        SpecValue::getTensor(context, Element::Real, level, queryAxis);
  return true;
}

SpecValue AttentionCall::sum(const Call &call) {
  if (!region)
    if (auto found = sums.find(call.expr); found != sums.end())
      return found->second;
  return importer.fail(call.getLoc(), region && region->isSum
                                          ? "expected no 'sum' inside a 'sum'"
                                          : "expected 'sum' only in 'read'");
}
