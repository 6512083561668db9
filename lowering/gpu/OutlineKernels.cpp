//===- OutlineKernels.cpp - kernels of the loops of programs --------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A host program goes on as far as it computes with numbers that it was given.
// What reads or writes buffers goes into kernels, in the same order. Views of
// buffers are made where they are used: what passes from one side to the other
// is where a buffer begins, and numbers.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Emitter.h"
#include "lowering/cpu/Passes.h"
#include "lowering/gpu/Nests.h"
#include "lowering/gpu/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

#include <limits>

namespace mlir::attn {
#define GEN_PASS_DEF_OUTLINEKERNELS
#include "lowering/gpu/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// So many workgroups are launched at most: each has an iteration of its own,
/// so that none takes long.
static constexpr int64_t maxGroups = std::numeric_limits<int32_t>::max();
/// And so many groups of lanes where each has a part of the workspace, which
/// takes iterations in turns.
static constexpr int64_t maxOwners = 8192;

/// Whether an operation is made again in the kernel that uses it. A vector is:
/// what is passed to kernels are numbers.
static bool isMadeWhereUsed(Operation *op) {
  if (!op)
    return false;
  if (isa<arith::ConstantOp, memref::CastOp, memref::ReinterpretCastOp>(op))
    return true;
  return op->getNumResults() == 1 && op->getNumRegions() == 0 &&
         isa<VectorType>(op->getResult(0).getType()) && isMemoryEffectFree(op);
}

/// Puts the bodies of called functions where the calls are.
static void inlineCalls(func::FuncOp program) {
  SymbolTableCollection symbols;
  for (bool again = true; again;) {
    again = false;
    SmallVector<func::CallOp> calls;
    program.walk([&](func::CallOp call) { calls.push_back(call); });
    for (func::CallOp call : calls) {
      auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(
          call, call.getCalleeAttr());
      if (!callee || callee.isExternal() || !callee.getBody().hasOneBlock())
        continue;
      again = true;
      IRMapping mapping;
      mapping.map(callee.getArguments(), call.getOperands());
      OpBuilder b(call);
      Block &body = callee.front();
      for (Operation &op : body.without_terminator())
        b.clone(op, mapping);
      for (auto [result, value] :
           llvm::zip(call.getResults(), body.getTerminator()->getOperands()))
        result.replaceAllUsesWith(mapping.lookupOrDefault(value));
      call.erase();
    }
  }
}

namespace {

/// Writes one kernel and its launch.
class KernelWriter {
public:
  KernelWriter(ModuleOp module, std::string name, Location loc, int64_t groups,
               int64_t maxLocalBytes)
      : module(module), name(std::move(name)), groups(groups),
        maxLocalBytes(maxLocalBytes), host(loc, module), device(loc, module) {}

  /// Makes a kernel of the iterations of `nest`, loops around each other.
  LogicalResult writeNest(ArrayRef<scf::ForOp> nest);
  /// Makes a kernel of operations that follow each other.
  LogicalResult writeStraight(ArrayRef<Operation *> ops);
  /// Makes the kernel that copies rows, see runtime/compiled_model.h.
  void writeGather();

private:
  void begin();
  void capture(Region &region);
  void captureValue(Value value);
  LogicalResult finish();
  Value addParameter(Value value, Type type);
  Value addNumber(Value value);
  void addBuffer(Value buffer);
  Value getSize(Value buffer, int64_t dimension);
  void addLocal(memref::AllocOp alloc);
  Value constant(ImplicitLocOpBuilder &b, int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  /// The loop over the iterations of a group of lanes; `count` of them exist.
  Value beginIterations(Value count);

  ModuleOp module;
  std::string name;
  int64_t groups, maxLocalBytes;
  ImplicitLocOpBuilder host, device;
  gpu::GPUFuncOp function;
  IRMapping mapping;
  SmallVector<Operation *> kernelOps;
  SmallVector<Value> buffers, numbers; ///< What the launch passes.
  Value group;                         ///< The number of the group of lanes.
  Value allGroups;                     ///< How many there are, for the kernel.
  Value hostGroups; ///< The same, for the host; made when first needed.
  arith::ConstantOp mostGroups; ///< At most so many workgroups are launched.
  Value numWorkgroups;
  int64_t localBytes = 0;
};

} // namespace

void KernelWriter::begin() {
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto inner = gpu::GPUModuleOp::create(b, host.getLoc(), name);
  b.setInsertionPointToStart(inner.getBody());
  function =
      gpu::GPUFuncOp::create(b, host.getLoc(), name, b.getFunctionType({}, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function->setAttr(groupsAttrName, b.getI64IntegerAttr(groups));
  device.setInsertionPointToStart(&function.getBody().front());
  gpu::ReturnOp::create(device);
  device.setInsertionPointToStart(&function.getBody().front());
  // There may be more workgroups than a driver takes in one dimension.
  group = gpu::BlockIdOp::create(device, gpu::Dimension::x);
  allGroups = gpu::GridDimOp::create(device, gpu::Dimension::x);
  Value rest = gpu::BlockIdOp::create(device, gpu::Dimension::y);
  group = arith::AddIOp::create(
      device, arith::MulIOp::create(device, rest, allGroups), group);
  allGroups = arith::MulIOp::create(
      device, allGroups, gpu::GridDimOp::create(device, gpu::Dimension::y));
  if (groups > 1) {
    Value thread = gpu::ThreadIdOp::create(device, gpu::Dimension::x);
    Value size = constant(device, groups);
    group = arith::AddIOp::create(
        device, arith::MulIOp::create(device, group, size),
        arith::DivUIOp::create(device, thread, constant(device, numLanes)));
    allGroups = arith::MulIOp::create(device, allGroups, size);
  }
}

Value KernelWriter::addParameter(Value value, Type type) {
  bool isBuffer = isa<MemRefType>(type);
  Block &entry = function.getBody().front();
  // Buffers come first.
  unsigned index = isBuffer ? buffers.size() : entry.getNumArguments();
  Value argument = entry.insertArgument(index, type, host.getLoc());
  (isBuffer ? buffers : numbers).push_back(value);
  return argument;
}

/// Passes a number in 32 bits.
Value KernelWriter::addNumber(Value value) {
  Type type = value.getType(), i32 = host.getI32Type();
  if (type.isIndex()) {
    Value passed =
        addParameter(arith::IndexCastOp::create(host, i32, value), i32);
    return arith::IndexCastOp::create(device, type, passed);
  }
  if (type.isInteger(1)) {
    Value passed = addParameter(arith::ExtUIOp::create(host, i32, value), i32);
    return arith::TruncIOp::create(device, type, passed);
  }
  return addParameter(value, type);
}

/// A size of a buffer, as the program knows it: equal ones are one value.
Value KernelWriter::getSize(Value buffer, int64_t dimension) {
  if (auto argument = dyn_cast<BlockArgument>(buffer)) {
    auto program = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto buffers = program->getAttrOfType<ArrayAttr>(programAttrName);
    unsigned numExtents = 0;
    while (program.getArgument(numExtents).getType().isIndex())
      ++numExtents;
    auto dims =
        cast<DictionaryAttr>(buffers[argument.getArgNumber() - numExtents])
            .getAs<ArrayAttr>("dims");
    return program.getArgument(
        getExtent(cast<StringAttr>(dims[dimension]).getValue()));
  }
  auto alloc = buffer.getDefiningOp<memref::AllocOp>();
  if (!alloc)
    return memref::DimOp::create(host, buffer, dimension);
  unsigned number = 0;
  for (int64_t d = 0; d < dimension; ++d)
    number += alloc.getType().isDynamicDim(d);
  return alloc.getDynamicSizes()[number];
}

/// Passes where a buffer begins, and what its sizes are.
void KernelWriter::addBuffer(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  auto flat = MemRefType::get({ShapedType::kDynamic}, type.getElementType());
  SmallVector<OpFoldResult> sizes, strides(type.getRank());
  Value total = constant(host, 1);
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (!type.isDynamicDim(d)) {
      sizes.push_back(host.getIndexAttr(type.getDimSize(d)));
      total = arith::MulIOp::create(host, total,
                                    constant(host, type.getDimSize(d)));
      continue;
    }
    Value size = getSize(buffer, d);
    total = arith::MulIOp::create(host, total, size);
    captureValue(size);
    sizes.push_back(mapping.lookup(size));
  }
  Value argument = addParameter(
      memref::ReinterpretCastOp::create(
          host, flat, buffer, host.getIndexAttr(0),
          ArrayRef<OpFoldResult>{OpFoldResult(total)},
          ArrayRef<OpFoldResult>{OpFoldResult(host.getIndexAttr(1))}),
      flat);
  OpFoldResult stride = host.getIndexAttr(1);
  auto asValue = [&](OpFoldResult number) -> Value {
    return getValueOrCreateConstantIndexOp(device, device.getLoc(), number);
  };
  for (int64_t d = type.getRank(); d-- > 0;) {
    strides[d] = stride;
    auto before = getConstantIntValue(stride),
         size = getConstantIntValue(sizes[d]);
    if (before && size)
      stride = host.getIndexAttr(*before * *size);
    else
      stride = arith::MulIOp::create(device, asValue(stride), asValue(sizes[d]))
                   .getResult();
  }
  mapping.map(buffer, memref::ReinterpretCastOp::create(device, type, argument,
                                                        host.getIndexAttr(0),
                                                        sizes, strides)
                          .getResult());
}

/// Gives each group of lanes a buffer of its own.
void KernelWriter::addLocal(memref::AllocOp alloc) {
  MemRefType type = alloc.getType();
  int64_t bytes = 0;
  if (type.hasStaticShape())
    bytes = type.getNumElements() *
            std::max<int64_t>(4, type.getElementTypeBitWidth() / 8) * groups;
  if (type.hasStaticShape() && localBytes + bytes <= maxLocalBytes) {
    localBytes += bytes;
    mapping.map(alloc.getResult(),
                memref::AllocOp::create(device, type).getResult());
    return;
  }
  if (mostGroups)
    mostGroups.setValueAttr(host.getIndexAttr(maxOwners / groups));
  if (!hostGroups)
    hostGroups =
        arith::MulIOp::create(host, numWorkgroups, constant(host, groups));
  SmallVector<int64_t> shape = {ShapedType::kDynamic};
  llvm::append_range(shape, type.getShape());
  SmallVector<Value> sizes = {hostGroups};
  llvm::append_range(sizes, alloc.getDynamicSizes());
  Value all = memref::AllocOp::create(
      host, MemRefType::get(shape, type.getElementType()), sizes);
  addBuffer(all);
  Value whole = mapping.lookup(all);
  auto view = whole.getDefiningOp<memref::ReinterpretCastOp>();
  SmallVector<OpFoldResult> viewSizes = view.getMixedSizes(),
                            viewStrides = view.getMixedStrides();
  Value offset = arith::MulIOp::create(
      device, group,
      getValueOrCreateConstantIndexOp(device, device.getLoc(), viewStrides[0]));
  auto [typeStrides, typeOffset] =
      cast<MemRefType>(view.getType()).getStridesAndOffset();
  auto ownType = MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), ShapedType::kDynamic,
                             ArrayRef<int64_t>(typeStrides).drop_front()));
  Value own = memref::ReinterpretCastOp::create(
      device, ownType, view.getSource(), OpFoldResult(offset),
      ArrayRef<OpFoldResult>(viewSizes).drop_front(),
      ArrayRef<OpFoldResult>(viewStrides).drop_front());
  mapping.map(alloc.getResult(), own);
}

void KernelWriter::captureValue(Value value) {
  if (mapping.contains(value))
    return;
  Operation *op = value.getDefiningOp();
  if (isMadeWhereUsed(op)) {
    for (Value operand : op->getOperands())
      captureValue(operand);
    device.clone(*op, mapping);
    return;
  }
  if (!isa<MemRefType>(value.getType())) {
    mapping.map(value, addNumber(value));
    return;
  }
  // A buffer that nothing else uses carries nothing from one iteration to the
  // next.
  if (auto alloc = dyn_cast_or_null<memref::AllocOp>(op);
      alloc && llvm::all_of(alloc->getUsers(), [&](Operation *user) {
        return llvm::any_of(kernelOps, [&](Operation *kernel) {
          return kernel->isAncestor(user);
        });
      })) {
    addLocal(alloc);
    return;
  }
  addBuffer(value);
}

void KernelWriter::capture(Region &region) {
  SetVector<Value> used;
  getUsedValuesDefinedAbove(region, region, used);
  for (Value value : used)
    captureValue(value);
}

Value KernelWriter::beginIterations(Value count) {
  auto loop = scf::ForOp::create(device, group, count, allGroups);
  device.setInsertionPointToStart(loop.getBody());
  return loop.getInductionVar();
}

LogicalResult KernelWriter::writeNest(ArrayRef<scf::ForOp> nest) {
  scf::ForOp outermost = nest.front();
  kernelOps = {outermost.getOperation()};
  host.setInsertionPoint(outermost);
  begin();
  // How often each loop runs.
  SmallVector<Value> counts;
  for (scf::ForOp loop : nest) {
    Value size =
        arith::SubIOp::create(host, loop.getUpperBound(), loop.getLowerBound());
    counts.push_back(arith::CeilDivUIOp::create(host, size, loop.getStep()));
  }
  Value hostCount = constant(host, 1);
  for (Value count : counts)
    hostCount = arith::MulIOp::create(host, hostCount, count);
  Value perWorkgroup = constant(host, groups);
  mostGroups = arith::ConstantOp::create(host, host.getIndexAttr(maxGroups));
  numWorkgroups = arith::MaxUIOp::create(
      host, constant(host, 1),
      arith::MinUIOp::create(
          host, mostGroups,
          arith::CeilDivUIOp::create(host, hostCount, perWorkgroup)));

  SmallVector<Value> inner;
  for (Value count : ArrayRef(counts).drop_front()) {
    captureValue(count);
    inner.push_back(mapping.lookup(count));
  }
  for (scf::ForOp loop : nest) {
    captureValue(loop.getLowerBound());
    captureValue(loop.getStep());
  }
  captureValue(hostCount);
  capture(outermost.getRegion());
  Value iteration = beginIterations(mapping.lookup(hostCount));
  SmallVector<Value> places(nest.size());
  for (size_t i = nest.size(); i-- > 0;) {
    Value place = iteration;
    if (i > 0) {
      place = arith::RemUIOp::create(device, iteration, inner[i - 1]);
      iteration = arith::DivUIOp::create(device, iteration, inner[i - 1]);
    }
    scf::ForOp loop = nest[i];
    places[i] = arith::AddIOp::create(
        device, mapping.lookup(loop.getLowerBound()),
        arith::MulIOp::create(device, place, mapping.lookup(loop.getStep())));
  }
  SmallVector<Operation *> operations(nest.begin(), nest.end());
  for (auto [index, each] : llvm::enumerate(nest)) {
    scf::ForOp loop = each;
    mapping.map(loop.getInductionVar(), places[index]);
    for (Operation &op : loop.getBody()->without_terminator())
      if (index + 1 == nest.size() || &op != ArrayRef(operations)[index + 1])
        device.clone(op, mapping);
  }
  return finish();
}

LogicalResult KernelWriter::writeStraight(ArrayRef<Operation *> ops) {
  kernelOps.assign(ops.begin(), ops.end());
  host.setInsertionPointAfter(ops.back());
  begin();
  numWorkgroups = constant(host, 1);
  captureValue(numWorkgroups);
  llvm::SmallPtrSet<Operation *, 8> inside(ops.begin(), ops.end());
  for (Operation *op : ops) {
    for (Operation *user : op->getUsers())
      if (llvm::none_of(
              ops, [&](Operation *other) { return other->isAncestor(user); }))
        return op->emitError("expected no number of a buffer to decide what a "
                             "device is to compute");
    for (Value operand : op->getOperands())
      if (!inside.contains(operand.getDefiningOp()))
        captureValue(operand);
    for (Region &region : op->getRegions()) {
      SetVector<Value> used;
      getUsedValuesDefinedAbove(region, region, used);
      for (Value value : used)
        if (!inside.contains(value.getDefiningOp()))
          captureValue(value);
    }
  }
  // One group of lanes does it once.
  beginIterations(mapping.lookup(numWorkgroups));
  for (Operation *op : ops)
    device.clone(*op, mapping);
  if (failed(finish()))
    return failure();
  for (Operation *op : llvm::reverse(ops))
    op->erase();
  return success();
}

LogicalResult KernelWriter::finish() {
  function.walk([&](Operation *op) {
    if (op != function && op->hasAttr(positionLoopAttrName))
      function->setAttr(positionLoopAttrName, host.getUnitAttr());
  });
  function.setFunctionType(FunctionType::get(
      module.getContext(), function.getBody().front().getArgumentTypes(), {}));
  Value one = constant(host, 1);
  SmallVector<Value> operands(buffers);
  llvm::append_range(operands, numbers);
  gpu::LaunchFuncOp::create(
      host,
      SymbolRefAttr::get(module.getContext(), name,
                         {FlatSymbolRefAttr::get(module.getContext(), name)}),
      gpu::KernelDim3{numWorkgroups, one, one},
      gpu::KernelDim3{constant(host, groups * numLanes), one, one}, Value(),
      operands);
  if (auto loop = dyn_cast<scf::ForOp>(kernelOps.front());
      loop && isParallel(loop))
    loop->erase();
  return success();
}

void KernelWriter::writeGather() {
  begin();
  Type i32 = host.getI32Type();
  auto words = MemRefType::get({ShapedType::kDynamic}, i32);
  Value to = addParameter({}, words), from = addParameter({}, words),
        parents = addParameter({}, words);
  auto asIndex = [&](Value number) -> Value {
    return arith::IndexCastOp::create(device, device.getIndexType(), number);
  };
  Value rows = asIndex(addParameter({}, i32)),
        width = asIndex(addParameter({}, i32));
  Value lanes = constant(device, numLanes);
  Value chunks = arith::CeilDivUIOp::create(device, width, lanes);
  Value iteration =
      beginIterations(arith::MulIOp::create(device, rows, chunks));
  Value row = arith::DivUIOp::create(device, iteration, chunks);
  Value start = arith::MulIOp::create(
      device, arith::RemUIOp::create(device, iteration, chunks), lanes);
  Value parent =
      asIndex(memref::LoadOp::create(device, parents, ValueRange{row}));
  auto vector = VectorType::get({numLanes}, i32);
  Value mask = vector::CreateMaskOp::create(
      device, VectorType::get({numLanes}, device.getI1Type()),
      ValueRange{arith::SubIOp::create(device, width, start)});
  auto placeIn = [&](Value row) -> Value {
    return arith::AddIOp::create(
        device, arith::MulIOp::create(device, row, width), start);
  };
  Value none = arith::ConstantOp::create(device, device.getZeroAttr(vector));
  Value loaded = vector::MaskedLoadOp::create(
      device, vector, from, ValueRange{placeIn(parent)}, mask, none);
  vector::MaskedStoreOp::create(device, to, ValueRange{placeIn(row)}, mask,
                                loaded);
  function.setFunctionType(FunctionType::get(
      module.getContext(), function.getBody().front().getArgumentTypes(), {}));
}

namespace {

/// Outlines the kernels of one program.
class ProgramOutliner {
public:
  ProgramOutliner(func::FuncOp program, int64_t groups, int64_t maxLocalBytes)
      : program(program), module(program->getParentOfType<ModuleOp>()),
        groups(groups), maxLocalBytes(maxLocalBytes) {}

  LogicalResult run() {
    inlineCalls(program);
    if (failed(outline(program.front())))
      return failure();
    // Buffers belong to the program as a whole.
    SmallVector<memref::AllocOp> allocs;
    program.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
    for (memref::AllocOp alloc : allocs)
      if (failed(hoist(alloc)))
        return alloc.emitError("expected a buffer of a size that is known "
                               "before any loop");
    return success();
  }

private:
  LogicalResult outline(Block &block);
  LogicalResult hoist(Operation *op);
  LogicalResult flush(SmallVector<Operation *> &rest);
  KernelWriter makeWriter(Location loc) {
    return KernelWriter(module,
                        (program.getSymName() + "_" + Twine(count++)).str(),
                        loc, groups, maxLocalBytes);
  }

  func::FuncOp program;
  ModuleOp module;
  int64_t groups, maxLocalBytes;
  unsigned count = 0;
};

} // namespace

/// Moves an operation, and what it needs, out of all loops of the program.
LogicalResult ProgramOutliner::hoist(Operation *op) {
  Block *block = &program.front();
  if (op->getBlock() == block)
    return success();
  for (Value operand : op->getOperands()) {
    Operation *before = operand.getDefiningOp();
    if (!before
            ? cast<BlockArgument>(operand).getOwner() != block
            : (!isMemoryEffectFree(before) && before->getBlock() != block) ||
                  failed(hoist(before)))
      return failure();
  }
  op->moveBefore(block->findAncestorOpInBlock(*op));
  return success();
}

LogicalResult ProgramOutliner::flush(SmallVector<Operation *> &rest) {
  if (rest.empty())
    return success();
  LogicalResult written =
      makeWriter(rest.front()->getLoc()).writeStraight(rest);
  rest.clear();
  return written;
}

LogicalResult ProgramOutliner::outline(Block &block) {
  SmallVector<Operation *> rest;
  auto usesRest = [&](Operation &op) {
    return llvm::any_of(op.getOperands(), [&](Value operand) {
      return llvm::is_contained(rest, operand.getDefiningOp());
    });
  };
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (hasParallel(&op)) {
      if (failed(flush(rest)))
        return failure();
      if (isParallel(&op)) {
        auto loop = cast<scf::ForOp>(op);
        // A constant bound of an inner loop may stand within the outer one.
        loop.walk([&](scf::ForOp inner) {
          if (inner == loop)
            return;
          for (Value bound :
               {inner.getLowerBound(), inner.getUpperBound(), inner.getStep()})
            if (auto number = bound.getDefiningOp<arith::ConstantOp>();
                number && loop->isAncestor(number))
              number->moveBefore(loop);
        });
        if (failed(makeWriter(op.getLoc()).writeNest(collectNest(loop))))
          return failure();
        continue;
      }
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          if (failed(outline(inner)))
            return failure();
    } else if (!isa<memref::AllocOp, gpu::LaunchFuncOp>(op) &&
               (!isMemoryEffectFree(&op) || usesRest(op))) {
      rest.push_back(&op);
    }
  }
  return flush(rest);
}

namespace {
struct OutlineKernels : attn::impl::OutlineKernelsBase<OutlineKernels> {
  using OutlineKernelsBase::OutlineKernelsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                    UnitAttr::get(&getContext()));
    SmallVector<func::FuncOp> programs;
    for (auto function : module.getOps<func::FuncOp>())
      if (function->hasAttr(programAttrName))
        programs.push_back(function);
    KernelWriter(module, "gather", module.getLoc(), groups, localBytes)
        .writeGather();
    for (func::FuncOp program : programs) {
      if (failed(program.insertArgument(
              program.getNumArguments(),
              LLVM::LLVMPointerType::get(&getContext()), {}, program.getLoc())))
        return signalPassFailure();
      if (program.getSymName() != "prepare" &&
          failed(ProgramOutliner(program, groups, localBytes).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
