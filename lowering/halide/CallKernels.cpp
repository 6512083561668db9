//===- CallKernels.cpp - calls of kernels that Halide makes ---------------===//
//
// Part of the attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memrefs become halide_buffer_t, of which Halide's ABI says this much:
//
//   struct halide_dimension_t { int32_t min, extent, stride; uint32_t flags; };
//   struct halide_buffer_t {
//     uint64_t device;
//     const void *device_interface;
//     uint8_t *host;    // The element whose coordinates are all min.
//     uint64_t flags;
//     struct { uint8_t code, bits; uint16_t lanes; } type;
//     int32_t dimensions;
//     halide_dimension_t *dim;
//     void *padding;
//   };
//
//===----------------------------------------------------------------------===//

#include "lowering/halide/Passes.h"

#include "lowering/cpu/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CALLKERNELS
#include "lowering/halide/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// What the runtime does where a kernel fails.
static constexpr StringLiteral failureName = "attn_kernel_failed";
static constexpr StringLiteral deviceFailureName = "attn_device_kernel_failed";
/// Functions of Halide's runtime for devices: (user, buffer).
static constexpr StringLiteral copyName = "halide_copy_to_host";
static constexpr StringLiteral freeName = "halide_device_free";

namespace {

/// The fields that are not zero.
enum BufferField {
  HostField = 2,
  FlagsField,
  TypeField,
  DimensionsField,
  DimField
};
enum DimensionField { MinField, ExtentField, StrideField };
enum TypeCode { Int, UInt, Float };
/// The host has what the device has not.
constexpr int64_t hostDirty = 1;

/// Writes the body of a function that calls a kernel.
class CallWriter {
public:
  CallWriter(func::FuncOp caller, LLVM::LLVMFuncOp kernel,
             LLVM::LLVMFuncOp failure, LLVM::LLVMFuncOp copy,
             LLVM::LLVMFuncOp release)
      : caller(caller), kernel(kernel), failure(failure), copy(copy),
        release(release), b(ImplicitLocOpBuilder::atBlockEnd(
                              caller.getLoc(), caller.addEntryBlock())) {
    Type i8 = b.getI8Type(), i16 = b.getIntegerType(16), i32 = b.getI32Type(),
         i64 = b.getI64Type();
    pointer = LLVM::LLVMPointerType::get(b.getContext());
    auto structure = [&](ArrayRef<Type> fields) {
      return LLVM::LLVMStructType::getLiteral(b.getContext(), fields);
    };
    dimensionType = structure({i32, i32, i32, i32});
    bufferType = structure({i64, pointer, pointer, i64,
                            structure({i8, i8, i16}), i32, pointer, pointer});
  }

  void run(func::FuncOp tensors);

private:
  Value constant(Type type, int64_t value) {
    return LLVM::ConstantOp::create(b, type, b.getIntegerAttr(type, value));
  }
  Value toI32(Value index) {
    return arith::IndexCastOp::create(b, b.getI32Type(), index);
  }
  /// An array of this function's own.
  Value makeArray(Type element, size_t size) {
    return LLVM::AllocaOp::create(b, pointer, element,
                                  constant(b.getI64Type(), size));
  }
  Value addressOf(Type type, Value array, ArrayRef<LLVM::GEPArg> indices) {
    return LLVM::GEPOp::create(b, pointer, type, array, indices);
  }
  Value writeBuffer(unsigned number, Value firstDimension, Value memref,
                    Value begin, bool asBytes);

  func::FuncOp caller;
  LLVM::LLVMFuncOp kernel, failure;
  LLVM::LLVMFuncOp copy, release; ///< Null where kernels run on the CPU.
  ImplicitLocOpBuilder b;
  Type pointer, dimensionType, bufferType;
  Value buffers;
  Value exists; ///< Whether results have elements.
  unsigned numResults = 0;
  int64_t divided = -1; ///< The dimension of results that has parts.
};

} // namespace

/// Describes `memref`; a result begins at `begin`. Words of 32 bits may be four
/// bytes each.
Value CallWriter::writeBuffer(unsigned number, Value dimensions, Value memref,
                              Value begin, bool asBytes) {
  auto type = cast<MemRefType>(memref.getType());
  Type element = type.getElementType(), i32 = b.getI32Type();
  auto index = static_cast<int32_t>(number);
  auto store = [&](BufferField field, Value value) {
    LLVM::StoreOp::create(b, value,
                          addressOf(bufferType, buffers, {index, field}));
  };
  LLVM::StoreOp::create(b, LLVM::ZeroOp::create(b, bufferType),
                        addressOf(bufferType, buffers, {index}));
  auto metadata = memref::ExtractStridedMetadataOp::create(b, memref);
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(
      b, metadata.getBaseBuffer());
  address = arith::IndexCastOp::create(b, b.getI64Type(), address);
  address = LLVM::IntToPtrOp::create(b, pointer, ValueRange{address});
  Value offset =
      arith::IndexCastOp::create(b, b.getI64Type(), metadata.getOffset());
  Value host = addressOf(element, address, {LLVM::GEPArg(offset)});
  // A device has no memory of no bytes: what is empty is one element of this
  // function's own, which nobody reads.
  Value isEmpty;
  if (copy)
    for (Value size : metadata.getSizes()) {
      Value isNone =
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, size,
                                arith::ConstantIndexOp::create(b, 0));
      isEmpty = isEmpty ? arith::OrIOp::create(b, isEmpty, isNone).getResult()
                        : isNone;
    }
  if (isEmpty)
    host =
        LLVM::SelectOp::create(b, isEmpty, makeArray(b.getI64Type(), 1), host);
  store(HostField, host);
  const int64_t bits = asBytes ? 8 : element.getIntOrFloatBitWidth();
  auto inBytes = [&](Value count) -> Value {
    if (!asBytes)
      return count;
    return arith::MulIOp::create(b, count,
                                 arith::ConstantIndexOp::create(b, 4));
  };
  const TypeCode code = isa<FloatType>(element) ? Float
                        : bits < 32             ? UInt
                                                : Int;
  Value place = addressOf(bufferType, buffers, {index, TypeField});
  const std::pair<Type, int64_t> typeFields[] = {
      {b.getI8Type(), code}, {b.getI8Type(), bits}, {b.getIntegerType(16), 1}};
  for (auto [field, value] : llvm::enumerate(typeFields))
    LLVM::StoreOp::create(
        b, constant(value.first, value.second),
        addressOf(cast<LLVM::LLVMStructType>(bufferType).getBody()[TypeField],
                  place, {0, static_cast<int32_t>(field)}));
  const int64_t rank = type.getRank();
  Value hasAny; // Elements.
  // Results are given back, arguments taken.
  if (copy && !begin)
    store(FlagsField, constant(b.getI64Type(), hostDirty));
  store(DimensionsField, constant(i32, rank));
  store(DimField, dimensions);
  for (int64_t i = 0; i < rank; ++i) {
    // Halide begins with what lies closest together.
    const int64_t own = rank - 1 - i;
    auto storeDimension = [&](DimensionField field, Value value) {
      LLVM::StoreOp::create(b, value,
                            addressOf(dimensionType, dimensions,
                                      {static_cast<int32_t>(i), field}));
    };
    Value size = metadata.getSizes()[own];
    bool isDivided = begin && own == divided;
    storeDimension(MinField, isDivided ? toI32(begin) : constant(i32, 0));
    Value extent = i == 0 ? inBytes(size) : size;
    if (isEmpty)
      extent = arith::SelectOp::create(
          b, isEmpty, arith::ConstantIndexOp::create(b, 1), extent);
    storeDimension(ExtentField, toI32(extent));
    Value stride = metadata.getStrides()[own];
    storeDimension(StrideField, toI32(i == 0 ? stride : inBytes(stride)));
    if (!begin)
      continue;
    Value isSome = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, size,
                                         arith::ConstantIndexOp::create(b, 0));
    hasAny =
        hasAny ? arith::AndIOp::create(b, hasAny, isSome).getResult() : isSome;
  }
  if (hasAny)
    exists =
        exists ? arith::OrIOp::create(b, exists, hasAny).getResult() : hasAny;
  return addressOf(bufferType, buffers, {index});
}

void CallWriter::run(func::FuncOp tensors) {
  numResults = tensors.getNumResults();
  auto hasBytes = [&](unsigned number) {
    if (number >= tensors.getNumArguments())
      return false;
    auto packed = tensors.getArgAttrOfType<StringAttr>(number, packedAttrName);
    return tensors.getArgAttr(number, quantizedAttrName) ||
           (packed && packed.getValue() == stringifyPrecision(Precision::Int8));
  };
  if (auto attr = caller->getAttrOfType<IntegerAttr>(dividedAttrName))
    divided = attr.getInt();
  caller->removeAttr(dividedAttrName);
  caller->removeAttr(externalAttrName);
  MLIRContext *context = b.getContext();
  caller->setAttr("llvm.linkage",
                  LLVM::LinkageAttr::get(context, LLVM::Linkage::Internal));
  // A program that calls many would have all of their arrays.
  caller->setAttr("passthrough", b.getStrArrayAttr({"noinline"}));

  auto memrefs = caller.getArguments().drop_back();
  Value begin = caller.getArguments().back();
  size_t numDimensions = 0;
  for (Value memref : memrefs)
    numDimensions += cast<MemRefType>(memref.getType()).getRank();
  buffers = makeArray(bufferType, memrefs.size());
  Value dimensions = makeArray(dimensionType, numDimensions);
  SmallVector<Value> operands;
  int32_t place = 0;
  for (auto [number, memref] : llvm::enumerate(memrefs)) {
    operands.push_back(writeBuffer(
        number, addressOf(dimensionType, dimensions, {place}), memref,
        number + numResults < memrefs.size() ? Value() : begin,
        hasBytes(number)));
    place += cast<MemRefType>(memref.getType()).getRank();
  }
  auto check = [&](Value status) {
    Value failed = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, status,
                                         constant(b.getI32Type(), 0));
    auto branch = scf::IfOp::create(b, failed, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    LLVM::CallOp::create(b, failure, ValueRange());
  };
  auto emitCall = [&] {
    check(LLVM::CallOp::create(b, kernel, operands).getResult());
    if (!copy)
      return;
    // The device's copies are this call's own.
    Value user = LLVM::ZeroOp::create(b, pointer);
    for (Value result : ArrayRef(operands).take_back(numResults))
      check(
          LLVM::CallOp::create(b, copy, ValueRange{user, result}).getResult());
    for (Value operand : operands)
      LLVM::CallOp::create(b, release, ValueRange{user, operand});
  };
  if (exists) {
    // There may be nothing to compute. Where a result has no elements, others
    // may have some.
    auto branch = scf::IfOp::create(b, exists, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    emitCall();
  } else {
    emitCall();
  }
  func::ReturnOp::create(b);
}

namespace {

struct CallKernels : attn::impl::CallKernelsBase<CallKernels> {
  using CallKernelsBase::CallKernelsBase;

  void runOnOperation() override {
    ModuleOp program = getOperation();
    SmallVector<func::FuncOp> callers;
    for (auto function : program.getOps<func::FuncOp>())
      if (function->hasAttr(externalAttrName))
        callers.push_back(function);
    if (callers.empty())
      return;
    MLIRContext *context = &getContext();
    auto pointer = LLVM::LLVMPointerType::get(context);
    auto declare = [&](StringRef name, Type result, size_t numOperands) {
      OpBuilder builder = OpBuilder::atBlockBegin(program.getBody());
      auto function = LLVM::LLVMFuncOp::create(
          builder, program.getLoc(), name,
          LLVM::LLVMFunctionType::get(result,
                                      SmallVector<Type>(numOperands, pointer)));
      // Nothing of it leaves the library.
      function.setVisibility_(LLVM::Visibility::Hidden);
      return function;
    };
    LLVM::LLVMFuncOp failure = declare(device ? deviceFailureName : failureName,
                                       LLVM::LLVMVoidType::get(context), 0);
    LLVM::LLVMFuncOp copy, release;
    if (device) {
      copy = declare(copyName, IntegerType::get(context, 32), 2);
      release = declare(freeName, IntegerType::get(context, 32), 2);
    }
    for (func::FuncOp caller : callers) {
      auto name = caller->getAttrOfType<SymbolRefAttr>(externalAttrName);
      auto kernel = dyn_cast_or_null<func::FuncOp>(
          SymbolTable::lookupSymbolIn(program, name));
      if (!kernel) {
        caller.emitError("expected the kernel '")
            << name << "', but it is not there";
        return signalPassFailure();
      }
      CallWriter(caller,
                 declare(kernel.getSymName(), IntegerType::get(context, 32),
                         caller.getNumArguments() - 1),
                 failure, copy, release)
          .run(kernel);
    }
    program.lookupSymbol(kernelsModuleName)->erase();
  }
};

} // namespace
