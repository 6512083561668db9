//===- Values.cpp - arguments, constants and places of values -------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Axes.h"
#include "lowering/cpu/Passes.h"
#include "lowering/halide/Translator.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::halide;

Translator::Translator(func::FuncOp function, const AlgorithmOptions &options)
    : function(function), options(options), math(options.multiply) {
  kernel.name = function.getSymName().str();
}

/// The type of an element in memory; booleans are bytes.
static hl::Type getStoredType(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (element.isInteger(1))
    return hl::UInt(8);
  if (auto integer = dyn_cast<IntegerType>(element))
    return hl::Int(integer.getWidth());
  return hl::Float(element.getIntOrFloatBitWidth());
}

/// What an argument is in memory.
static std::optional<hl::Type> getPackedType(StringRef form) {
  if (form == "f32")
    return hl::Float(32);
  if (form == "bf16")
    return hl::UInt(16);
  if (form == "int8")
    return hl::UInt(8);
  return std::nullopt;
}

/// What an autoscheduler is told of sizes that are known at run time only.
static constexpr int64_t typicalRows = 8, typicalPositions = 32;

/// Sizes in Halide's order: features, then axes.
static SmallVector<int64_t> getTypicalSizes(Type type) {
  SmallVector<int64_t> sizes(llvm::reverse(getFeatures(type)));
  for (int64_t axis = getNumAxes(type); axis-- > 0;)
    sizes.push_back(axis == 0 ? typicalRows : typicalPositions);
  return sizes;
}

/// The same of a weight that is packed, or of rows in bytes.
static SmallVector<int64_t> getTypicalSizes(Type type, StringRef form) {
  ArrayRef<int64_t> features = getFeatures(type);
  if (form == "quantized") {
    SmallVector<int64_t> sizes = getTypicalSizes(type);
    sizes.erase(sizes.begin(), sizes.begin() + features.size());
    sizes.insert(sizes.begin(), 8 + llvm::product_of(features));
    return sizes;
  }
  int64_t numBlocks = (features[0] + numLanes - 1) / numLanes;
  int64_t numInputs = llvm::product_of(features.drop_front());
  if (form == "int8")
    return {4 * numLanes, 2 + numInputs / 4, numBlocks};
  return {numLanes, numInputs, numBlocks};
}

LogicalResult Translator::addArguments() {
  auto getIndex = [&](unsigned number, StringRef name) -> std::optional<int> {
    auto attribute = function.getArgAttrOfType<IntegerAttr>(number, name);
    return attribute ? std::optional<int>(attribute.getInt()) : std::nullopt;
  };
  std::vector<hl::ImageParam> all;
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    Type type = argument.getType();
    int dimensions = getNumAxes(type) + getFeatures(type).size();
    hl::Type stored = getStoredType(type);
    if (auto form =
            function.getArgAttrOfType<StringAttr>(number, packedAttrName)) {
      std::optional<hl::Type> packed = getPackedType(form.getValue());
      if (!packed)
        return function.emitError("expected a weight packed as f32, bf16 or "
                                  "int8 in "
                                  "argument ")
               << number << ", but got '" << form.getValue() << "'";
      stored = *packed;
      dimensions = 3;
      forms[argument] = form.getValue().str();
    } else if (auto form = function.getArgAttrOfType<StringAttr>(
                   number, quantizedAttrName)) {
      stored = hl::UInt(8);
      dimensions = getNumAxes(type) + 1;
      forms[argument] = "quantized";
    } else if (getIndex(number, slotsAttrName)) {
      --dimensions;
    } else if (getIndex(number, positionAttrName)) {
      ++dimensions;
    }
    all.emplace_back(stored, dimensions,
                     kernel.name + "_argument" + std::to_string(number));
    // What is known when the kernel is compiled: sizes of features, and that
    // rows lie one behind the other.
    if (!forms.contains(argument)) {
      int stride = 1, dimension = 0;
      // Of the bias of many outputs a part may be given.
      bool mayBePart = llvm::any_of(argument.getUses(), [](OpOperand &use) {
        auto linear = dyn_cast<LinearOp>(use.getOwner());
        return linear && linear.getBias() == use.get();
      });
      for (int64_t size : llvm::reverse(getFeatures(type))) {
        all.back().dim(dimension).set_stride(stride);
        if (!mayBePart)
          all.back().dim(dimension).set_bounds(0, static_cast<int>(size));
        stride *= size;
        ++dimension;
      }
      if (dimension > 0 && dimension < dimensions)
        all.back().dim(dimension).set_stride(stride);
    }
    for (int dimension = 0; dimension < dimensions; ++dimension)
      all.back().dim(dimension).set_min(0);
    if (auto form = forms.find(argument); form != forms.end()) {
      all.back().dim(0).set_stride(1);
      if (form->second != "quantized") {
        // Words of int8 are four bytes each.
        int size = form->second == "int8" ? 4 * numLanes : numLanes;
        all.back().dim(0).set_bounds(0, size);
        all.back().dim(1).set_stride(size);
      }
    }
    auto form = forms.find(argument);
    SmallVector<int64_t> typical = form != forms.end()
                                       ? getTypicalSizes(type, form->second)
                                       : getTypicalSizes(type);
    if (getIndex(number, slotsAttrName)) {
      typical.pop_back();
      typical.back() = typicalRows * typicalPositions;
    } else if (getIndex(number, positionAttrName)) {
      typical.insert(typical.end() - 1, typicalPositions);
    }
    for (int dimension = 0; dimension < dimensions; ++dimension)
      all.back().dim(dimension).set_estimate(
          0, static_cast<int>(typical[dimension]));
    parameters[argument] = all.back();
    kernel.arguments.push_back(all.back());
  }
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    hl::ImageParam buffer = all[number];
    unsigned numAxes = getNumAxes(argument.getType());
    // Bytes of a row are one dimension, whatever its features are.
    auto form = forms.find(argument);
    unsigned numFeatures = form != forms.end() && form->second == "quantized"
                               ? 1
                               : getFeatures(argument.getType()).size();
    bool isFlag = getElementTypeOrSelf(argument.getType()).isInteger(1);
    auto load = [=, this](Place place) -> Expr {
      // Which features there are is known when the kernel is compiled.
      if (options.clamped)
        for (size_t i = numFeatures; i < place.size(); ++i)
          place[i] = promisePlace(place[i], buffer.dim(i).extent());
      // A value of one number has no place.
      Expr element = buffer(std::move(place));
      return isFlag ? element != hl::cast<uint8_t>(0) : element;
    };
    SmallVector<Expr> sizes;
    if (std::optional<int> slots = getIndex(number, slotsAttrName)) {
      hl::ImageParam slot = all[*slots];
      elements[argument] = [=, this](const Place &place) {
        Place entry(place.begin(), place.begin() + numFeatures);
        Expr key = place[numFeatures], row = place[numFeatures + 1];
        if (options.clamped) {
          key = promisePlace(key, slot.dim(0).extent());
          row = promisePlace(row, slot.dim(1).extent());
        }
        entry.push_back(
            promisePlace(slot(key, row), buffer.dim(numFeatures).extent()));
        return load(entry);
      };
      sizes = {Expr(slot.dim(1).extent()), Expr(slot.dim(0).extent())};
    } else if (std::optional<int> positions =
                   getIndex(number, positionAttrName)) {
      hl::ImageParam position = all[*positions];
      elements[argument] = [=, this](const Place &place) {
        Place entry(place);
        Expr row = options.clamped
                       ? promisePlace(place.back(), position.dim(0).extent())
                       : place.back();
        entry.insert(
            entry.end() - 1,
            promisePlace(position(row), buffer.dim(numFeatures).extent()));
        return load(entry);
      };
      sizes = {Expr(buffer.dim(numFeatures + 1).extent())};
    } else {
      elements[argument] = load;
      for (unsigned axis = 0; axis < numAxes; ++axis)
        sizes.push_back(buffer.dim(numFeatures + numAxes - 1 - axis).extent());
    }
    argumentSizes[argument] = sizes;
  }
  return success();
}

std::string Translator::nameOf(StringRef what) {
  // Dots and dollars have a meaning of their own in names of Halide.
  std::string name =
      kernel.name + "_" + what.str() + std::to_string(numNames++);
  for (char &c : name)
    if (!isalnum(static_cast<unsigned char>(c)))
      c = '_';
  return name;
}

std::vector<Var> Translator::getAxisVars(Type type) const {
  if (pairVars)
    return *pairVars;
  // Results of one kernel share their loops over these.
  switch (getNumAxes(type)) {
  case 0:
    return {};
  case 1:
    return {Var("row")};
  case 2:
    return {Var("position"), Var("row")};
  default:
    return {Var("key"), Var("position"), Var("row")};
  }
}

Expr Translator::promisePlace(Expr place, Expr size) const {
  return options.clamped ? hl::clamp(place, 0, size - 1)
                         : hl::unsafe_promise_clamped(place, 0, size - 1);
}

std::vector<Var> Translator::getVars(Value value) {
  std::vector<Var> vars;
  for (size_t i = getFeatures(value.getType()).size(); i-- > 0;)
    vars.emplace_back("feature" + std::to_string(i));
  for (const Var &var : getAxisVars(value.getType()))
    vars.push_back(var);
  return vars;
}

Expr Translator::at(Value value, const Place &place) {
  auto known = elements.find(value);
  assert(known != elements.end() && "operations come before their users");
  return known->second(place);
}

/// A call of a function; one without dimensions has its own way.
static Expr call(const Func &func, const Place &place) {
  return place.empty() ? Expr(func()) : Expr(func(place));
}

void Translator::define(Value value, const Element &element) {
  std::vector<Var> vars = getVars(value);
  Func func(nameOf(value.getDefiningOp()
                       ? value.getDefiningOp()->getName().stripDialect()
                       : StringRef("value")));
  Place place(vars.begin(), vars.end());
  if (vars.empty())
    func() = element(place);
  else
    func(vars) = element(place);
  elements[value] = [func](const Place &place) { return call(func, place); };
}

int Translator::addStage(Func func, Stage::Kind kind, int numFeatures,
                         int numAxes, std::vector<RVar> loops) {
  kernel.stages.push_back(
      {std::move(func), kind, numFeatures, numAxes, std::move(loops)});
  return kernel.stages.size() - 1;
}

void Translator::giveTo(size_t first, int owner) {
  for (size_t i = first; i < kernel.stages.size(); ++i)
    if (static_cast<int>(i) != owner && kernel.stages[i].owner < 0)
      kernel.stages[i].owner = owner;
}

std::vector<Expr> Translator::unflatten(Expr flat, ArrayRef<int64_t> sizes) {
  std::vector<Expr> place;
  for (size_t i = sizes.size(); i-- > 0;) {
    Expr size = static_cast<int32_t>(sizes[i]);
    place.push_back(i == 0 ? flat : flat % size);
    flat = flat / size;
  }
  return place;
}

Expr Translator::flatten(const Place &place, ArrayRef<int64_t> sizes) {
  Expr flat = 0;
  for (size_t i = 0; i < sizes.size(); ++i)
    flat = flat * static_cast<int32_t>(sizes[i]) + place[sizes.size() - 1 - i];
  return hl::Internal::simplify(flat);
}

Expr Translator::getAxisSize(Value value, unsigned axis) {
  if (auto known = argumentSizes.find(value); known != argumentSizes.end())
    return known->second[axis];
  Operation *op = value.getDefiningOp();
  if (auto toRows = dyn_cast<ToRowsOp>(op))
    return axis == 0 ? getAxisSize(toRows.getRows(), 0)
                     : getAxisSize(toRows.getInput(), axis);
  if (isa<FirstOp, LastOp, MeanOp>(op))
    return getAxisSize(op->getOperand(0), 0);
  int stride = 1;
  if (isa<PairsOp>(op))
    stride = 2;
  else if (auto convolution = dyn_cast<Conv1dOp>(op))
    stride = convolution.getStride();
  if (stride > 1) {
    Expr size = getAxisSize(op->getOperand(0), axis);
    return axis == 1 ? (size + (stride - 1)) / stride : size;
  }
  if (auto pair = dyn_cast<PairOpInterface>(op)) {
    if (axis == 0)
      return getAxisSize(pair.getRows() ? pair.getRows() : pair.getLengths(),
                         0);
    bool isQuery = axis == 1 && pair.hasQueryAxis();
    for (auto [index, input] : llvm::enumerate(pair.getInputs()))
      if (pair.indexes(index,
                       isQuery ? PairOpInterface::Query : PairOpInterface::Key))
        return getAxisSize(input, 1);
  }
  for (Value operand : op->getOperands())
    if (getNumAxes(operand.getType()) == getNumAxes(value.getType()))
      return getAxisSize(operand, axis);
  llvm_unreachable("a value with axes has an operand with them");
}

LogicalResult Translator::translate(Block &block) {
  for (Operation &op : block.without_terminator()) {
    size_t first = kernel.stages.size();
    if (failed(translate(&op)))
      return failure();
    stagesOf[&op] = {first, kernel.stages.size()};
  }
  return success();
}

LogicalResult Translator::translate(Operation *op) {
  if (translateElementwise(op) || translateRedirect(op))
    return success();
  LogicalResult translated =
      llvm::TypeSwitch<Operation *, LogicalResult>(op)
          .Case<ReadOp, ScoreOp, LinearOp, Conv1dOp>(
              [&](auto concrete) { return translate(concrete); })
          .Default([&](Operation *op) { return translateFeatures(op); });
  if (failed(translated) || pairVars)
    return translated;
  // What other operations go on with is stored before.
  for (Value result : op->getResults()) {
    if (results.contains(result) ||
        llvm::all_of(result.getUsers(), llvm::IsaPred<func::ReturnOp>))
      continue;
    Func stored = store(result);
    bool isFlag = getElementTypeOrSelf(result.getType()).isInteger(1);
    elements[result] = [=](const Place &place) -> Expr {
      Expr element = call(stored, place);
      return isFlag ? element != hl::cast<uint8_t>(0) : element;
    };
  }
  return success();
}

FailureOr<Kernel> Translator::run() {
  if (failed(addArguments()) || failed(translate(function.front())))
    return failure();
  // Results are stages of their own: what is computed is what is stored.
  kernel.firstFinal = kernel.stages.size();
  OperandRange returned = function.front().getTerminator()->getOperands();
  for (auto [number, result] : llvm::enumerate(returned)) {
    auto made = results.find(result);
    if (made == results.end()) {
      kernel.results.push_back(store(result));
    } else if (!kernel.isResult(made->second)) {
      // What is made together stands together.
      Func func = made->second;
      Operation *op = result.getDefiningOp();
      unsigned first = cast<OpResult>(result).getResultNumber();
      for (int i = 0; i < func.outputs(); ++i)
        if (number + i >= returned.size() ||
            returned[number + i] != op->getResult(first + i) ||
            !results.contains(returned[number + i]) ||
            results.find(returned[number + i])->second.name() != func.name())
          return op->emitOpError(
              "expected results of the kernel in the order of "
              "this operation's");
      kernel.results.push_back(func);
    }
    hl::Region estimates;
    for (int64_t size : getTypicalSizes(result.getType()))
      estimates.emplace_back(0, static_cast<int>(size));
    if (!estimates.empty())
      kernel.results.back().set_estimates(estimates);
    // Who calls a kernel may divide it by rows, and a product by its outputs,
    // in blocks of lanes; what else features have is known here.
    ArrayRef<int64_t> features = getFeatures(result.getType());
    if (features.empty())
      continue;
    hl::OutputImageParam buffer = kernel.results.back().output_buffer();
    bool isProduct =
        isa_and_present<LinearOp, Conv1dOp>(result.getDefiningOp());
    int stride = 1;
    for (size_t i = 0; i < features.size(); ++i) {
      int size = features[features.size() - 1 - i];
      buffer.dim(i).set_stride(stride);
      stride *= size;
      if (!isProduct || features.size() > 1)
        buffer.dim(i).set_bounds(0, size);
      else
        buffer.dim(i).set_min(buffer.dim(i).min() / numLanes * numLanes);
    }
  }
  return std::move(kernel);
}

Func Translator::store(Value value) {
  std::vector<Var> vars = getVars(value);
  bool isFlag = getElementTypeOrSelf(value.getType()).isInteger(1);
  Func stored(nameOf("result"));
  Place place(vars.begin(), vars.end());
  Expr element = at(value, place);
  if (isFlag)
    element = hl::cast<uint8_t>(element);
  if (vars.empty())
    stored() = element;
  else
    stored(vars) = element;
  ArrayRef<int64_t> features = getFeatures(value.getType());
  int stage = addStage(stored, Stage::Kind::Result, features.size(),
                       getNumAxes(value.getType()));
  kernel.stages[stage].width = features.empty() ? 0 : features.back();
  return stored;
}

FailureOr<Kernel>
mlir::attn::halide::translateKernel(func::FuncOp function,
                                    const AlgorithmOptions &options) {
  return Translator(function, options).run();
}
