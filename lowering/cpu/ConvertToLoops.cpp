//===- ConvertToLoops.cpp - a model as three functions over buffers -------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes `prepare`, `encode` and `step` from an attn.model. Which buffers each
// takes, and in what order, follows from what the code needs; an attribute of
// the function says it to whoever writes the description. A function of tensors
// becomes one over memrefs.
//
//===----------------------------------------------------------------------===//

#include "dialect/Axes.h"
#include "lowering/cpu/AxisTable.h"
#include "lowering/cpu/Bfloat16.h"
#include "lowering/cpu/Emitter.h"
#include "lowering/cpu/Passes.h"
#include "lowering/cpu/QuantizedProduct.h"
#include "runtime/compiled_model.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CONVERTTOLOOPS
#include "lowering/cpu/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// What parameters alone determine, computed once by `prepare`: the weights of
/// products, packed, and other values as they are.
class PreparedValues {
public:
  struct Entry {
    Value value;
    /// Of a packed weight; a plain value has no outputs.
    int64_t numOutputs, numInputs;
    Precision precision = Precision::F32;

    bool isPacked() const { return numOutputs > 0; }
  };

  unsigned addPacked(Value weight, int64_t numOutputs, int64_t numInputs,
                     Precision precision) {
    return add({weight, numOutputs, numInputs, precision});
  }
  unsigned addPlain(Value value) { return add({value, 0, 0}); }

  ArrayRef<Entry> getEntries() const { return entries; }

private:
  /// Programs name what they need in values of their own: the same expression
  /// over the same parameters is the same value.
  static std::string describe(Value value) {
    std::string text;
    llvm::raw_string_ostream os(text);
    Operation *op = value.getDefiningOp();
    os << op->getName() << op->getAttrDictionary() << value.getType() << '(';
    for (Value operand : op->getOperands())
      os << describe(operand) << ',';
    os << ')';
    return text;
  }

  unsigned add(Entry entry) {
    std::string key = describe(entry.value) + " packed " +
                      std::to_string(entry.numOutputs) + " x " +
                      std::to_string(entry.numInputs) + " " +
                      stringifyPrecision(entry.precision).str();
    auto [place, isNew] = places.try_emplace(key, entries.size());
    if (isNew)
      entries.push_back(entry);
    return place->second;
  }

  SmallVector<Entry> entries;
  llvm::StringMap<unsigned> places;
};

/// Writes weights into blocks of 16 outputs (see getPackedShape).
class Packer {
public:
  Packer(Emitter &emitter, const PreparedValues::Entry &entry, Buffer out)
      : emitter(emitter), b(emitter.getBuilder()), entry(entry), out(out) {}

  LogicalResult run() {
    if (entry.numOutputs % numLanes != 0) {
      // Beyond the last output stand zeros.
      Value last = emitter.constant(entry.numOutputs / numLanes);
      Value zero = emitter.splat(emitter.constantF32(0));
      emitter.forEach(emitter.constant(entry.numInputs), [&](Value input) {
        emitter.store(out,
                      {.axes = {},
                       .features = {last, input, emitter.constant(0)},
                       .isVector = true},
                      zero);
      });
    }
    return pack(entry.value, entry.numOutputs, entry.numInputs, 0, 0);
  }

private:
  /// Packs a part of the weight whose outputs and inputs begin where they say.
  LogicalResult pack(Value part, int64_t numOutputs, int64_t numInputs,
                     int64_t firstOutput, int64_t firstInput) {
    ArrayRef<int64_t> features = getFeatures(part.getType());
    // How many of the features are outputs.
    size_t split = 0;
    for (int64_t product = 1; product < numOutputs; ++split)
      product *= features[split];
    // What lies side by side is packed from where it is, without a copy of the
    // whole.
    if (auto concat = part.getDefiningOp<ConcatOp>();
        concat && !emitter.lookupBuffer(part)) {
      size_t number = concat.getFeatureNumber();
      bool stacksOutputs = number == 0 && split > 0;
      bool stacksInputs =
          number + 1 == features.size() && split + 1 == features.size();
      if (stacksOutputs || stacksInputs) {
        for (Value input : concat.getInputs()) {
          int64_t size = getFeatures(input.getType())[number];
          int64_t outputs =
              stacksOutputs ? numOutputs / features[0] * size : numOutputs;
          if (failed(pack(input, outputs, stacksOutputs ? numInputs : size,
                          firstOutput, firstInput)))
            return failure();
          (stacksOutputs ? firstOutput : firstInput) +=
              stacksOutputs ? outputs : size;
        }
        return success();
      }
    }
    if (failed(emitter.emitExpression(part)))
      return failure();
    SmallVector<Value> sizes;
    for (int64_t size : features)
      sizes.push_back(emitter.constant(size));
    emitter.forEach(sizes, [&](ArrayRef<Value> place) {
      Value output = flatten(place.take_front(split),
                             features.take_front(split), firstOutput);
      Value input = flatten(place.drop_front(split), features.drop_front(split),
                            firstInput);
      Value lanes = emitter.constant(numLanes);
      ElementIndex from, to;
      from.features.assign(place.begin(), place.end());
      to.features = {arith::DivUIOp::create(b, output, lanes), input,
                     arith::RemUIOp::create(b, output, lanes)};
      emitter.store(out, to, emitter.evaluate(part, from));
    });
    return success();
  }

  /// The place of an element among those of the features, counted from `first`.
  Value flatten(ArrayRef<Value> place, ArrayRef<int64_t> sizes, int64_t first) {
    Value flat = emitter.constant(0);
    for (auto [index, size] : llvm::zip(place, sizes))
      flat = arith::AddIOp::create(
          b, arith::MulIOp::create(b, flat, emitter.constant(size)), index);
    return arith::AddIOp::create(b, flat, emitter.constant(first));
  }

  Emitter &emitter;
  ImplicitLocOpBuilder &b;
  PreparedValues::Entry entry;
  Buffer out;
};

/// Makes the packed forms of weights, of whatever precision.
class WeightWriter {
public:
  explicit WeightWriter(Emitter &emitter)
      : emitter(emitter), b(emitter.getBuilder()) {}

  LogicalResult write(const PreparedValues::Entry &entry, Buffer out) {
    if (entry.precision == Precision::F32)
      return Packer(emitter, entry, out).run();
    Buffer packed = getScratch(entry.numOutputs, entry.numInputs);
    if (failed(Packer(emitter, entry, packed).run()))
      return failure();
    auto function = emitter.getFunction();
    auto module = function->getParentOfType<ModuleOp>();
    constexpr int64_t any = ShapedType::kDynamic;
    auto asAny = [&](Buffer buffer) -> Value {
      return memref::CastOp::create(
          b,
          MemRefType::get({any, any, numLanes}, getElementTypeOrSelf(buffer)),
          buffer);
    };
    func::CallOp::create(b,
                         entry.precision == Precision::BF16
                             ? getOrCreateWeightRounder(module)
                             : getOrCreateWeightQuantizer(module),
                         ValueRange{asAny(packed), asAny(out)});
    return success();
  }

  /// Says that weights of `size` numbers will be written. They all pass through
  /// one buffer, as large as the largest.
  void reserve(int64_t size) { scratchSize = std::max(scratchSize, size); }

private:
  Buffer getScratch(int64_t numOutputs, int64_t numInputs) {
    SmallVector<int64_t> shape = getPackedShape(numOutputs, numInputs);
    auto type = MemRefType::get(shape, b.getF32Type());
    reserve(type.getNumElements());
    if (!scratch ||
        cast<MemRefType>(scratch.getType()).getNumElements() < scratchSize)
      scratch = emitter.allocateBuffer(
          MemRefType::get({scratchSize}, b.getF32Type()), {});
    SmallVector<int64_t> strides = {shape[1] * shape[2], shape[2], 1};
    return memref::ReinterpretCastOp::create(b, type, scratch, 0, shape,
                                             strides);
  }

  Emitter &emitter;
  ImplicitLocOpBuilder &b;
  int64_t scratchSize = 0;
  Buffer scratch;
};

/// Makes `emitter` pack weights where it needs them; `status` says whether that
/// works.
void packInPlace(Emitter &emitter, LogicalResult &status) {
  emitter.packedWeight = [&](Value weight, int64_t numOutputs,
                             int64_t numInputs, Precision precision) -> Buffer {
    Buffer packed = emitter.allocateBuffer(
        getPackedType(precision, numOutputs, numInputs, emitter.getBuilder()),
        {});
    if (failed(WeightWriter(emitter).write(
            {weight, numOutputs, numInputs, precision}, packed)))
      status = failure();
    return packed;
  };
}

/// Rewrites a function of tensors over buffers: its arguments, then its
/// results as arguments to write to. Weights are packed at every call.
class FunctionConverter {
public:
  FunctionConverter(func::FuncOp source, const ProductOptions &products)
      : source(source), products(products) {}

  LogicalResult run() {
    OpBuilder moduleBuilder(source);
    Builder builder(source.getContext());
    SmallVector<Type> types;
    for (Type type : source.getArgumentTypes())
      types.push_back(getBufferType(type));
    for (Type type : source.getResultTypes())
      types.push_back(getBufferType(type));
    auto function = func::FuncOp::create(moduleBuilder, source.getLoc(),
                                         source.getSymName(),
                                         builder.getFunctionType(types, {}));
    function->setAttr("llvm.emit_c_interface", builder.getUnitAttr());
    Block *entry = function.addEntryBlock();
    Emitter emitter(function);
    emitter.products = products;
    ImplicitLocOpBuilder &b = emitter.getBuilder();
    for (auto [argument, buffer] :
         llvm::zip(source.getArguments(), entry->getArguments())) {
      emitter.setBuffer(argument, buffer);
      SmallVector<Value> sizes;
      for (unsigned axis = 0; axis < getNumAxes(argument.getType()); ++axis)
        sizes.push_back(memref::DimOp::create(b, buffer, axis));
      emitter.setAxisSizes(argument, sizes);
    }
    LogicalResult packable = success();
    packInPlace(emitter, packable);
    Block &body = source.front();
    // A result goes where it belongs at once, unless it is there already.
    SmallVector<std::pair<Value, Buffer>> copies;
    for (auto [result, buffer] :
         llvm::zip(body.getTerminator()->getOperands(),
                   entry->getArguments().take_back(source.getNumResults()))) {
      if (result.getDefiningOp() && !emitter.lookupBuffer(result))
        emitter.setBuffer(result, buffer);
      else
        copies.push_back({result, buffer});
    }
    if (failed(emitter.emitBlock(body)) || failed(packable))
      return failure();
    for (auto [result, buffer] : copies)
      emitter.materialize(result, buffer);
    for (auto alloc : entry->getOps<memref::AllocOp>())
      memref::DeallocOp::create(b, alloc);
    func::ReturnOp::create(b);
    source.erase();
    return success();
  }

private:
  static MemRefType getBufferType(Type type) {
    Type element = getElementTypeOrSelf(type);
    if (element.isInteger(1))
      element = IntegerType::get(type.getContext(), 8);
    auto tensor = dyn_cast<RankedTensorType>(type);
    return MemRefType::get(tensor ? tensor.getShape() : ArrayRef<int64_t>(),
                           element);
  }

  func::FuncOp source;
  ProductOptions products;
};

/// A dimension of a buffer, as the description writes it.
using Dim = Attribute;

/// One program under construction. Arguments come into being when the code asks
/// for them.
class Program {
public:
  Program(ModelOp model, StringRef name, const AxisTable &axes,
          PreparedValues &prepared, const ProductOptions &products)
      : model(model), prepared(prepared), builder(model.getContext()) {
    auto module = model->getParentOfType<ModuleOp>();
    OpBuilder moduleBuilder = OpBuilder::atBlockEnd(module.getBody());
    function = func::FuncOp::create(moduleBuilder, model.getLoc(), name,
                                    builder.getFunctionType({}, {}));
    Block *entry = function.addEntryBlock();
    // The extents, as runtime/compiled_model.h numbers them.
    for (int64_t i = 0; i < ATTN_EXTENT_AXIS + axes.size(); ++i)
      entry->addArgument(builder.getIndexType(), model.getLoc());
    emitter.emplace(function);
    emitter->products = products;
    // This may be run by several threads.
    if (name == "step" && !products.device)
      emitter->shares = function.getArgument(ATTN_EXTENT_SHARES);
    emitter->parameterBuffer = [this](GetParameterOp op) {
      return getParameter(op);
    };
    emitter->packedWeight = [this](Value weight, int64_t numOutputs,
                                   int64_t numInputs,
                                   Precision precision) -> Buffer {
      unsigned index =
          this->prepared.addPacked(weight, numOutputs, numInputs, precision);
      SmallVector<Dim> dims;
      MemRefType type =
          getPackedType(precision, numOutputs, numInputs, builder);
      for (int64_t size : type.getShape())
        dims.push_back(builder.getI64IntegerAttr(size));
      return getArgument("prepared", index, type.getElementType(), dims);
    };
    emitter->history = [this](PastOp op) -> Emitter::History {
      Buffer slots =
          getArgument("slot", 0, builder.getI32Type(), {rowsDim(), pastDim()});
      Type type = withNumAxes(op.getInput().getType(), 1);
      return {slots, getArgumentFor("past", numPasts++, type, {slotsDim()}),
              getPastExtent()};
    };
    emitter->preparedValue = [this](Value value) {
      return getArgumentFor("prepared", this->prepared.addPlain(value),
                            value.getType(), {});
    };
  }

  Emitter &getEmitter() { return *emitter; }
  Value getSentences() { return function.getArgument(ATTN_EXTENT_SENTENCES); }
  Value getRows() { return function.getArgument(ATTN_EXTENT_ROWS); }
  Value getPastExtent() { return function.getArgument(ATTN_EXTENT_PAST); }
  Value getBestExtent() { return function.getArgument(ATTN_EXTENT_BEST); }
  Value getOutputsExtent() { return function.getArgument(ATTN_EXTENT_OUTPUTS); }
  Value getAxisExtent(int64_t axis) {
    return function.getArgument(ATTN_EXTENT_AXIS + axis);
  }

  Dim sentencesDim() { return builder.getStringAttr("sentences"); }
  Dim rowsDim() { return builder.getStringAttr("rows"); }
  Dim pastDim() { return builder.getStringAttr("past"); }
  Dim slotsDim() { return builder.getStringAttr("slots"); }
  Dim bestDim() { return builder.getStringAttr("best"); }
  Dim outputsDim() { return builder.getStringAttr("outputs"); }
  Dim axisDim(int64_t axis) {
    return builder.getStringAttr("axis" + std::to_string(axis));
  }

  /// The argument with this role and index, added if it is new.
  Buffer getArgument(StringRef role, int64_t index, Type element,
                     ArrayRef<Dim> dims, StringRef name = "") {
    auto key = std::make_pair(role.str(), index);
    if (Buffer known = arguments[key])
      return known;
    SmallVector<int64_t> shape;
    for (Dim dim : dims) {
      auto size = dyn_cast<IntegerAttr>(dim);
      shape.push_back(size ? size.getInt() : ShapedType::kDynamic);
    }
    SmallVector<NamedAttribute> entries = {
        builder.getNamedAttr("role", builder.getStringAttr(role)),
        builder.getNamedAttr("index", builder.getI64IntegerAttr(index)),
        builder.getNamedAttr("type", TypeAttr::get(element)),
        builder.getNamedAttr("dims", builder.getArrayAttr(dims))};
    if (!name.empty())
      entries.push_back(
          builder.getNamedAttr("name", builder.getStringAttr(name)));
    bufferAttributes.push_back(builder.getDictionaryAttr(entries));
    return arguments[key] = function.front().addArgument(
               MemRefType::get(shape, element), model.getLoc());
  }

  /// The argument for a value of `type` whose axes have the given dimensions.
  Buffer getArgumentFor(StringRef role, int64_t index, Type type,
                        ArrayRef<Dim> axisDims) {
    SmallVector<Dim> dims(axisDims);
    for (int64_t size : getFeatures(type))
      dims.push_back(builder.getI64IntegerAttr(size));
    return getArgument(role, index, getElementTypeOrSelf(type), dims);
  }

  Buffer getParameter(GetParameterOp op) {
    int64_t index = 0;
    for (auto parameter : model.getBody().getOps<ParameterOp>()) {
      if (parameter.getSymName() == op.getParameter())
        return getArgumentFor("parameter", index, parameter.getType(), {});
      ++index;
    }
    llvm_unreachable("symbol uses are verified");
  }

  /// Says where results go before the operations that make them are emitted. A
  /// value that has a place already is copied at the end.
  void addOutput(Value value, Buffer buffer) {
    if (value.getDefiningOp() && !emitter->lookupBuffer(value))
      emitter->setBuffer(value, buffer);
    else
      copies.push_back({value, buffer});
  }

  /// Makes outputs of the values that `block` observes, numbered from `index`.
  /// `numberOf` gives the axis of the model that lengths belong to.
  LogicalResult addObserved(Block &block, int64_t index, Dim rows,
                            function_ref<int64_t(Value)> numberOf) {
    for (auto op : block.getOps<ObserveOp>()) {
      SmallVector<Dim> dims = {rows};
      for (Value lengths : op.getLengths()) {
        int64_t axis = numberOf(lengths);
        if (axis < 0)
          return op.emitError("expected a value on sequences of the encoder "
                              "to observe, but got '")
                 << op.getPath() << "' on another one";
        dims.push_back(axisDim(axis));
      }
      Type type = op.getValue().getType();
      for (int64_t size : getFeatures(type))
        dims.push_back(builder.getI64IntegerAttr(size));
      addOutput(op.getValue(),
                getArgument("observed", index++, getElementTypeOrSelf(type),
                            dims, op.getPath()));
    }
    return success();
  }

  LogicalResult emit(Block &block) { return emitter->emitBlock(block); }

  /// Says of a product that was emitted that other buffers, of fewer outputs,
  /// may take the place of its weights and its bias, if nothing else uses
  /// these.
  void markOutputs(LinearOp linear) {
    if (!linear.getElements().empty())
      return;
    Value weight = emitter->resolve(linear.getWeight());
    unsigned number = prepared.addPacked(
        weight, getNumFeatureElements(linear.getResult().getType()),
        getNumFeatureElements(linear.getInput().getType()),
        emitter->products.precision);
    SmallVector<Buffer, 2> buffers = {arguments[{"prepared", number}]};
    if (Value bias = linear.getBias()) {
      auto parameter = bias.getDefiningOp<GetParameterOp>();
      buffers.push_back(parameter ? getParameter(parameter)
                                  : emitter->lookupBuffer(bias));
    }
    for (Buffer buffer : buffers)
      if (!isa_and_present<BlockArgument>(buffer) || !buffer.hasOneUse())
        return;
    size_t numExtents =
        function.front().getNumArguments() - bufferAttributes.size();
    for (Buffer buffer : buffers) {
      Attribute &attribute =
          bufferAttributes[cast<BlockArgument>(buffer).getArgNumber() -
                           numExtents];
      NamedAttrList entries(cast<DictionaryAttr>(attribute));
      entries.append("outputs", builder.getUnitAttr());
      attribute = entries.getDictionary(builder.getContext());
    }
  }

  /// Emits the block and ends the function.
  LogicalResult finish(Block *block) {
    if (block && failed(emitter->emitBlock(*block)))
      return failure();
    for (auto [value, buffer] : copies)
      emitter->materialize(value, buffer);
    end();
    return success();
  }

  void end() {
    func::ReturnOp::create(emitter->getBuilder());
    function.setFunctionType(
        builder.getFunctionType(function.front().getArgumentTypes(), {}));
    function->setAttr(programAttrName, builder.getArrayAttr(bufferAttributes));
  }

private:
  ModelOp model;
  PreparedValues &prepared;
  Builder builder;
  func::FuncOp function;
  std::optional<Emitter> emitter;
  std::map<std::pair<std::string, int64_t>, Buffer> arguments;
  SmallVector<Attribute> bufferAttributes;
  SmallVector<std::pair<Value, Buffer>> copies;
  int64_t numPasts = 0;
};

struct ConvertToLoops : attn::impl::ConvertToLoopsBase<ConvertToLoops> {
  using ConvertToLoopsBase::ConvertToLoopsBase;

  void runOnOperation() override {
    if (device && external) {
      getOperation().emitError(
          "expected kernels of the CPU for another compiler, but got 'device'");
      return signalPassFailure();
    }
    SmallVector<func::FuncOp> functions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (llvm::any_of(llvm::concat<const Type>(function.getArgumentTypes(),
                                                function.getResultTypes()),
                       llvm::IsaPred<TensorType>))
        functions.push_back(function);
    for (func::FuncOp function : functions)
      if (failed(FunctionConverter(function, getProducts()).run()))
        return signalPassFailure();

    SmallVector<ModelOp> models(getOperation().getOps<ModelOp>());
    if (models.empty())
      return;
    if (models.size() > 1) {
      models[1].emitError("expected one model in a library, but got another");
      return signalPassFailure();
    }
    ModelOp model = models[0];
    AxisTable axes(model.getEncoder());
    PreparedValues prepared;
    if (failed(emitEncode(model, axes, prepared)) ||
        failed(emitStep(model, axes, prepared)) ||
        failed(emitForce(model, axes, prepared)) ||
        failed(emitPrepare(model, axes, prepared)))
      return signalPassFailure();
    model.erase();
  }

  ProductOptions getProducts() {
    return {precision, byteDot, device, external};
  }

  LogicalResult emitEncode(ModelOp model, const AxisTable &axes,
                           PreparedValues &prepared) {
    Program program(model, "encode", axes, prepared, getProducts());
    EncoderOp encoder = model.getEncoder();
    if (!encoder)
      return program.finish(nullptr);
    Emitter &emitter = program.getEmitter();
    Block &block = encoder.getBody().front();
    size_t numInputs = encoder.getInputs().size();
    for (auto [index, argument] : llvm::enumerate(block.getArguments())) {
      bool isInput = index < numInputs;
      int64_t axis = isInput ? encoder.getInputAxes()[index]
                             : static_cast<int64_t>(index - numInputs);
      SmallVector<Dim> dims = {program.sentencesDim()};
      SmallVector<Value> sizes = {program.getSentences()};
      if (isInput) {
        dims.push_back(program.axisDim(axis));
        sizes.push_back(program.getAxisExtent(axis));
      }
      emitter.setBuffer(argument,
                        program.getArgumentFor(isInput ? "input" : "length",
                                               isInput ? index : axis,
                                               argument.getType(), dims));
      emitter.setAxisSizes(argument, sizes);
    }
    EncodedOp encoded = encoder.getEncoded();
    for (auto [index, memory] : llvm::enumerate(encoded.getMemory())) {
      SmallVector<Dim> dims = {program.sentencesDim()};
      if (int64_t axis = encoded.getAxes()[index]; axis >= 0)
        dims.push_back(
            program.axisDim(axes.getNumber(encoded.getLengths()[axis])));
      program.addOutput(memory, program.getArgumentFor("memory", index,
                                                       memory.getType(), dims));
    }
    for (auto [index, lengths] : llvm::enumerate(encoded.getLengths()))
      program.addOutput(lengths, program.getArgumentFor(
                                     "memory_length", index, lengths.getType(),
                                     {program.sentencesDim()}));
    // A first value is known by the number of its state.
    DecoderOp decoder = model.getDecoder();
    size_t next = 0;
    for (auto [index, zero] : llvm::enumerate(decoder.getZeroStates())) {
      if (zero)
        continue;
      Value value = encoded.getInitial()[next++];
      program.addOutput(
          value, program.getArgumentFor("initial_state", index, value.getType(),
                                        {program.sentencesDim()}));
    }
    if (failed(program.addObserved(block, 0, program.sentencesDim(),
                                   [&](Value lengths) {
                                     int64_t axis = axes.getNumber(lengths);
                                     return axis < axes.size() ? axis : -1;
                                   })))
      return failure();
    return program.finish(&block);
  }

  LogicalResult emitStep(ModelOp model, const AxisTable &axes,
                         PreparedValues &prepared) {
    Program program(model, "step", axes, prepared, getProducts());
    DecoderOp decoder = model.getDecoder();
    Emitter &emitter = program.getEmitter();
    /// The axis of the model behind memory axis `axis` of the decoder.
    auto axisOf = [&](int64_t axis) {
      return axes.getNumber(model.getEncoder().getEncoded().getLengths()[axis]);
    };
    auto bind = [&](Value argument, StringRef role, int64_t index, bool perRow,
                    int64_t axis) {
      SmallVector<Dim> dims = {perRow ? program.rowsDim()
                                      : program.sentencesDim()};
      SmallVector<Value> sizes = {perRow ? program.getRows()
                                         : program.getSentences()};
      if (axis >= 0) {
        dims.push_back(program.axisDim(axisOf(axis)));
        sizes.push_back(program.getAxisExtent(axisOf(axis)));
      }
      emitter.setBuffer(argument, program.getArgumentFor(
                                      role, index, argument.getType(), dims));
      emitter.setAxisSizes(argument, sizes);
    };
    bind(decoder.getToken(), decoder.emitsFeatures() ? "frame" : "token", 0,
         true, -1);
    bind(decoder.getPosition(), "position", 0, true, -1);
    bind(decoder.getSentence(), "sentence", 0, true, -1);
    for (auto [index, argument] : llvm::enumerate(decoder.getMemoryArguments()))
      bind(argument, "memory", index, false, decoder.getMemoryAxes()[index]);
    for (auto [index, argument] : llvm::enumerate(decoder.getLengthArguments()))
      bind(argument, "memory_length", index, false, -1);
    for (auto [index, argument] : llvm::enumerate(decoder.getStateArguments()))
      bind(argument, "state", index, true, decoder.getStateAxes()[index]);

    PredictOp predict = decoder.getPredict();
    auto output = [&](Value value, StringRef role, int64_t index,
                      int64_t axis) {
      SmallVector<Dim> dims = {program.rowsDim()};
      if (axis >= 0)
        dims.push_back(program.axisDim(axisOf(axis)));
      program.addOutput(
          value, program.getArgumentFor(role, index, value.getType(), dims));
    };
    if (isRanked(decoder))
      program.addOutput(
          predict.getLogits(),
          program.getArgument("logits", 0, Float32Type::get(model.getContext()),
                              {program.rowsDim(), program.outputsDim()}));
    else
      output(predict.getLogits(),
             decoder.emitsFeatures() ? "next_frame" : "logits", 0,
             decoder.getTargetAxis()
                 ? static_cast<int64_t>(*decoder.getTargetAxis())
                 : -1);
    if (predict.getStop())
      output(predict.getStop(), "stop", 0, -1);
    for (auto [index, state] : llvm::enumerate(predict.getStates()))
      output(state, "next_state", index, decoder.getStateAxes()[index]);
    if (predict.getWeights())
      output(predict.getWeights(), "weights", 0, *predict.getAlignAxis());
    if (isRanked(decoder)) {
      int64_t size = getFeatures(predict.getLogits().getType()).back();
      Builder builder(model.getContext());
      Type f32 = builder.getF32Type();
      SmallVector<Dim> best = {program.rowsDim(), program.bestDim()};
      emitter.ranking = {
          predict.getLogits(),
          program.getOutputsExtent(),
          program.getBestExtent(),
          program.getArgument("best_logit", 0, f32, best),
          program.getArgument("best_token", 0, builder.getI32Type(), best),
          program.getArgument("chunk_sum", 0, f32,
                              {program.rowsDim(), builder.getI64IntegerAttr(2),
                               builder.getI64IntegerAttr(getNumChunks(size))})};
    }
    auto lengthArguments = decoder.getLengthArguments();
    int64_t numObserved = 0; // by the encoder
    if (EncoderOp encoder = model.getEncoder())
      numObserved = llvm::range_size(encoder.getBody().getOps<ObserveOp>());
    if (failed(program.addObserved(
            decoder.getBody().front(), numObserved, program.rowsDim(),
            [&](Value lengths) -> int64_t {
              auto found = llvm::find(lengthArguments, lengths);
              return found == lengthArguments.end()
                         ? -1
                         : axisOf(found - lengthArguments.begin());
            })))
      return failure();
    if (failed(program.emit(decoder.getBody().front())))
      return failure();
    if (isRanked(decoder))
      program.markOutputs(predict.getLogits().getDefiningOp<LinearOp>());
    return program.finish(nullptr);
  }

  /// Whether the step can say of its logits the best ones only: they are a
  /// product over a vocabulary that nothing else needs.
  static bool isRanked(DecoderOp decoder) {
    Value logits = decoder.getPredict().getLogits();
    return decoder.getVocabulary() && logits.hasOneUse() &&
           isa_and_present<LinearOp>(logits.getDefiningOp());
  }

  /// The decoder over whole targets, where the model has it.
  LogicalResult emitForce(ModelOp model, const AxisTable &axes,
                          PreparedValues &prepared) {
    Program program(model, "force", axes, prepared, getProducts());
    auto forms = model.getBody().getOps<ParallelDecoderOp>();
    if (forms.empty())
      return program.finish(nullptr);
    ParallelDecoderOp parallel = *forms.begin();
    DecoderOp decoder = model.getDecoder();
    Emitter &emitter = program.getEmitter();
    auto bind = [&](Value argument, StringRef role, int64_t index,
                    ArrayRef<Dim> dims, ArrayRef<Value> sizes) {
      emitter.setBuffer(argument, program.getArgumentFor(
                                      role, index, argument.getType(), dims));
      emitter.setAxisSizes(argument, sizes);
    };
    auto axisOf = [&](int64_t axis) {
      return axes.getNumber(model.getEncoder().getEncoded().getLengths()[axis]);
    };
    Dim rows = program.rowsDim(), sentences = program.sentencesDim();
    Value numRows = program.getRows();
    bind(parallel.getTokens(), "token", 0, {rows, program.pastDim()},
         {numRows, program.getPastExtent()});
    bind(parallel.getTargetLengths(), "target_length", 0, {rows}, {numRows});
    bind(parallel.getSentence(), "sentence", 0, {rows}, {numRows});
    size_t numMemories = decoder.getMemories().size();
    for (auto [index, argument] :
         llvm::enumerate(parallel.getMemoryArguments())) {
      bool isLength = index >= numMemories;
      SmallVector<Dim> dims = {sentences};
      SmallVector<Value> sizes = {program.getSentences()};
      int64_t axis = isLength ? -1 : decoder.getMemoryAxes()[index];
      if (axis >= 0) {
        dims.push_back(program.axisDim(axisOf(axis)));
        sizes.push_back(program.getAxisExtent(axisOf(axis)));
      }
      bind(argument, isLength ? "memory_length" : "memory",
           isLength ? index - numMemories : index, dims, sizes);
    }
    Block &block = parallel.getBody().front();
    ValueRange results = block.getTerminator()->getOperands();
    SmallVector<Dim> positions = {rows, program.pastDim()};
    program.addOutput(
        results[0],
        program.getArgumentFor("logits", 0, results[0].getType(), positions));
    if (results.size() > 1) {
      positions.push_back(
          program.axisDim(axisOf(*decoder.getPredict().getAlignAxis())));
      program.addOutput(results[1], program.getArgumentFor("weights", 0,
                                                           results[1].getType(),
                                                           positions));
    }
    return program.finish(&block);
  }

  LogicalResult emitPrepare(ModelOp model, const AxisTable &axes,
                            PreparedValues &prepared) {
    Program program(model, "prepare", axes, prepared, getProducts());
    Emitter &emitter = program.getEmitter();
    // Here everything is computed, into what is an argument of the others.
    auto packedWeight = std::move(emitter.packedWeight);
    auto preparedValue = std::move(emitter.preparedValue);
    LogicalResult packable = success();
    packInPlace(emitter, packable);
    emitter.preparedValue = nullptr;
    // Weights that are products of weights are rounded once, at the end; and
    // this program is one of the CPU in any case.
    emitter.products = {};
    WeightWriter writer(emitter);
    for (const PreparedValues::Entry &entry : prepared.getEntries())
      if (entry.isPacked())
        writer.reserve(llvm::product_of(
            getPackedShape(entry.numOutputs, entry.numInputs)));
    for (const PreparedValues::Entry &entry : prepared.getEntries()) {
      LogicalResult emitted =
          entry.isPacked()
              ? writer.write(entry,
                             packedWeight(entry.value, entry.numOutputs,
                                          entry.numInputs, entry.precision))
              : emitter.emitExpression(entry.value, preparedValue(entry.value));
      if (failed(emitted) || failed(packable))
        return failure();
    }
    program.end();
    return success();
  }
};

} // namespace
